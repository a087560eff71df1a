/* SPDX-License-Identifier: MIT
 *
 * A direct plan over shared memory: no messages, one pass per chunk, two
 * meetings. Each rank posts on its card what it calls and where its buffers
 * lie; when a rank sees the cards of all whose memory it touches, it runs its
 * passes (passes.c), says that it has left, and waits for those that touch its
 * own memory to leave.
 *
 *   WAITING  -- the side of the card is free, it is my turn --> ENTERED
 *   ENTERED  -- all that I touch have entered: run passes   --> LEAVING
 *   LEAVING  -- all that touch me have left                 --> DONE
 *
 * Small inputs travel on the card itself ("eager"): then peers touch nothing
 * but the card, nobody waits for anybody to leave, and a rooted call costs its
 * leaves no wait at all. A card has two sides, used in turn, so that a rank can
 * be one call ahead of its readers.
 *
 * Memory that peers cannot map is staged: copied to scratch that they can, and
 * results copied back.
 */
#include "coll/comm.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_BYTES = 1 << 20, LINE = 64 };

struct side {
    _Alignas(LINE) _Atomic uint64_t entered; /* turn + 1; publishes the rest */
    struct gw__signature signature;
    uint32_t op;
    unsigned char bytes[GW__EAGER_BYTES]; /* the input, when eager */
    struct gw__place in, out;
    bool in_place;
};

struct card {
    _Alignas(LINE) _Atomic uint64_t left; /* turns that I have ended */
    struct side sides[2];
};
_Static_assert(sizeof(struct card) <= GW__CARD_BYTES, "fits the card");

static struct card *card_of(const struct gw_comm *comm, unsigned rank)
{
    return comm->windows->card(comm->wire, rank);
}

static struct side *side_of(const struct gw_request *r, unsigned rank)
{
    return &card_of(r->comm, rank)->sides[r->turn % 2];
}

/* The largest input of any rank, the same number on all of them. */
static size_t largest_input(
    const struct gw_comm *comm, const struct gw_call *call)
{
    size_t elems = call->count;
    if (call->counts) {
        elems = 0;
        for (unsigned b = 0; b < comm->size; b++) {
            size_t end
                = call->counts[b] + (call->displs ? call->displs[b] : elems);
            elems = end > elems ? end : elems;
        }
    } else if (call->collective == GW_SCATTER
        || call->collective == GW_ALLTOALL
        || call->collective == GW_REDUCE_SCATTER)
        elems *= comm->size;
    else if (call->collective == GW_BARRIER)
        elems = 0;
    return elems * gw_dtype_size(call->type);
}

/* What alltoallv sends is known to two ranks only, so nobody else could find
 * the place; in place, it overwrites what others still read. */
bool gw__window_serves(const struct gw_comm *comm, const struct gw_call *call,
    const struct gw__program *program)
{
    return comm->windows && program->direct
        && !(call->collective == GW_ALLTOALL
            && (call->counts || call->in == GW_IN_PLACE));
}

/* A buffer as peers may reach it; staged when they could not. */
static enum gw_err show(struct gw_request *r, const void *memory, size_t bytes,
    bool is_input, struct gw__place *place, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    *place = (struct gw__place) { .fd = -1 };
    if (bytes == 0)
        return GW_OK;
    *place = comm->windows->show(comm->wire, memory, bytes);
    if (place->fd >= 0)
        return GW_OK;
    unsigned char *stage = gw__scratch_take(comm, bytes, why);
    if (!stage)
        return GW_ENOMEM;
    if (is_input)
        memcpy(stage, memory, bytes);
    *(is_input ? &r->stage_in : &r->stage_out) = stage;
    *place = comm->windows->show(comm->wire, stage, bytes);
    return GW_OK;
}

static bool in_place(const struct gw_request *r)
{
    return r->call.in == GW_IN_PLACE;
}

enum gw_err gw__window_begin(struct gw_request *r, struct gw_error *why)
{
    (void)why;
    r->windowed = true;
    r->eager = r->program->eager
        && largest_input(r->comm, &r->call) <= GW__EAGER_BYTES;
    r->turn = r->comm->turns++;
    r->state = GW__WAITING;
    return GW_OK;
}

