/* SPDX-License-Identifier: MIT
 *
 * Staging buffers: window passes over memory that peers cannot map. A rank
 * copies its input to a staging buffer that they can map, and results that
 * peers store come back the same way. Every chunk is divided into pieces, and a
 * staging buffer has slots for S pieces of every chunk, used in turn. All ranks
 * move on piece by piece, so that a staging buffer is small and stays in the
 * caches, however large the call is.
 *
 *     owner        fill 0   fill 1            fill 2        ...
 *     passes                run 0    run 1             run 2
 *     owner                          empty 0  empty 1       ...
 *
 * Three counters in the slot of the control block show the progress of a rank:
 * `filled`, `done` (the passes, which touch the others' memory), `drained`. So
 *
 *   fill k    when all that touch me have done k-S: the slot is free
 *   run k     when all that I touch have filled k and drained k-S
 *   drain k   when all that touch me have done k
 *
 * A buffer that can be mapped counts as completely filled and drained from the
 * beginning. Each rank decides alone whether to stage a buffer: all ranks count
 * pieces in the same way, and a rank that touches no staging buffer runs its
 * passes at once.
 *
 * Staging also serves results that must not be stored yet, since others still
 * read the input there, and inputs that others will overwrite.
 *
 * The cost is a copy in and a copy out through the caches, and a hand-over per
 * piece. A line that is written must first leave the cache of the core that read
 * it last. So the slots are a ring of 4 MiB, which goes on from call to call:
 * when a slot is used again, its lines have left both caches of level 2 by
 * themselves. And a chunk has at least two pieces, so that the owner fills one
 * while its peer reads the other. 2 ranks on 2 cores, us:
 *
 *                           bytes   1 piece    2 pieces   4 MiB, 2 pieces
 *     reduce                  64K      9.4        8.7            4.7
 *     all-reduce             256K     39.4       39.2           16.5
 *     all-to-all               1M     58.9       60.4           41.0
 *
 * Where ranks share a core they wait for it anyway. A hand-over costs a switch,
 * so there are two slots, and pieces are as large as possible: with smaller ones
 * a gather of 64 KiB among 4 ranks takes 20.4 us in place of 12.0.
 */
#include "staging.h"

#include "private_memory.h"

#include <string.h>

enum {
    SLOT_BYTES = 1 << 20,       /* of one piece of all chunks, approximately */
    FRAGMENT_BYTES = 256 << 10, /* of a chunk, at most */
    FRAGMENT_BYTES_MIN = 4 << 10,
    GRAIN = 64,           /* elements: pieces begin on cache lines */
    RING_BYTES = 4 << 20, /* of all slots, if each rank has its own core */
    SLOTS_MIN = 2,
    SLOTS_MAX = 64,
};

/* ---- pieces ---- */

/* The number of chunks in a buffer, at most. */
static unsigned chunks_of_buffer(const struct gw_plan *plan)
{
    return plan->collective == GW_ALLTOALL ? plan->chunks / plan->ranks
                                           : plan->chunks;
}

static size_t largest_block(const struct gw_call *call, unsigned ranks)
{
    size_t most = call->count;
    for (unsigned b = 0; call->counts && b < ranks; b++)
        most = b == 0 || call->counts[b] > most ? call->counts[b] : most;
    return most;
}

/* The size of a piece. Two pieces let an owner and its peer work at the same
 * time, if they have a core each. */
static size_t fragment_bytes(const struct gw_comm *comm,
                             const struct gw_plan *plan, size_t chunk_bytes)
{
    size_t bytes = SLOT_BYTES / chunks_of_buffer(plan);
    size_t most = FRAGMENT_BYTES;
    if (gw__has_own_core(comm) && chunk_bytes / 2 < most)
        most = chunk_bytes / 2 + GRAIN;
    bytes = bytes < most ? bytes : most;
    return bytes < FRAGMENT_BYTES_MIN ? FRAGMENT_BYTES_MIN : bytes;
}

