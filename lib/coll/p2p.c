/* SPDX-License-Identifier: MIT
 *
 * Point to point: a plan of one transfer, run by the same engine. Numbered by
 * link and direction, since only two ranks know of it.
 */
#include "coll/comm.h"

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
            err = gw__program_new(&plan, comm->rank, false, kept, why);
        if (err)
            return err;
    }
    *program = *kept;
    return GW_OK;
}

static enum gw_err start(struct gw_comm *comm, const void *in, void *out,
                         size_t count, enum gw_dtype type, unsigned peer,
                         struct gw_request **request)
{
    struct gw_error why = {0};
    struct gw__program *program = NULL;
    bool sends = in != NULL;
    *request = NULL;
    if (comm->error.code)
        return comm->error.code;
    if (peer >= comm->size || peer == comm->rank)
        gw_fail(&why, GW_EINVAL, "%s: rank %u has no peer %u",
                sends ? "send" : "recv", comm->rank, peer);
    else
        (void)!program_of(comm, sends ? comm->rank : peer,
                          sends ? peer : comm->rank, &program, &why);
    if (!program)
        return gw__comm_fail(comm, &why);
    struct gw_call call = {.collective = GW_BROADCAST,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .root = sends ? comm->rank : peer};
    struct gw__signature signature = {
        .collective = GW__P2P, .type = (uint8_t)type, .count = count};
    uint32_t *number = sends ? &comm->p2p_sends[peer] : &comm->p2p_recvs[peer];
    return gw__start_program(comm, &call, program, &signature, (*number)++,
                             request);
}

/* A buffer of no elements may be NULL; the direction must show all the same. */
static const char nothing[1];

enum gw_err gw_send_start(struct gw_comm *comm, const void *data, size_t count,
                          enum gw_dtype type, unsigned peer,
                          struct gw_request **request)
{
    return start(comm, data ? data : nothing, NULL, count, type, peer, request);
}

enum gw_err gw_recv_start(struct gw_comm *comm, void *data, size_t count,
                          enum gw_dtype type, unsigned peer,
                          struct gw_request **request)
{
    return start(comm, NULL, data, count, type, peer, request);
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