static const struct gw__passes *passes_of(const struct gw_request *r)
{
    return r->eager ? &r->program->pull : &r->program->push;
}

/* Have all finished with what I posted two turns ago? */
static bool side_is_free(const struct gw_request *r)
{
    if (r->comm->turns_done != r->turn)
        return false;
    if (r->turn < 2)
        return true;
    for (unsigned q = 0; q < r->comm->size; q++)
        if (q != r->comm->rank
            && atomic_load_explicit(
                   &card_of(r->comm, q)->left, memory_order_acquire)
                < r->turn - 1)
            return false;
    return true;
}

/* Posts the input itself, laid out as if not in place. */
static void post_input(struct gw_request *r, struct side *side)
{
    const struct gw_call *call = &r->call;
    const unsigned char *from = in_place(r) ? call->out : call->in;
    size_t bytes = gw__bytes_in(r->comm, call);
    if (bytes == 0)
        return;
    if (in_place(r)
        && (call->collective == GW_GATHER
            || call->collective == GW_ALLGATHER)) {
        const struct gw_plan *plan = r->program->plan;
        unsigned own_block = r->comm->rank * gw_plan_segments(plan);
        from += r->elem_bytes
            * gw__offset_in(call, plan, r->comm->rank, own_block, true);
    }
    assert(bytes <= GW__EAGER_BYTES);
    memcpy(side->bytes, from, bytes);
    side->in_place = false;
}

/* Would my result overwrite an input that others still read? */
static bool must_defer(const struct gw_request *r)
{
    return r->program->overwrites && r->call.out
        && (in_place(r) || r->call.in == r->call.out);
}

/* Posts where the buffers lie. */
static enum gw_err post_places(
    struct gw_request *r, struct side *side, struct gw_error *why)
{
    const struct gw_call *call = &r->call;
    size_t out_bytes = gw__bytes_out(r->comm, call);
    enum gw_err err = show(r, call->out, out_bytes, false, &side->out, why);
    side->in_place = in_place(r);
    if (err)
        return err;
    if (in_place(r)) {
        side->in = side->out;
        if (r->stage_out)
            memcpy(r->stage_out, call->out, out_bytes);
    } else
        err = show(r, call->in, gw__bytes_in(r->comm, call), true, &side->in,
            why);
    if (!err && must_defer(r) && !r->stage_out) {
        r->stage_out = gw__scratch_take(r->comm, out_bytes, why);
        err = r->stage_out ? GW_OK : GW_ENOMEM;
    }
    return err;
}

static enum gw_err enter(struct gw_request *r, struct gw_error *why)
{
    struct side *side = side_of(r, r->comm->rank);
    enum gw_err err = GW_OK;
    atomic_store_explicit(&side->entered, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    side->signature = r->signature;
    side->op = r->op;
    if (r->eager)
        post_input(r, side);
    else
        err = post_places(r, side, why);
    if (err)
        return err;
    atomic_store_explicit(&side->entered, r->turn + 1, memory_order_release);
    r->comm->windows->wake_all(r->comm->wire);
    r->comm->windows->moved(r->comm->wire);
    r->state = GW__ENTERED;
    r->seen = 0;
    return GW_OK;
}

static enum gw_err check_call(
    struct gw_request *r, unsigned peer, struct gw_error *why)
{
    const struct side *side = side_of(r, peer);
    if (memcmp(&side->signature, &r->signature, sizeof r->signature) == 0)
        return GW_OK;
    return gw__mismatch(
        r->comm, r->op, &r->signature, peer, &side->signature, why);
}

/* GW_OK when all that I touch have entered and call the same. */
static enum gw_err all_entered(struct gw_request *r, struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    for (; r->seen < passes->touch_count; r->seen++) {
        unsigned peer = passes->touch[r->seen];
        if (atomic_load_explicit(
                &side_of(r, peer)->entered, memory_order_acquire)
            != r->turn + 1)
            return GW_PENDING;
        enum gw_err err = check_call(r, peer, why);
        if (err)
            return err;
    }
    return GW_OK;
}

/* Where `rank` holds its first value of the chunk, in my address space. */
static const unsigned char *first_value(
    const struct gw_request *r, unsigned rank, unsigned chunk)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    size_t offset = r->elem_bytes
        * gw__offset_in(&r->call, plan, rank, chunk,
            own ? in_place(r) : side->in_place);
    if (own)
        return (in_place(r) ? (const unsigned char *)r->call.out
                            : (const unsigned char *)r->call.in)
            + offset;
    if (r->eager)
        return side->bytes + offset;
    const unsigned char *base
        = r->comm->windows->reach(r->comm->wire, rank, &side->in);
    return base ? base + offset : NULL;
}

