/* SPDX-License-Identifier: MIT
 *
 * Running the passes of a call: find the sources where the ranks hold them,
 * fold, and store into every result, in one loop a chunk.
 */
#include "coll/fold.h"
#include "coll/stage.h"

#define WHOLE UINT32_MAX

/* The part of a chunk that a pass works on now: elements [begin, end) of it,
 * which are its piece `piece`, or, where nothing is staged, all of it. */
struct span {
    uint32_t piece;
    size_t begin, end;
};

/* Where `rank` holds its first value, in my address space. */
static const unsigned char *first_value(const struct gw_request *r,
                                        unsigned rank, unsigned chunk,
                                        const struct span *span)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    bool is_in_place = own ? in_place(r) : side->in_place;
    const unsigned char *base;
    size_t slot_bytes = 0;
    if (own && r->aside) { /* peers may have stored into the buffer */
        base = r->stage_in.memory;
        slot_bytes = r->stage_in.slot_bytes;
    } else if (own)
        base = in_place(r) ? r->call.out : r->call.in;
    else if (r->eager) {
        base = side->bytes;
        is_in_place = false;
    } else {
        base = r->comm->windows->reach(r->comm->wire, rank, &side->in);
        slot_bytes = side->in_slot_bytes;
    }
    if (!base)
        return NULL;
    if (slot_bytes)
        return base +
               gw__stage_offset_in(r, rank, chunk, span->piece, slot_bytes);
    return base + r->elem_bytes *
                      (span->begin +
                       gw__offset_in(&r->call, plan, rank, chunk, is_in_place));
}

static unsigned char *result_of(const struct gw_request *r, unsigned rank,
                                unsigned chunk, const struct span *span)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    unsigned char *base;
    size_t slot_bytes = 0;
    if (own && r->deferred) {
        base = r->stage_out.memory;
        slot_bytes = r->stage_out.slot_bytes;
    } else if (own)
        base = r->call.out;
    else {
        base = r->comm->windows->reach(r->comm->wire, rank, &side->out);
        slot_bytes = side->out_slot_bytes;
    }
    if (!base)
        return NULL;
    if (slot_bytes)
        return base +
               gw__stage_offset_out(r, rank, chunk, span->piece, slot_bytes);
    return base +
           r->elem_bytes * (span->begin +
                            gw__offset_out(&r->call, plan, rank, chunk,
                                           own ? in_place(r) : side->in_place));
}

static enum gw_err unreachable(struct gw_request *r, unsigned peer,
                               struct gw_error *why)
{
    struct gw_error told;
    if (r->comm->wire->ops->check(r->comm->wire, &told))
        return gw_fail(why, told.code, "%s", told.text);
    return gw_fail(why, GW_ELOST, "the memory of rank %u is out of reach",
                   peer);
}

/* Piece `piece` of the chunk, or GW__WHOLE. */
static struct span span_of(const struct gw_request *r, unsigned chunk,
                           uint32_t piece)
{
    const struct gw_plan *plan = r->program->plan;
    size_t offset, length;
    gw_plan_extent(plan, chunk,
                   gw__block_elems(&r->call, plan, r->comm->rank, chunk),
                   r->elem_bytes, &offset, &length);
    if (piece == WHOLE)
        return (struct span){.end = length};
    size_t begin = piece * r->piece_elems, end = begin + r->piece_elems;
    return (struct span){.piece = piece,
                         .begin = begin < length ? begin : length,
                         .end = end < length ? end : length};
}

/* What this rank has just loaded from others and stored into theirs. */
static void count_pass(const struct gw_request *r, const struct gw__pass *pass,
                       size_t bytes)
{
    const uint16_t *ranks = passes_of(r)->ranks;
    struct gw_counters *counters = r->comm->counters;
    unsigned rank = r->comm->rank;
    for (uint32_t s = 0; s < pass->source_count; s++)
        if (ranks[pass->source_begin + s] != rank)
            counters[ranks[pass->source_begin + s]].bytes_received += bytes;
    for (uint32_t d = 0; d < pass->dest_count; d++)
        if (ranks[pass->dest_begin + d] != rank)
            counters[ranks[pass->dest_begin + d]].bytes_sent += bytes;
}

