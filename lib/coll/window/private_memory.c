/* SPDX-License-Identifier: MIT
 *
 * Window passes over private memory: that of malloc, which peers cannot map,
 * but the kernel copies between two processes (wire/shm/shm_copy.c). A rank
 * whose buffer is touched only posts its address. The rank that runs the loop
 *
 *   moves      straight from one buffer to the other
 *   reduces    in blocks: it copies the block of each private source to a
 *              scratch buffer that stays in its level 2 cache, reduces from
 *              there, and copies the result to the private destinations
 *
 * The owner is not involved. So such a call has two meetings, as one over
 * mapped memory, and runs on the fast path; staging needs two more per piece.
 *
 * A copy costs a system call, and the kernel looks up each page. Short ones are
 * slower than two copies through a staging buffer. So a buffer is posted for
 * copies only if the peers take many bytes at a time from it. Each rank decides
 * this for its own buffers.
 */
#include "private_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCRATCH_BYTES = 512 << 10,   /* of all sources */
    BLOCK_BYTES_MAX = 64 << 10,  /* of a source */
    BLOCK_BYTES_MIN = 4 << 10,
    MOVE_BYTES_MIN = 8 << 10,    /* of a transfer that is copied */
    REDUCE_BYTES_MIN = 32 << 10, /* the same for operands of reductions */
};

/* ---- choosing ---- */

static size_t block_bytes(const struct gw_comm *comm)
{
    size_t bytes = SCRATCH_BYTES / comm->size / 64 * 64;
    if (getenv("GWX_BLOCK")) return (size_t)atol(getenv("GWX_BLOCK"));
    return bytes > BLOCK_BYTES_MAX   ? BLOCK_BYTES_MAX
           : bytes < BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN
                                     : bytes;
}

/* Room for a block of each source, and for one of a result. */
static bool has_room(struct gw_comm *comm)
{
    if (!comm->copied)
        comm->copied = malloc((comm->size + (size_t)1) * block_bytes(comm));
    return comm->copied != NULL;
}

/* The mean size of the transfers in which peers load from this rank's input, or
 * store into its result. */
static size_t transfer_bytes(const struct gw_comm *comm,
                             const struct gw_call *call,
                             const struct gw__prepared_call *p, bool stores)
{
    const struct gw__passes *passes = gw__prepared_passes(p);
    size_t bytes = 0, count = 0;
    for (unsigned i = 0; i < passes->served_count; i++) {
        const struct gw__served *served = &passes->served[i];
        if (served->stores != stores)
            continue;
        bytes += gw__chunk_bytes(comm, call, p->program->plan,
                                 p->program->cells[served->cell].chunk);
        count++;
    }
    return count ? bytes / count : 0;
}

static bool pays(const struct gw_comm *comm, const struct gw_call *call,
                 const struct gw__prepared_call *p, bool stores)
{
    size_t bytes = transfer_bytes(comm, call, p, stores);
    const char *x = getenv(gw_collective_reduces(call->collective) ? stores ? "GWX_ROUT" : "GWX_RIN" : stores ? "GWX_OUT" : "GWX_IN");
    if (x) return bytes >= (size_t)atol(x);
    if (!gw_collective_reduces(call->collective))
        return bytes >= MOVE_BYTES_MIN;
    return bytes >= REDUCE_BYTES_MIN && block_bytes(comm) >= REDUCE_BYTES_MIN;
}

void gw__private_memory_choose(struct gw_comm *comm, const struct gw_call *call,
                               struct gw__prepared_call *p)
{
    struct gw_error why;
    p->copies_in = p->peers_load && pays(comm, call, p, false);
    p->copies_out = p->peers_store && pays(comm, call, p, true);
    if ((p->copies_in || p->copies_out) &&
        (!comm->windows->can_copy(comm->wire, &why) || !has_room(comm)))
        p->copies_in = p->copies_out = false;
}

struct gw__memory_range gw__private_memory_show(struct gw_comm *comm,
                                                const void *memory,
                                                size_t bytes, bool copies)
{
    struct gw__memory_range range =
        comm->windows->show(comm->wire, memory, bytes);
    if (range.fd == GW__MEMORY_NONE && copies)
        range = (struct gw__memory_range){.fd = GW__MEMORY_PRIVATE,
                                          .offset = (uintptr_t)memory};
    return range;
}

/* ---- running ---- */

bool gw__private_memory_is_touched(const struct gw__window_call *w)
{
    const struct gw__passes *passes = gw__prepared_passes(w->prepared);
    for (unsigned i = 0; !w->prepared->eager && i < passes->touch_count; i++) {
        const struct control_entry *entry =
            gw__control_entry(w->comm, passes->touch[i], w->turn);
        if (entry->in.fd == GW__MEMORY_PRIVATE ||
            entry->out.fd == GW__MEMORY_PRIVATE)
            return true;
    }
    return false;
}

bool gw__private_memory_is_safe(const struct gw__window_call *w, unsigned *lost)
{
    const struct gw__passes *passes = gw__prepared_passes(w->prepared);
    *lost = passes->touch_count ? passes->touch[0] : w->comm->rank;
    return w->comm->wire->ops->check(w->comm->wire, NULL) == GW_OK;
}