static unsigned char *result_of(
    const struct gw_request *r, unsigned rank, unsigned chunk)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    size_t offset = r->elem_bytes
        * gw__offset_out(&r->call, plan, rank, chunk,
            own ? in_place(r) : side->in_place);
    unsigned char *base = own ? (r->stage_out ? r->stage_out : r->call.out)
                              : r->comm->windows->reach(
                                  r->comm->wire, rank, &side->out);
    return base ? base + offset : NULL;
}

static enum gw_err unreachable(
    struct gw_request *r, unsigned peer, struct gw_error *why)
{
    struct gw_error told;
    if (r->comm->wire->ops->check(r->comm->wire, &told))
        return gw_fail(why, told.code, "%s", told.text);
    return gw_fail(
        why, GW_ELOST, "the memory of rank %u cannot be mapped", peer);
}

static enum gw_err run_pass(
    struct gw_request *r, const struct gw__pass *pass, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    const uint16_t *ranks = passes_of(r)->ranks;
    size_t offset, length;
    unsigned dests = 0;
    gw_plan_extent(r->program->plan, pass->chunk,
        gw__block_elems(&r->call, r->program->plan, comm->rank, pass->chunk),
        r->elem_bytes, &offset, &length);
    if (length == 0)
        return GW_OK;
    for (uint32_t s = 0; s < pass->source_count; s++) {
        unsigned rank = ranks[pass->source_begin + s];
        comm->fold_sources[s] = first_value(r, rank, pass->chunk);
        if (!comm->fold_sources[s])
            return unreachable(r, rank, why);
    }
    for (uint32_t d = 0; d < pass->dest_count; d++) {
        unsigned rank = ranks[pass->dest_begin + d];
        void *dest = result_of(r, rank, pass->chunk);
        if (!dest && rank != comm->rank)
            return unreachable(r, rank, why);
        bool already_there = pass->source_count == 1
            && dest == comm->fold_sources[0];
        if (dest && !already_there)
            comm->fold_dests[dests++] = dest;
    }
    if (dests == 0)
        return GW_OK;
    struct gw_fold fold = { .sources = comm->fold_sources,
        .dests = comm->fold_dests,
        .source_count = pass->source_count,
        .dest_count = dests,
        .count = length,
        .type = r->call.type,
        .op = r->call.op,
        .scale_ranks = pass->completes ? comm->size : 1,
        .stream = length * r->elem_bytes * comm->size >= STREAM_BYTES };
    gw__fold_many(&fold);
    return GW_OK;
}

/* A window pass moves what the plan says, so it counts what the plan says. */
static void count_traffic(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    struct gw_counters *counters = r->comm->counters;
    for (uint32_t s = 0; s < p->send_count; s++) {
        const struct gw__send *send = &p->sends[s];
        size_t bytes = r->slots[send->cell].bytes;
        counters[send->peer].messages_sent += send->first;
        counters[send->peer].bytes_sent += bytes;
        gw__event(r, GW_EV_SEND, send->peer, send->step,
            p->cells[send->cell].chunk, bytes, 1);
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__write *write = &p->writes[w];
            const struct gw__source *source
                = &p->sources[write->source_begin + s];
            size_t bytes = r->slots[write->cell].bytes;
            counters[source->peer].messages_received += source->first;
            counters[source->peer].bytes_received += bytes;
            gw__event(r, GW_EV_APPLY, source->peer, write->step,
                p->cells[write->cell].chunk, bytes, write->action);
        }
}