/* All ranks divide alike. The staging buffer has the layout of the buffers of a
 * call whose chunks have one piece each. */
void gw__staging_split(const struct gw_comm *comm, const struct gw_call *call,
                       struct gw__prepared_call *p)
{
    const struct gw_plan *plan = p->program->plan;
    unsigned parts = gw_plan_segments(plan);
    size_t chunk_elems =
        largest_block(call, comm->size) / parts + GRAIN; /* at most */
    size_t bytes = fragment_bytes(comm, plan, chunk_elems * p->elem_bytes);
    p->fragment_elems = bytes / p->elem_bytes / GRAIN * GRAIN;
    p->fragments = (uint32_t)(chunk_elems / p->fragment_elems + 1);
    p->staged = *call;
    p->staged.count = p->fragment_elems * parts;
    p->staged.counts = p->staged.displs = NULL;
}

/* ---- opening ---- */

/* Would my result overwrite an input that others still read? */
static bool must_defer(const struct gw_request *r)
{
    return r->prepared->overwrites &&
           (in_place(r) || r->call.in == r->call.out);
}

static uint32_t slots_in(const struct gw_comm *comm, size_t slot_bytes)
{
    size_t count = gw__has_own_core(comm) ? RING_BYTES / slot_bytes : 0;
    return count < SLOTS_MIN   ? SLOTS_MIN
           : count > SLOTS_MAX ? SLOTS_MAX
                               : (uint32_t)count;
}

/* Makes room for some pieces; `buffer_bytes` are those of the staged call's
 * buffer. */
static enum gw_err make_staging(struct gw_request *r, size_t buffer_bytes,
                                struct gw__staging *staging,
                                struct gw__memory_range *range,
                                struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    uint32_t count = slots_in(comm, buffer_bytes);
    size_t bytes = count * buffer_bytes;
    staging->memory = gw__scratch_acquire(comm, bytes, why);
    if (!staging->memory)
        return GW_ENOMEM;
    staging->slots = (struct gw__staging_slots){
        .bytes = buffer_bytes,
        .count = count,
        .first = (uint32_t)(comm->staged_bytes / buffer_bytes % count)};
    comm->staged_bytes += r->prepared->fragments * buffer_bytes;
    *range = comm->windows->show(comm->wire, staging->memory, bytes);
    return GW_OK;
}

/* Publishes the place of `memory`, or of a new staging buffer if peers cannot
 * reach it. Does nothing if no peer touches it. */
static enum gw_err show_memory(struct gw_request *r, const void *memory,
                               size_t bytes, size_t staging_bytes, bool touched,
                               struct gw__staging *staging,
                               struct gw__memory_range *range,
                               struct gw_error *why)
{
    *range = (struct gw__memory_range){.fd = GW__MEMORY_NONE};
    if (bytes == 0 || !touched)
        return GW_OK;
    if (memory)
        *range = gw__private_memory_show(r->comm, r->prepared, memory, bytes);
    return range->fd != GW__MEMORY_NONE
               ? GW_OK
               : make_staging(r, staging_bytes, staging, range, why);
}

static enum gw_err open_both(struct gw_request *r, struct gw__memory_range *in,
                             struct gw__memory_range *out, struct gw_error *why)
{
    const struct gw__prepared_call *p = r->prepared;
    const struct gw_call *call = &r->call;
    const void *input = in_place(r) ? call->out : call->in;
    size_t in_bytes = in_place(r) ? p->bytes_out : p->bytes_in;
    r->input_saved = p->saves_input;
    r->deferred = must_defer(r);
    enum gw_err err =
        show_memory(r, r->input_saved ? NULL : input, in_bytes,
                    gw__bytes_in(r->comm, &p->staged),
                    p->peers_load || r->input_saved, &r->staging_in, in, why);
    if (!err)
        err = show_memory(r, r->deferred ? NULL : call->out, p->bytes_out,
                          gw__bytes_out(r->comm, &p->staged),
                          p->peers_store || r->deferred, &r->staging_out, out,
                          why);
    return err;
}