/* A part of a step, and what is known of its operands. */
struct copy_step {
    const struct gw__window_call *w;
    const struct gw__prepared_step *s;
    const struct gw__part *part;
    unsigned *lost;
    unsigned dest_count; /* mapped here */
    unsigned char *result; /* what private destinations get */
};

static const struct gw__operand *sources_of(const struct copy_step *c)
{
    return &c->w->prepared->operands[c->s->source_begin];
}

static const struct gw__operand *dests_of(const struct copy_step *c)
{
    return &c->w->prepared->operands[c->s->dest_begin];
}

static size_t part_bytes(const struct copy_step *c)
{
    return c->part->elems * c->w->prepared->elem_bytes;
}

static bool divides(const struct copy_step *c)
{
    return c->s->completes && c->w->call->op == GW_AVG;
}

/* Does a value go unchanged from one buffer to others? */
static bool only_moves(const struct copy_step *c)
{
    return c->s->source_count == 1 && !divides(c);
}

/* The destinations that are mapped here. False: one cannot be reached. */
static bool find_mapped_dests(struct copy_step *c)
{
    const struct gw__operand *dests = dests_of(c);
    c->dest_count = 0;
    for (unsigned i = 0; i < c->s->dest_count; i++) {
        struct gw__location to = gw__dest_location(c->w, &dests[i], c->part);
        if (to.here)
            c->w->comm->reduce_dests[c->dest_count++] = to.here;
        else if (!to.there) {
            *c->lost = dests[i].rank;
            return false;
        }
    }
    return true;
}

/* The target of a copy of source `i`: of a value that only moves, the first
 * destination, so that it is copied once. */
static unsigned char *room_for(const struct copy_step *c, unsigned i)
{
    struct gw_comm *comm = c->w->comm;
    if (only_moves(c) && c->dest_count > 0)
        return comm->reduce_dests[0];
    return comm->copied + (i + (size_t)1) * block_bytes(comm);
}

static bool load_sources(const struct copy_step *c)
{
    struct gw_comm *comm = c->w->comm;
    const struct gw__operand *sources = sources_of(c);
    for (unsigned i = 0; i < c->s->source_count; i++) {
        struct gw__location from =
            gw__source_location(c->w, &sources[i], c->part);
        if (from.there)
            from.here = room_for(c, i);
        if (!from.here || (from.there && !comm->windows->load(
                                             comm->wire, sources[i].rank,
                                             from.there, from.here,
                                             part_bytes(c)))) {
            *c->lost = sources[i].rank;
            return false;
        }
        comm->reduce_sources[i] = from.here;
    }
    return true;
}

static void reduce_part(struct copy_step *c)
{
    struct gw_comm *comm = c->w->comm;
    unsigned count = c->dest_count;
    c->result = count > 0 ? comm->reduce_dests[0] : comm->copied;
    if (only_moves(c)) {
        c->result = (unsigned char *)(uintptr_t)comm->reduce_sources[0];
        /* The value may have been loaded there, or be there in place. */
        for (unsigned i = 0; i < count; i++)
            if (comm->reduce_dests[i] == c->result) {
                comm->reduce_dests[i] = comm->reduce_dests[--count];
                break;
            }
    } else if (count == 0)
        comm->reduce_dests[count++] = comm->copied;
    bool stores = c->dest_count < c->s->dest_count;
    gw__run_loop(c->w, c->s, count, c->part->elems, c->s->past && !stores);
}

static bool store_result(const struct copy_step *c)
{
    struct gw_comm *comm = c->w->comm;
    const struct gw__operand *dests = dests_of(c);
    for (unsigned i = 0; i < c->s->dest_count; i++) {
        struct gw__location to = gw__dest_location(c->w, &dests[i], c->part);
        if (to.here || comm->windows->store(comm->wire, dests[i].rank, to.there,
                                            c->result, part_bytes(c)))
            continue;
        *c->lost = dests[i].rank;
        return false;
    }
    return true;
}

/* Does the part need no scratch buffer? */
static bool runs_whole(const struct copy_step *c)
{
    return only_moves(c) &&
           (c->dest_count > 0 || sources_of(c)->rank == c->w->comm->rank);
}

static bool run_block(struct copy_step *c)
{
    if (!find_mapped_dests(c) || !load_sources(c))
        return false;
    reduce_part(c);
    return store_result(c);
}

bool gw__private_memory_run(const struct gw__window_call *w,
                            const struct gw__prepared_step *s,
                            const struct gw__part *part, unsigned *lost)
{
    struct gw__part block = *part;
    struct copy_step c = {.w = w, .s = s, .part = &block, .lost = lost};
    if (!find_mapped_dests(&c))
        return false;
    if (runs_whole(&c))
        return run_block(&c);
    size_t most = block_bytes(w->comm) / w->prepared->elem_bytes;
    for (size_t done = 0; done < part->elems; done += block.elems) {
        block.at = part->at + done * w->prepared->elem_bytes;
        block.elems = part->elems - done < most ? part->elems - done : most;
        if (!run_block(&c))
            return false;
    }
    return true;
}