static void size_slots(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        size_t offset, length;
        gw_plan_extent(p->plan, p->cells[c].chunk,
            gw__block_elems(&r->call, p->plan, p->rank, p->cells[c].chunk),
            r->elem_bytes, &offset, &length);
        r->slots[c].bytes = length * r->elem_bytes;
    }
}

static enum gw_err run_passes(struct gw_request *r, struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    for (unsigned i = 0; i < passes->count; i++) {
        enum gw_err err = run_pass(r, &passes->list[i], why);
        if (err)
            return err;
    }
    size_slots(r);
    count_traffic(r);
    atomic_store_explicit(&card_of(r->comm, r->comm->rank)->left, r->turn + 1,
        memory_order_release);
    r->comm->windows->wake_all(r->comm->wire);
    r->comm->windows->moved(r->comm->wire);
    r->state = GW__LEAVING;
    r->seen = 0;
    return GW_OK;
}

static bool all_left(struct gw_request *r)
{
    const struct gw__passes *passes = passes_of(r);
    if (r->eager)
        return true;
    for (; r->seen < passes->touched_count; r->seen++)
        if (atomic_load_explicit(
                &card_of(r->comm, passes->touched[r->seen])->left,
                memory_order_acquire)
            < r->turn + 1)
            return false;
    return true;
}

/* Results that could not be stored where they belong. */
static void copy_back(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        const struct gw__cell *cell = &p->cells[c];
        if (!cell->wants || (!cell->written && in_place(r)))
            continue;
        size_t offset = r->elem_bytes
            * gw__offset_out(
                &r->call, p->plan, p->rank, cell->chunk, in_place(r));
        memcpy((unsigned char *)r->call.out + offset, r->stage_out + offset,
            r->slots[c].bytes);
    }
}

static void finish(struct gw_request *r)
{
    if (r->stage_out)
        copy_back(r);
    r->comm->windows->moved(r->comm->wire);
    r->comm->turns_done++;
    r->state = GW__DONE;
}

enum gw_err gw__window_progress(
    struct gw_request *r, bool *moved, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (r->state == GW__WAITING && side_is_free(r)) {
        err = enter(r, why);
        *moved = true;
    }
    if (!err && r->state == GW__ENTERED) {
        err = all_entered(r, why);
        if (!err) {
            err = run_passes(r, why);
            *moved = true;
        }
    }
    if (!err && r->state == GW__LEAVING && all_left(r)) {
        finish(r);
        *moved = true;
    }
    return err == GW_PENDING ? GW_OK : err;
}

void gw__window_describe(
    const struct gw_request *r, char *text, size_t room, int *peer)
{
    const struct gw__passes *passes = passes_of(r);
    const char *what = "to begin its call";
    *peer = -1;
    if (r->state == GW__ENTERED && r->seen < passes->touch_count)
        *peer = passes->touch[r->seen];
    else if (r->state == GW__LEAVING && r->seen < passes->touched_count) {
        *peer = passes->touched[r->seen];
        what = "to finish with its memory";
    } else
        for (unsigned q = 0; q < r->comm->size && *peer < 0; q++)
            if (q != r->comm->rank && r->turn >= 2
                && atomic_load(&card_of(r->comm, q)->left) < r->turn - 1) {
                *peer = (int)q;
                what = "to end an earlier call";
            }
    if (*peer < 0)
        snprintf(text, room, "rank %u waits for an earlier call of its own",
            r->comm->rank);
    else
        snprintf(text, room, "rank %u waits for rank %d %s", r->comm->rank,
            *peer, what);
}

bool gw__window_posted(const struct gw_comm *comm, unsigned peer,
    unsigned side, uint32_t *op, struct gw__signature *signature)
{
    struct side *theirs = &card_of(comm, peer)->sides[side];
    uint64_t before
        = atomic_load_explicit(&theirs->entered, memory_order_acquire);
    *op = theirs->op;
    *signature = theirs->signature;
    atomic_thread_fence(memory_order_acquire);
    return before != 0
        && before
        == atomic_load_explicit(&theirs->entered, memory_order_relaxed);
}
