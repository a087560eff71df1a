/* SPDX-License-Identifier: MIT
 *
 * Calls under way: starting, testing, waiting, and failing together.
 *
 * Calls of a communicator keep their order on every link: a younger call may
 * use a link only when all older ones have finished with it. Since all ranks
 * start the same calls in the same order, both ends of a link agree on what
 * comes next, and no call can stand in another's way for ever.
 *
 * Failing is for all: the first rank to find out aborts the wire, which makes
 * every other rank's waits end with the same sentence.
 */
#include "coll/comm.h"

#include <gradwire/wire.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECK_NS = 1000000,   /* between looks for lost peers */
    SLEEP_NS = 20000000,  /* at most, between looks at the clock */
};

/* ---- scratch ---- */

unsigned char *gw__scratch_take(
    struct gw_comm *comm, size_t bytes, struct gw_error *why)
{
    struct gw__scratch *best = NULL, *empty = NULL;
    for (unsigned i = 0; i < GW__IDLE_MAX; i++) {
        struct gw__scratch *s = &comm->scratch[i];
        if (s->used)
            continue;
        if (!s->memory || !empty)
            empty = s;
        if (s->bytes >= bytes && (!best || s->bytes < best->bytes))
            best = s;
    }
    if (!best && empty) {
        gw_free(empty->memory);
        empty->bytes = 0;
        empty->memory = gw_alloc(bytes, why);
        if (!empty->memory)
            return NULL;
        empty->bytes = bytes;
        best = empty;
    }
    if (!best) {
        gw_fail(why, GW_ENOMEM, "more than %d calls with scratch at once",
            GW__IDLE_MAX);
        return NULL;
    }
    best->used = true;
    return best->memory;
}

void gw__scratch_give(struct gw_comm *comm, unsigned char *memory)
{
    for (unsigned i = 0; memory && i < GW__IDLE_MAX; i++)
        if (comm->scratch[i].memory == memory)
            comm->scratch[i].used = false;
}

/* ---- requests ---- */

void gw__event(const struct gw_request *r, enum gw_event_kind kind,
    unsigned peer, unsigned step, unsigned chunk, uint64_t bytes, int64_t value)
{
    struct gw_sink *sink = r->comm->config.events;
    if (!sink)
        return;
    struct gw_event event = { .time_ns = gw_now_ns(),
        .bytes = bytes,
        .value = value,
        .kind = (uint32_t)kind,
        .rank = r->comm->rank,
        .peer = peer,
        .op = r->op,
        .step = step,
        .chunk = chunk };
    gw_emit(sink, &event);
}

/* Where each array of a request begins behind it. */
struct layout {
    size_t slots, send_base, written, pushed, out_at, in_at, end;
};

static struct layout layout_of(
    const struct gw__program *p, unsigned ranks)
{
    struct layout l;
    size_t at = (sizeof(struct gw_request) + 63) & ~(size_t)63;
    l.slots = at;
    at += p->cell_count * sizeof(struct gw__slot);
    l.send_base = at;
    at += p->send_count * sizeof(uint64_t);
    l.written = at;
    at += p->write_count * sizeof(uint32_t);
    l.pushed = at;
    at += p->send_count * sizeof(uint32_t);
    l.out_at = at;
    at += ranks * sizeof(uint32_t);
    l.in_at = at;
    at += ranks * sizeof(uint32_t);
    l.end = at;
    return l;
}

/* An idle request with enough room, or a new one. */
static struct gw_request *take_request(struct gw_comm *comm, size_t bytes)
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

static struct gw_request *new_request(
    struct gw_comm *comm, struct gw__program *program)
{
    struct layout l = layout_of(program, comm->size);
    struct gw_request *r = take_request(comm, l.end);
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
    program->users++;
    return r;
}

/* Off the list of active calls, back to the idle ones. */
static void retire(struct gw_request *r)
{
    struct gw_comm *comm = r->comm;
    struct gw_request **at = &comm->active;
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    gw__scratch_give(comm, r->scratch);
    gw__scratch_give(comm, r->stage_in);
    gw__scratch_give(comm, r->stage_out);
    r->program->users--;
    r->next = comm->idle;
    comm->idle = r;
}

