/* SPDX-License-Identifier: MIT
 *
 * Requests: their memory, and starting, testing and waiting. progress.c moves
 * them.
 */
#include "coll/window/staging.h"

#include <gradwire/request.h>

#include <stdlib.h>
#include <string.h>

/* The offset of each array that follows a request in memory. */
struct layout {
    size_t slots, send_base, sets, written, pushed, out_at, in_at, open, end;
};

/* `sets`: with contributor sets. */
static struct layout layout_of(const struct gw__program *p, unsigned ranks,
                               bool sets)
{
    struct layout l;
    size_t at = (sizeof(struct gw_request) + 63) & ~(size_t)63;
    l.slots = at;
    at += p->cell_count * sizeof(struct gw__chunk_memory);
    l.send_base = at;
    at += p->send_count * sizeof(uint64_t);
    l.sets = at;
    if (sets)
        at += (p->cell_count + p->write_count + p->source_count) *
              (sizeof(struct gw_nodes) + sizeof(uint64_t));
    l.written = at;
    at += p->write_count * sizeof(uint32_t);
    l.pushed = at;
    at += p->send_count * sizeof(uint32_t);
    l.out_at = at;
    at += ranks * sizeof(uint32_t);
    l.in_at = at;
    at += ranks * sizeof(uint32_t);
    l.open = at;
    if (sets)
        at += (p->cell_count + ranks) * sizeof(uint32_t);
    l.end = at;
    return l;
}

/* An idle request with enough room, or a new one. */
static struct gw_request *acquire_request(struct gw_comm *comm, size_t bytes)
{
    for (struct gw_request **at = &comm->idle; *at; at = &(*at)->next)
        if ((*at)->room_bytes >= bytes) {
            struct gw_request *found = *at;
            *at = found->next;
            return found;
        }
    struct gw_request *made = malloc(bytes);
    if (made)
        made->room_bytes = bytes;
    return made;
}

static struct gw_request *new_request(struct gw_comm *comm,
                                      struct gw__program *program,
                                      struct gw__contributors *contributors)
{
    struct layout l = layout_of(program, comm->size, contributors != NULL);
    struct gw_request *r = acquire_request(comm, l.end);
    if (!r)
        return NULL;
    size_t room = r->room_bytes;
    unsigned char *base = (unsigned char *)r;
    memset(r, 0, l.end);
    r->room_bytes = room;
    r->comm = comm;
    r->program = program;
    r->slots = (void *)(base + l.slots);
    r->send_base = (void *)(base + l.send_base);
    r->written = (void *)(base + l.written);
    r->pushed = (void *)(base + l.pushed);
    r->out_at = (void *)(base + l.out_at);
    r->in_at = (void *)(base + l.in_at);
    r->contributors = contributors;
    if (contributors) {
        r->first_sets = (void *)(base + l.sets);
        r->made_sets = r->first_sets + program->cell_count;
        r->came_sets = r->made_sets + program->write_count;
        r->first_packed = (void *)(r->came_sets + program->source_count);
        r->made_packed = r->first_packed + program->cell_count;
        r->came_packed = r->made_packed + program->write_count;
        r->open_writes = (void *)(base + l.open);
        r->sets_sent = r->open_writes + program->cell_count;
    }
    program->users++;
    return r;
}

/* Returns it to the idle ones. */
void gw__request_retire(struct gw_request *r)
{
    struct gw_comm *comm = r->comm;
    struct gw_request **at = &comm->active;
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    gw__scratch_release(comm, r->scratch);
    gw__scratch_release(comm, r->copy);
    gw__scratch_release(comm, r->staging_in.memory);
    gw__scratch_release(comm, r->staging_out.memory);
    gw__prepared_release(comm, r->prepared);
    r->program->users--;
    r->next = comm->idle;
    comm->idle = r;
}

void gw__requests_fini(struct gw_comm *comm)
{
    while (comm->active)
        gw__request_retire(comm->active);
    while (comm->idle) {
        struct gw_request *next = comm->idle->next;
        free(comm->idle);
        comm->idle = next;
    }
}

enum gw_err gw__call_refuse(struct gw_comm *comm, struct gw_error *why,
                            const struct gw_call *call)
{
    bool known = (unsigned)call->collective < GW_COLLECTIVES;
    gw_wrap(why, why->code, "%s: rank %u",
            known ? gw_collective_name(call->collective) : "call", comm->rank);
    if (comm->error.code == GW_OK)
        return gw__comm_fail(comm, why);
    return comm->error.code;
}

/* Appends it to the pending calls. */
static void enlist(struct gw_request *r, const struct gw__opening *o)
{
    struct gw_comm *comm = r->comm;
    r->call = *o->call;
    r->signature = *o->signature;
    r->op = o->op;
    r->elem_bytes = gw_dtype_size(o->call->type);
    r->slice_bytes = comm->slice_bytes;
    struct gw_request **end = &comm->active;
    while (*end)
        end = &(*end)->next;
    *end = r;
}