static enum gw_err run_pass(struct gw_request *r, const struct gw__pass *pass,
                            uint32_t piece, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    const uint16_t *ranks = passes_of(r)->ranks;
    unsigned dests = 0;
    const struct span span = span_of(r, pass->chunk, piece);
    if (span.begin == span.end)
        return GW_OK;
    for (uint32_t s = 0; s < pass->source_count; s++) {
        unsigned rank = ranks[pass->source_begin + s];
        comm->fold_sources[s] = first_value(r, rank, pass->chunk, &span);
        if (!comm->fold_sources[s])
            return unreachable(r, rank, why);
    }
    for (uint32_t d = 0; d < pass->dest_count; d++) {
        unsigned rank = ranks[pass->dest_begin + d];
        void *dest = result_of(r, rank, pass->chunk, &span);
        if (!dest && rank != comm->rank)
            return unreachable(r, rank, why);
        bool already_there =
            pass->source_count == 1 && dest == comm->fold_sources[0];
        if (dest && !already_there)
            comm->fold_dests[dests++] = dest;
    }
    if (dests == 0)
        return GW_OK;
    struct gw_fold fold = {
        .sources = comm->fold_sources,
        .dests = comm->fold_dests,
        .source_count = pass->source_count,
        .dest_count = dests,
        .count = span.end - span.begin,
        .type = r->call.type,
        .op = r->call.op,
        .scale_ranks = pass->completes ? comm->size : 1,
        .stream = gw__fold_past(comm, &r->call, pass->source_count)};
    gw__fold_many(&fold);
    count_pass(r, pass, fold.count * r->elem_bytes);
    return GW_OK;
}

void gw__count_served(const struct gw_request *r, struct gw_counters *counters)
{
    const struct gw__program *p = r->program;
    const struct gw__passes *passes = passes_of(r);
    for (unsigned i = 0; i < passes->served_count; i++) {
        const struct gw__served *served = &passes->served[i];
        struct gw_counters *counted = &counters[served->peer];
        size_t bytes = r->slots[served->cell].bytes;
        if (served->stores)
            counted->bytes_received += bytes;
        else
            counted->bytes_sent += bytes;
    }
    for (uint32_t s = 0; s < p->send_count; s++)
        counters[p->sends[s].peer].messages_sent += p->sends[s].first;
    for (uint32_t s = 0; s < p->source_count; s++)
        counters[p->sources[s].peer].messages_received += p->sources[s].first;
}

/* The same as events. */
static void tell_moved(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (uint32_t s = 0; s < p->send_count; s++) {
        const struct gw__send *send = &p->sends[s];
        gw__event(r, GW_EV_SEND, send->peer, send->step,
                  p->cells[send->cell].chunk, r->slots[send->cell].bytes, 1);
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__write *write = &p->writes[w];
            unsigned peer = p->sources[write->source_begin + s].peer;
            gw__event(r, GW_EV_APPLY, peer, write->step,
                      p->cells[write->cell].chunk, r->slots[write->cell].bytes,
                      write->action);
        }
}

static void size_slots(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        size_t offset, length;
        gw_plan_extent(
            p->plan, p->cells[c].chunk,
            gw__block_elems(&r->call, p->plan, p->rank, p->cells[c].chunk),
            r->elem_bytes, &offset, &length);
        r->slots[c].bytes = length * r->elem_bytes;
    }
}

int gw__first_not_entered(const struct gw_comm *comm,
                          const struct gw__passes *passes, uint64_t turn)
{
    atomic_thread_fence(memory_order_acquire);
    for (unsigned i = 0; i < passes->touch_count; i++)
        if (atomic_load_explicit(
                &gw__side(comm, passes->touch[i], turn)->entered,
                memory_order_relaxed) != turn + 1)
            return passes->touch[i];
    return -1;
}

static enum gw_err still_entered(struct gw_request *r, struct gw_error *why)
{
    int gone = gw__first_not_entered(r->comm, passes_of(r), r->turn);
    return gone < 0 ? GW_OK : unreachable(r, (unsigned)gone, why);
}

static enum gw_err run_piece(struct gw_request *r, uint32_t piece,
                             struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < passes->count && !err; i++)
        err = run_pass(r, &passes->list[i], piece, why);
    return err ? err : still_entered(r, why);
}

/* As far as the pieces are there. */
static enum gw_err run_pieces(struct gw_request *r, bool *moved,
                              struct gw_error *why)
{
    uint32_t until = gw__stage_open_until(r);
    bool whole = r->ran == 0 && gw__stage_is_open(r);
    struct side *side = side_of(r, r->comm->rank);
    enum gw_err err = GW_OK;
    while (r->ran < until && !err) {
        err = run_piece(r, whole ? WHOLE : r->ran, why);
        r->ran = whole ? r->pieces : r->ran + 1;
        atomic_store_explicit(&side->done, err ? 0 : r->ran,
                              memory_order_release);
        r->comm->windows->wake_all(r->comm->wire);
        *moved = true;
    }
    return err || r->ran == r->pieces ? err : GW_PENDING;
}

enum gw_err gw__run_passes(struct gw_request *r, bool *moved,
                           struct gw_error *why)
{
    enum gw_err err =
        r->eager ? run_piece(r, WHOLE, why) : run_pieces(r, moved, why);
    if (err)
        return err;
    size_slots(r);
    gw__count_served(r, r->comm->counters);
    if (r->comm->config.events)
        tell_moved(r);
    gw__tell_left(r->comm, r->turn + 1);
    r->comm->windows->moved(r->comm->wire);
    r->state = GW__LEAVING;
    r->seen = 0;
    *moved = true;
    return GW_OK;
}