enum gw_err gw__staging_open(struct gw_request *r, struct control_entry *entry,
                             struct gw_error *why)
{
    struct gw__memory_range in, out;
    r->filled = r->drained = r->prepared->fragments;
    enum gw_err err = open_both(r, &in, &out, why);
    if (err)
        return err;
    gw__control_entry_show(entry, &in, &out, in_place(r));
    if (r->staging_in.memory) {
        r->filled = 0;
        entry->in_slots = r->staging_in.slots;
        atomic_store_explicit(&entry->filled, 0, memory_order_relaxed);
    }
    if (r->staging_out.memory) {
        r->drained = 0;
        entry->out_slots = r->staging_out.slots;
        atomic_store_explicit(&entry->drained, 0, memory_order_relaxed);
    }
    return GW_OK;
}

void gw__staging_skip(struct gw_request *r)
{
    r->filled = r->drained = r->prepared->fragments;
    r->ran = r->state == GW__LEAVING ? r->prepared->fragments : 0;
}

/* ---- moving ---- */

/* The bytes of piece `piece` of a chunk, beginning at *at. */
static size_t fragment_of(const struct gw_request *r, unsigned chunk,
                          uint32_t fragment, size_t *at)
{
    const struct gw_plan *plan = r->program->plan;
    size_t offset, length, begin = fragment * r->prepared->fragment_elems;
    gw_plan_extent(plan, chunk,
                   gw__block_elems(&r->call, plan, r->comm->rank, chunk),
                   r->elem_bytes, &offset, &length);
    size_t end = begin + r->prepared->fragment_elems < length
                     ? begin + r->prepared->fragment_elems
                     : length;
    *at = begin * r->elem_bytes;
    return begin < end ? (end - begin) * r->elem_bytes : 0;
}

static void fill_cells(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    const unsigned char *input = in_place(r) ? r->call.out : r->call.in;
    for (unsigned c = 0; c < p->cell_count; c++) {
        const struct gw__cell *cell = &p->cells[c];
        size_t at, bytes = fragment_of(r, cell->chunk, r->filled, &at);
        if (!cell->holds || !(cell->peers_load || r->input_saved) || bytes == 0)
            continue;
        memcpy(r->staging_in.memory +
                   gw__staging_offset(&r->staging_in.slots, r->filled) +
                   r->elem_bytes * gw__offset_in(&r->prepared->staged, p->plan,
                                                 p->rank, cell->chunk, false),
               input +
                   r->elem_bytes * gw__offset_in(&r->call, p->plan, p->rank,
                                                 cell->chunk, in_place(r)) +
                   at,
               bytes);
    }
}

/* Copies out the results that others have stored, and deferred own ones. */
static void drain(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        const struct gw__cell *cell = &p->cells[c];
        size_t at, bytes = fragment_of(r, cell->chunk, r->drained, &at);
        bool stored = cell->wants && (cell->peers_store || r->deferred);
        if (!stored || (!cell->written && in_place(r)) || bytes == 0)
            continue;
        memcpy((unsigned char *)r->call.out +
                   r->elem_bytes * gw__offset_out(&r->call, p->plan, p->rank,
                                                  cell->chunk, in_place(r)) +
                   at,
               r->staging_out.memory +
                   gw__staging_offset(&r->staging_out.slots, r->drained) +
                   r->elem_bytes * gw__offset_out(&r->prepared->staged, p->plan,
                                                  p->rank, cell->chunk, false),
               bytes);
    }
}

/* The number of pieces that the passes of `peer` have finished. After it has
 * left, its slot may already describe a later turn: in eager calls it need not
 * wait for this rank, which is still draining its staging buffer. */
