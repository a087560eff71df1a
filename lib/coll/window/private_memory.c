/* SPDX-License-Identifier: MIT
 *
 * Window passes over private memory: that of malloc, which peers cannot map,
 * but the kernel copies between two processes (wire/shm/shm_copy.c). A rank
 * posts the address of its buffer, and the rank that runs the loop copies
 * straight from one buffer to the other. The owner is not involved. So such a
 * call has two meetings, as one over mapped memory, and runs on the fast path;
 * staging has two more per piece.
 *
 * A staging buffer stays in the caches, and a copy by the kernel costs a system
 * call and a look-up of each page. So copies pay only
 *
 *   for collectives that move data: reductions from a staging buffer are
 *   always faster than from a block that was copied before
 *
 *   when the buffers of all ranks and the staging buffers together do not fit
 *   into the last cache; not in an all-gather if ranks share a core, since all
 *   peers load a staged block from the caches (16 MiB with 4 ranks on 2 cores:
 *   6.6 ms or 7.4; an all-to-all: 8.3 or 7.1)
 *
 *   in a scatter whose buffers have 256 KiB or more, if ranks share a core: the
 *   leaves copy side by side what the root alone would stage (1 MiB with 4
 *   ranks on 2 cores: 49 us or 94)
 *
 *   in a broadcast from 96 KiB on, if each rank has its own core. Only there
 *   all data passes twice from core to core in a staging buffer, so that it is
 *   slow where the cores share no cache (256 KiB with 2 ranks: 10 us or 36)
 *
 * Measured with 32 MiB of that cache on 2 cores, in us, at the 5th percentile.
 * Open MPI copies in the same way:
 *
 *   ranks           2        2       2      2       2       4        4
 *   collective    bcast    bcast   bcast  gather  gather  scatter  bcast
 *   bytes          1M       4M      6M      1M     16M      16M      2M
 *   staged       38-140  133-320   655      27    1446     2585     229
 *   copied         60      258     367      40     819      937     186
 *   Open MPI       58      225     341      53    2049     1153     362
 *
 * All ranks come to the same decision. A broadcast between two ranks is copied
 * by both, a half each (passes.c): 1 MiB in 58 us instead of 100, 16 MiB in 1.1
 * ms instead of 2.8.
 */
#include "private_memory.h"

#include "base/notice.h"
#include "coll/reduce/reduce.h"

#include <assert.h>
#include <string.h>

enum { BROADCAST_BYTES = 96 << 10, SCATTER_BYTES = 256 << 10 };

/* ---- choosing ---- */

size_t gw__private_memory_from(const struct gw_comm *comm)
{
    size_t cache = gw__last_cache_bytes();
    return gw__has_own_core(comm) ? cache / 8 * 3 : cache / 4;
}

static bool pays(const struct gw_comm *comm, const struct gw_call *call)
{
    size_t bytes = gw__bytes_of_all(comm, call);
    bool large = bytes > comm->copies_from;
    if (gw_collective_reduces(call->collective))
        return false;
    if (!gw__has_own_core(comm))
        return (large && call->collective != GW_ALLGATHER) ||
               (call->collective == GW_SCATTER && bytes >= SCATTER_BYTES);
    return large ||
           (call->collective == GW_BROADCAST &&
            call->count * gw_dtype_size(call->type) >= BROADCAST_BYTES);
}

/* Once per process, on rank 0, which stands for all. */
static void notice_refusal(const struct gw_comm *comm,
                           const struct gw_error *why)
{
    static _Atomic bool noticed;
    if (comm->rank == 0 && !atomic_exchange(&noticed, true))
        gw__notice("shm: large buffers of malloc are copied twice: %s; "
                   "allocate them with gw_alloc, or permit ptrace(2) between "
                   "the ranks",
                   why->text);
}

bool gw__private_memory_pays(const struct gw_comm *comm,
                             const struct gw_call *call)
{
    struct gw_error why = {0};
    if (!pays(comm, call))
        return false;
    bool may = comm->windows->can_copy(comm->wire, &why);
    if (!may)
        notice_refusal(comm, &why);
    return may;
}

struct gw__memory_range
gw__private_memory_show(struct gw_comm *comm, const struct gw__prepared_call *p,
                        const void *memory, size_t bytes)
{
    struct gw__memory_range range =
        comm->windows->show(comm->wire, memory, bytes);
    if (range.fd == GW__MEMORY_NONE && p->copies)
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

/* Do all peers live, so that their pids are still theirs? To be asked after a
 * load and before a store. */
static bool peers_live(const struct gw__window_call *w)
{
    return w->comm->wire->ops->check(w->comm->wire, NULL) == GW_OK;
}

/* Copies a rank's own block, past the caches if they cannot hold the buffers.
 * That pays for smaller ones than in reduce_past.c, since the kernel's copies
 * fill the caches, too: an all-to-all of 16 MiB between 2 ranks takes 2.3 ms in
 * place of 2.6, an all-gather 2.3 in place of 2.5. */
static void copy_here(const struct gw__window_call *w, void *to,
                      const void *from, size_t elems)
{
    bool past = gw__bytes_of_all(w->comm, w->call) > gw__last_cache_bytes();
    const struct gw_reduce_local copy = {.sources = &from,
                                         .dests = &to,
                                         .source_count = 1,
                                         .dest_count = 1,
                                         .count = elems,
                                         .type = w->call->type,
                                         .scale_ranks = 1,
                                         .stream = past};
    if (to != from)
        gw_reduce_local(&copy);
}

/* Copies to a destination, from memory of this process. */
static bool store_to(const struct gw__window_call *w, unsigned rank,
                     const struct gw__location *to, const unsigned char *from,
                     size_t elems)
{
    struct gw_comm *comm = w->comm;
    if (to->here) {
        copy_here(w, to->here, from, elems);
        return true;
    }
    return to->there && peers_live(w) &&
           comm->windows->store(comm->wire, rank, to->there, from,
                                elems * w->prepared->elem_bytes);
}

/* Copies from the private memory of a peer. The only destination is this rank's
 * result: a collective that moves data loads nothing to store it elsewhere. */
static bool load_from(const struct gw__window_call *w,
                      const struct gw__prepared_step *s,
                      const struct gw__location *from,
                      const struct gw__part *part)
{
    struct gw_comm *comm = w->comm;
    const struct gw__prepared_call *p = w->prepared;
    const struct gw__operand *dest = &p->operands[s->dest_begin];
    struct gw__location to = gw__dest_location(w, dest, part);
    assert(s->dest_count == 1 && dest->rank == comm->rank);
    return comm->windows->load(comm->wire, p->operands[s->source_begin].rank,
                               from->there, to.here,
                               part->elems * p->elem_bytes) &&
           peers_live(w);
}

bool gw__private_memory_run(const struct gw__window_call *w,
                            const struct gw__prepared_step *s,
                            const struct gw__part *part, unsigned *lost)
{
    const struct gw__operand *source = &w->prepared->operands[s->source_begin];
    const struct gw__operand *dests = &w->prepared->operands[s->dest_begin];
    struct gw__location from = gw__source_location(w, source, part);
    assert(s->source_count == 1);
    *lost = source->rank;
    if (!from.here)
        return from.there && load_from(w, s, &from, part);
    for (unsigned i = 0; i < s->dest_count; i++) {
        struct gw__location to = gw__dest_location(w, &dests[i], part);
        *lost = dests[i].rank;
        if (!store_to(w, dests[i].rank, &to, from.here, part->elems))
            return false;
    }
    return true;
}