enum gw_err gw__start_program(struct gw_comm *comm, const struct gw__opening *o,
                              struct gw_request **request)
{
    struct gw_error why = {0};
    struct gw_request *r = new_request(comm, o->program, o->contributors);
    *request = NULL;
    if (!r) {
        gw_fail(&why, GW_ENOMEM, "starting a call");
        return gw__call_refuse(comm, &why, o->call);
    }
    enlist(r, o);
    enum gw_err err = o->signature->collective != GW__P2P &&
                              gw__window_serves(comm, o->call, o->program)
                          ? gw__window_begin(r, &why)
                          : gw__engine_begin(r, &why);
    if (err) {
        gw__request_retire(r);
        return gw__call_refuse(comm, &why, o->call);
    }
    comm->last_progress_ns = gw_now_ns();
    gw__event(r, GW_EV_OP_BEGIN, GW_NONE, GW_NONE, GW_NONE,
              r->call.count * r->elem_bytes, r->call.collective);
    *request = r;
    bool moved = false;
    err = gw__progress(comm, &moved);
    if (err) {
        gw__request_retire(r);
        *request = NULL;
    }
    return err;
}

enum gw_err gw__request_resume(const struct gw__window_call *w,
                               enum gw__state state)
{
    struct gw_error why = {0};
    struct gw__prepared_call *prepared = w->prepared;
    const struct gw__opening opening = {.call = w->call,
                                        .program = prepared->program,
                                        .signature = &prepared->signature,
                                        .op = w->op};
    struct gw_request *r = new_request(w->comm, prepared->program, NULL);
    if (!r) {
        gw_fail(&why, GW_ENOMEM, "a call that must wait");
        return gw__call_refuse(w->comm, &why, w->call);
    }
    enlist(r, &opening);
    r->windowed = true;
    r->prepared = prepared;
    prepared->users++;
    r->turn = w->turn;
    r->state = state;
    gw__staging_skip(r);
    w->comm->last_progress_ns = gw_now_ns();
    *w->request = r;
    return GW_OK;
}

enum gw_err gw_start(struct gw_comm *comm, const struct gw_call *call,
                     struct gw_request **request)
{
    struct gw_error why = {0};
    struct gw__program *program;
    struct gw__signature signature;
    int algo;
    *request = NULL;
    if (comm->error.code)
        return comm->error.code;
    if (gw__call_check(comm, call, &why))
        return gw__call_refuse(comm, &why, call);
    struct gw_call chosen = gw__call_for_hosts(comm, call);
    if (gw__program_for(comm, &chosen, &program, &algo, &why))
        return gw__call_refuse(comm, &why, call);
    gw__call_sign(&chosen, comm->size, algo, &signature);
    gw__history_keep(comm, comm->next_op, &signature);
    struct gw__opening opening = {.call = &chosen,
                                  .program = program,
                                  .signature = &signature,
                                  .op = comm->next_op++};
    return gw__start_program(comm, &opening, request);
}

enum gw_err gw_test(struct gw_request **request)
{
    struct gw_request *r = *request;
    if (!r)
        return GW_OK;
    enum gw_err err = r->state == GW__DONE ? GW_OK : gw__turn(r->comm, false);
    if (!err && r->state != GW__DONE)
        return GW_PENDING;
    gw__request_retire(r);
    *request = NULL;
    return err;
}

enum gw_err gw_wait(struct gw_request **request)
{
    struct gw_request *r = *request;
    enum gw_err err = GW_OK;
    if (!r)
        return GW_OK;
    while (!err && r->state != GW__DONE)
        err = gw__turn(r->comm, true);
    gw__request_retire(r);
    *request = NULL;
    return err;
}

enum gw_err gw_wait_for(struct gw_request **request, uint64_t ns)
{
    struct gw_request *r = *request;
    enum gw_err err = GW_OK;
    if (!r)
        return GW_OK;
    uint64_t begin_ns = gw_now_ns();
    while (!err && r->state != GW__DONE) {
        err = gw__turn(r->comm, true);
        if (!err && r->state != GW__DONE && gw_now_ns() - begin_ns >= ns)
            return GW_PENDING;
    }
    gw__request_retire(r);
    *request = NULL;
    return err;
}

enum gw_err gw_wait_all(size_t count, struct gw_request **requests)
{
    enum gw_err first = GW_OK;
    for (size_t i = 0; i < count; i++) {
        enum gw_err err = gw_wait(&requests[i]);
        if (!first)
            first = err;
    }
    return first;
}

/* Starts a call, or runs the whole of it on the fast path: then *request is
 * NULL. */
static enum gw_err start_fast(struct gw_comm *comm, const struct gw_call *call,
                              struct gw_request **request)
{
    enum gw_err err;
    *request = NULL;
    return gw__fast_path_run(comm, call, request, &err)
               ? err
               : gw_start(comm, call, request);
}

enum gw_err gw_run(struct gw_comm *comm, const struct gw_call *call)
{
    struct gw_request *request;
    enum gw_err err = start_fast(comm, call, &request);
    return err ? err : gw_wait(&request);
}

enum gw_err gw_run_for(struct gw_comm *comm, const struct gw_call *call,
                       uint64_t ns, struct gw_request **request)
{
    enum gw_err err = start_fast(comm, call, request);
    return err ? err : gw_wait_for(request, ns);
}
