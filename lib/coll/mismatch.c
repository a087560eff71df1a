/* SPDX-License-Identifier: MIT
 *
 * Detects ranks that call different things. A rank that receives a slice or
 * reads a control block for its current op compares the signatures at once.
 * This file finds the other cases: a waiting rank periodically looks at the
 * heads of all its links and at all control blocks, even without expecting a
 * message, and compares them with its own call of that number.
 */
#include "comm.h"

#include <string.h>

/* Turns: each look costs a cache line per turn and peer, once per
 * millisecond. */
enum { TURNS_CHECKED = 8 };

void gw__history_keep(struct gw_comm *comm, uint32_t op,
                      const struct gw__signature *signature)
{
    comm->history[op % GW__HISTORY] = *signature;
}

enum gw_err gw__mismatch(const struct gw_comm *comm, uint32_t op,
                         const struct gw__signature *ours, unsigned peer,
                         const struct gw__signature *theirs,
                         struct gw_error *why)
{
    char mine[96], other[96];
    gw__call_describe(ours, mine, sizeof mine);
    gw__call_describe(theirs, other, sizeof other);
    return gw_fail(why, GW_EMISMATCH,
                   "op %u: rank %u called %s, but rank %u called %s", op,
                   comm->rank, mine, peer, other);
}

enum gw_err gw__mismatch_slice(const struct gw_request *r, unsigned peer,
                               const struct gw__header *header,
                               struct gw_error *why)
{
    const struct gw_comm *comm = r->comm;
    if (header->epoch != comm->epoch)
        return gw_fail(
            why, GW_EMISMATCH,
            "op %u: rank %u is in epoch %u, but rank %u is in epoch %u", r->op,
            comm->rank, comm->epoch, peer, header->epoch);
    if (header->op != r->op ||
        memcmp(&header->call, &r->signature, sizeof r->signature) != 0)
        return gw__mismatch(comm, r->op, &r->signature, peer, &header->call,
                            why);
    return gw_fail(why, GW_EMISMATCH,
                   "op %u: rank %u sent step %u, chunk %u, slice %u of %u "
                   "bytes, which rank %u does not expect; use the same slice "
                   "size and counts on all ranks",
                   r->op, peer, header->step, header->chunk, header->slice,
                   header->bytes, comm->rank);
}

/* This rank's call with that number, current or recent; NULL: unknown. Shared
 * calls are numbered by the ring, and other communicators of the ring have run
 * the earlier ones. */
static const struct gw__signature *our_call(const struct gw_comm *comm,
                                            uint32_t op, uint8_t collective)
{
    if (collective != GW__SHARED)
        return op < comm->next_op && comm->next_op - op <= GW__HISTORY
                   ? &comm->history[op % GW__HISTORY]
                   : NULL;
    for (const struct gw_request *r = comm->active; r; r = r->next)
        if (r->contributors && r->op == op)
            return &r->signature;
    return NULL;
}

static enum gw_err compare_signatures(const struct gw_comm *comm, uint32_t op,
                                      unsigned peer,
                                      const struct gw__signature *theirs,
                                      struct gw_error *why)
{
    const struct gw__signature *ours = our_call(comm, op, theirs->collective);
    if (!ours || theirs->collective == GW__P2P ||
        memcmp(ours, theirs, sizeof *ours) == 0)
        return GW_OK;
    return gw__mismatch(comm, op, ours, peer, theirs, why);
}

/* Compares the calls that `peer` has posted in the last turns. */
static enum gw_err compare_posted(const struct gw_comm *comm, unsigned peer,
                                  struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned back = 1; back <= TURNS_CHECKED && !err; back++) {
        struct gw__signature posted;
        uint32_t op;
        unsigned slot = (unsigned)((comm->turns - back) % GW__CONTROL_ENTRIES);
        if (gw__window_posted(comm, peer, slot, &op, &posted))
            err = compare_signatures(comm, op, peer, &posted, why);
    }
    return err;
}

enum gw_err gw__find_mismatch(struct gw_comm *comm, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned q = 0; q < comm->size && !err; q++) {
        struct gw__slice_view view;
        if (q == comm->rank)
            continue;
        if (comm->wire->ops->peek(comm->wire, q, &view) == GW_OK)
            err = compare_signatures(comm, view.header->op, q,
                                     &view.header->call, why);
        if (!err && comm->windows)
            err = compare_posted(comm, q, why);
    }
    return err;
}