static uint32_t done_by(const struct gw_request *r, unsigned peer)
{
    if (gw__has_left(r->comm, peer, r->turn))
        return r->prepared->fragments;
    if (!gw__has_entered(r->comm, peer, r->turn))
        return 0;
    return atomic_load_explicit(&control_entry_of(r, peer)->done,
                                memory_order_acquire);
}

/* The number of pieces finished by all ranks that touch this one, and by this
 * rank itself if it uses the staging buffer. */
static uint32_t least_done(const struct gw_request *r)
{
    const struct gw__passes *passes = passes_of(r);
    uint32_t least =
        r->deferred || r->input_saved ? r->ran : r->prepared->fragments;
    for (unsigned i = 0; i < passes->touched_count && least > 0; i++) {
        uint32_t done = done_by(r, passes->touched[i]);
        least = done < least ? done : least;
    }
    return least;
}

bool gw__staging_move(struct gw_request *r)
{
    struct control_entry *entry = control_entry_of(r, r->comm->rank);
    if (r->filled == r->prepared->fragments &&
        r->drained == r->prepared->fragments)
        return false;
    uint32_t done = least_done(r);
    bool fills = r->filled < r->prepared->fragments &&
                 r->filled < done + r->staging_in.slots.count;
    bool drains = r->drained < r->prepared->fragments && r->drained < done;
    if (drains) {
        drain(r);
        atomic_store_explicit(&entry->drained, ++r->drained,
                              memory_order_release);
    }
    if (fills) {
        fill_cells(r);
        atomic_store_explicit(&entry->filled, ++r->filled,
                              memory_order_release);
    }
    if (fills || drains)
        r->comm->windows->wake_all(r->comm->wire);
    return fills || drains;
}

bool gw__staging_is_empty(const struct gw_request *r)
{
    return r->drained == r->prepared->fragments;
}

/* ---- progress of the passes ---- */

/* `slots`: of the staging buffer of the result. */
static uint32_t until(const struct gw_request *r, uint32_t filled,
                      uint32_t drained, uint32_t slots)
{
    uint32_t room =
        drained < r->prepared->fragments ? drained + slots : drained;
    return filled < room ? filled : room;
}

static uint32_t open_until(const struct gw_request *r,
                           struct control_entry *entry)
{
    return until(r, atomic_load_explicit(&entry->filled, memory_order_acquire),
                 atomic_load_explicit(&entry->drained, memory_order_acquire),
                 entry->out_slots.count);
}

uint32_t gw__staging_open_until(const struct gw_request *r)
{
    const struct gw__passes *passes = passes_of(r);
    uint32_t least = r->prepared->fragments;
    if (r->input_saved || r->deferred)
        least = until(r, r->input_saved ? r->filled : r->prepared->fragments,
                      r->deferred ? r->drained : r->prepared->fragments,
                      r->staging_out.slots.count);
    for (unsigned i = 0; i < passes->touch_count && least > r->ran; i++) {
        uint32_t open = open_until(r, control_entry_of(r, passes->touch[i]));
        least = open < least ? open : least;
    }
    return least;
}

bool gw__staging_is_open(const struct gw_request *r)
{
    const struct gw__passes *passes = passes_of(r);
    bool staged = r->input_saved || r->deferred;
    for (unsigned i = 0; i < passes->touch_count && !staged; i++) {
        const struct control_entry *entry =
            control_entry_of(r, passes->touch[i]);
        staged = entry->in_slots.bytes || entry->out_slots.bytes;
    }
    return !staged;
}

bool gw__staging_waits_for(const struct gw_request *r, uint32_t fragment,
                           unsigned *peer)
{
    const struct gw__passes *passes = passes_of(r);
    for (unsigned i = 0; i < passes->touch_count; i++) {
        *peer = passes->touch[i];
        if (open_until(r, control_entry_of(r, *peer)) <= fragment)
            return true;
    }
    return false;
}
