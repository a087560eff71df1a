/* SPDX-License-Identifier: MIT
 *
 * Point to point: a plan of one transfer, run by the same engine. Calls are
 * numbered per link and direction, since only two ranks know them.
 */
#include "comm.h"

/* The program of "src sends one chunk to dst", as this rank sees it. */
static enum gw_err program_of(struct gw_comm *comm, unsigned src, unsigned dst,
                              struct gw__program **program,
                              struct gw_error *why)
{
    unsigned peer = src == comm->rank ? dst : src;
    struct gw__program **kept =
        &comm->p2p_programs[2 * peer + (src == comm->rank)];
    struct gw_builder *builder;
    struct gw_plan *plan;
    if (!*kept) {
        enum gw_err err =
            gw_builder_new(GW_BROADCAST, comm->size, 1, src, &builder, why);
        if (err)
            return err;
        gw_builder_add(builder, src, dst, 0, GW_REPLACE);
        err = gw_builder_finish(&builder, &plan, why);
        if (!err)
            err =
                gw__program_new(&plan, comm->rank, GW__WINDOW_NONE, kept, why);
        if (err)
            return err;
    }
    *program = *kept;
    return GW_OK;
}

static enum gw_err check_call(const struct gw_comm *comm,
                              const struct gw_call *call, unsigned peer,
                              bool sends, struct gw_error *why)
{
    const char *name = sends ? "send" : "recv";
    if (peer >= comm->size || peer == comm->rank)
        return gw_fail(why, GW_EINVAL, "%s: rank %u: unknown peer %u", name,
                       comm->rank, peer);
    if ((unsigned)call->type >= GW_DTYPE_COUNT)
        return gw_fail(why, GW_EINVAL, "%s: rank %u: unknown element type %d",
                       name, comm->rank, call->type);
    if (call->count > gw__elems_max(comm, call->type))
        return gw_fail(why, GW_EINVAL, "%s: rank %u: %zu elements are too many",
                       name, comm->rank, call->count);
    if (call->count > 0 && !(sends ? call->in : call->out))
        return gw_fail(why, GW_EINVAL, "%s: rank %u: the buffer is NULL", name,
                       comm->rank);
    return GW_OK;
}

static enum gw_err start_transfer(struct gw_comm *comm, struct gw_call *call,
                                  unsigned peer, bool sends,
                                  struct gw_request **request)
{
    struct gw_error why = {0};
    struct gw__program *program = NULL;
    *request = NULL;
    if (comm->error.code)
        return comm->error.code;
    unsigned src = sends ? comm->rank : peer, dst = sends ? peer : comm->rank;
    if (check_call(comm, call, peer, sends, &why) ||
        program_of(comm, src, dst, &program, &why))
        return gw__comm_fail(comm, &why);
    call->collective = GW_BROADCAST;
    call->root = src;
    struct gw__signature signature = {.collective = GW__P2P,
                                      .type = (uint8_t)call->type,
                                      .count = call->count};
    uint32_t *number = sends ? &comm->p2p_sends[peer] : &comm->p2p_recvs[peer];
    struct gw__opening opening = {.call = call,
                                  .program = program,
                                  .signature = &signature,
                                  .op = (*number)++};
    return gw__start_program(comm, &opening, request);
}

enum gw_err gw_send_start(struct gw_comm *comm, const void *data, size_t count,
                          enum gw_dtype type, unsigned peer,
                          struct gw_request **request)
{
    struct gw_call call = {.in = data, .count = count, .type = type};
    return start_transfer(comm, &call, peer, true, request);
}

enum gw_err gw_recv_start(struct gw_comm *comm, void *data, size_t count,
                          enum gw_dtype type, unsigned peer,
                          struct gw_request **request)
{
    struct gw_call call = {.out = data, .count = count, .type = type};
    return start_transfer(comm, &call, peer, false, request);
}

enum gw_err gw_send(struct gw_comm *comm, const void *data, size_t count,
                    enum gw_dtype type, unsigned peer)
{
    struct gw_request *request;
    enum gw_err err = gw_send_start(comm, data, count, type, peer, &request);
    return err ? err : gw_wait(&request);
}

enum gw_err gw_recv(struct gw_comm *comm, void *data, size_t count,
                    enum gw_dtype type, unsigned peer)
{
    struct gw_request *request;
    enum gw_err err = gw_recv_start(comm, data, count, type, peer, &request);
    return err ? err : gw_wait(&request);
}