void gw__requests_fini(struct gw_comm *comm)
{
    while (comm->active)
        retire(comm->active);
    while (comm->idle) {
        struct gw_request *next = comm->idle->next;
        free(comm->idle);
        comm->idle = next;
    }
    for (unsigned i = 0; i < GW__IDLE_MAX; i++)
        gw_free(comm->scratch[i].memory);
}

/* ---- failing ---- */

enum gw_err gw__comm_fail(struct gw_comm *comm, const struct gw_error *error)
{
    if (comm->error.code == GW_OK) {
        comm->error = *error;
        comm->wire->ops->abort(comm->wire, &comm->error);
    }
    return comm->error.code;
}

void gw_comm_abort(
    struct gw_comm *comm, enum gw_err code, const char *sentence)
{
    struct gw_error error;
    gw_fail(&error, code, "%s", sentence);
    gw__comm_fail(comm, &error);
}

static const char *call_name(const struct gw_request *r)
{
    return r->signature.collective == GW__P2P
        ? "send/recv"
        : gw_collective_name(r->call.collective);
}

/* "allreduce op 12: rank 0 waits for rank 3, step 2, chunk 5: SENTENCE" */
static enum gw_err fail_request(struct gw_request *r, struct gw_error *error)
{
    if (error->code == GW_EMISMATCH || r->comm->wire->told)
        return gw__comm_fail(r->comm, error);
    char waits[160];
    int peer;
    (r->windowed ? gw__window_describe : gw__engine_describe)(
        r, waits, sizeof waits, &peer);
    gw_wrap(error, error->code, "%s op %u: %s", call_name(r), r->op, waits);
    return gw__comm_fail(r->comm, error);
}

/* ---- progress ---- */

static void mark_links(struct gw_comm *comm, const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned q = 0; q < comm->size; q++) {
        comm->out_blocked[q] |= r->out_at[q] < p->out_begin[q + 1];
        comm->in_blocked[q] |= r->in_at[q] < p->in_begin[q + 1];
    }
}

/* One round over the calls under way, oldest first. */
static enum gw_err progress(struct gw_comm *comm, bool *moved)
{
    struct gw_error why = { 0 };
    if (comm->error.code)
        return comm->error.code;
    bool several = comm->active && comm->active->next;
    if (several) {
        memset(comm->out_blocked, 0, comm->size * sizeof(bool));
        memset(comm->in_blocked, 0, comm->size * sizeof(bool));
    }
    for (struct gw_request *r = comm->active; r; r = r->next) {
        if (r->state == GW__DONE)
            continue;
        enum gw_err err = r->windowed ? gw__window_progress(r, moved, &why)
                                      : gw__engine_progress(r, moved, &why);
        if (err)
            return fail_request(r, &why);
        if (r->state == GW__DONE)
            gw__event(r, GW_EV_OP_END, GW_NONE, GW_NONE, GW_NONE, 0, 0);
        if (several && !r->windowed)
            mark_links(comm, r);
    }
    if (several) {
        memset(comm->out_blocked, 0, comm->size * sizeof(bool));
        memset(comm->in_blocked, 0, comm->size * sizeof(bool));
    }
    return GW_OK;
}

static struct gw_request *oldest_pending(struct gw_comm *comm)
{
    struct gw_request *r = comm->active;
    while (r && r->state == GW__DONE)
        r = r->next;
    return r;
}

static enum gw_err look_around(struct gw_comm *comm, uint64_t now)
{
    struct gw_error why = { 0 };
    struct gw_request *r = oldest_pending(comm);
    comm->last_check_ns = now;
    enum gw_err err = comm->wire->ops->check(comm->wire, &why);
    if (err && r)
        return fail_request(r, &why);
    if (err)
        return gw__comm_fail(comm, &why);
    if (!r)
        return GW_OK;
    if (gw__find_mismatch(comm, &why))
        return gw__comm_fail(comm, &why);
    if (now - comm->last_progress_ns > comm->timeout_ns) {
        gw_fail(&why, GW_ETIMEOUT, "nothing in %llu ms",
            (unsigned long long)(comm->timeout_ns / 1000000));
        return fail_request(r, &why);
    }
    return GW_OK;
}

/* Nothing moved: look around now and then, and let time pass. */
static enum gw_err idle(struct gw_comm *comm, bool sleep)
{
    uint64_t now = gw_now_ns();
    if (now - comm->last_check_ns >= CHECK_NS) {
        enum gw_err err = look_around(comm, now);
        if (err)
            return err;
    }
    if (sleep)
        comm->wire->ops->wait(comm->wire, SLEEP_NS);
    return GW_OK;
}

static enum gw_err turn(struct gw_comm *comm, bool sleep)
{
    bool moved = false;
    enum gw_err err = progress(comm, &moved);
    if (moved)
        comm->last_progress_ns = gw_now_ns();
    else if (!err)
        err = idle(comm, sleep);
    return err;
}

/* ---- the calls ---- */

static enum gw_err refuse(struct gw_comm *comm, struct gw_error *why,
    const struct gw_call *call)
{
    bool known = (unsigned)call->collective < GW_COLLECTIVES;
    gw_wrap(why, why->code, "%s: rank %u",
        known ? gw_collective_name(call->collective) : "call", comm->rank);
    if (comm->error.code == GW_OK)
        return gw__comm_fail(comm, why);
    return comm->error.code;
}

enum gw_err gw__start_program(struct gw_comm *comm, const struct gw_call *call,
    struct gw__program *program, const struct gw__signature *signature,
    uint32_t op, struct gw_request **request)
{
    struct gw_error why = { 0 };
    struct gw_request *r = new_request(comm, program);
    *request = NULL;
    if (!r) {
        gw_fail(&why, GW_ENOMEM, "starting a call");
        return refuse(comm, &why, call);
    }
    r->call = *call;
    r->signature = *signature;
    r->op = op;
    r->elem_bytes = gw_dtype_size(call->type);
    r->slice_bytes = comm->slice_bytes;
    struct gw_request **end = &comm->active;
    while (*end)
        end = &(*end)->next;
    *end = r;
    enum gw_err err = signature->collective != GW__P2P
            && gw__window_serves(comm, call, program)
        ? gw__window_begin(r, &why)
        : gw__engine_begin(r, &why);
    if (err) {
        retire(r);
        return refuse(comm, &why, call);
    }
    comm->last_progress_ns = gw_now_ns();
    gw__event(r, GW_EV_OP_BEGIN, GW_NONE, GW_NONE, GW_NONE,
        call->count * r->elem_bytes, call->collective);
    *request = r;
    bool moved = false;
    err = progress(comm, &moved);
    if (err) {
        retire(r);
        *request = NULL;
    }
    return err;
}

enum gw_err gw_start(struct gw_comm *comm, const struct gw_call *call,
    struct gw_request **request)
{
    struct gw_error why = { 0 };
    struct gw__program *program;
    struct gw__signature signature;
    int algo;
    *request = NULL;
    if (comm->error.code)
        return comm->error.code;
    if (gw__call_check(comm, call, &why))
        return refuse(comm, &why, call);
    if (gw__program_for(comm, call, &program, &algo, &why))
        return refuse(comm, &why, call);
    gw__call_sign(call, comm->size, algo, &signature);
    gw__history_keep(comm, comm->next_op, &signature);
    return gw__start_program(
        comm, call, program, &signature, comm->next_op++, request);
}

enum gw_err gw_test(struct gw_request **request)
{
    struct gw_request *r = *request;
    if (!r)
        return GW_OK;
    enum gw_err err = r->state == GW__DONE ? GW_OK : turn(r->comm, false);
    if (!err && r->state != GW__DONE)
        return GW_PENDING;
    retire(r);
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
        err = turn(r->comm, true);
    retire(r);
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

enum gw_err gw_run(struct gw_comm *comm, const struct gw_call *call)
{
    struct gw_request *request;
    enum gw_err err = gw_start(comm, call, &request);
    return err ? err : gw_wait(&request);
}
