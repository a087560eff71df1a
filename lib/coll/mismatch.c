/* SPDX-License-Identifier: MIT
 *
 * Detects ranks that call different things. A rank that receives a slice or
 * reads a control block for its current op compares the signatures at once.
 * This file finds the other cases: a waiting rank periodically looks at the
 * heads of all its links and at all control blocks, even without expecting a
 * message, and compares them with its own call of that number.
 *
 * Over links there may be nothing to compare: each rank waits for one that has
 * nothing to send to it in the call that it has made. So a rank that has waited
 * for PROBE_NS sends a probe to all others: a slice without data that has only
 * its call. The oldest call is probed, so the sender has completed all earlier
 * ones, and a probe of a call that the receiver has not made yet can stay at the
 * head of the link.
 */
#include "comm.h"

#include <string.h>

/* Turns: each look costs a cache line per turn and peer, once per
 * millisecond. */
enum { TURNS_CHECKED = 8, PROBE_NS = 200000000 };

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
        enum gw_err head = gw__peek(comm, q, &view, why);
        if (head == GW_OK)
            err = compare_signatures(comm, view.header->op, q,
                                     &view.header->call, why);
        else if (head == GW_EMISMATCH)
            err = head;
        if (!err && comm->windows)
            err = compare_posted(comm, q, why);
    }
    return err;
}

/* ---- probes ---- */

enum gw_err gw__peek(struct gw_comm *comm, unsigned peer,
                     struct gw__slice_view *view, struct gw_error *why)
{
    const struct gw__wire_ops *ops = comm->wire->ops;
    for (;;) {
        enum gw_err err = ops->peek(comm->wire, peer, view);
        if (err || view->header->step != GW__PROBE)
            return err;
        if (view->header->op >= comm->next_op)
            return GW_PENDING;
        err = compare_signatures(comm, view->header->op, peer,
                                 &view->header->call, why);
        if (err)
            return err;
        ops->release(comm->wire, peer);
    }
}

/* The slices of a send are numbered one after the other, so a probe may not
 * come between them. */
static bool is_sending(const struct gw_comm *comm, unsigned peer)
{
    for (const struct gw_request *r = comm->active; r; r = r->next) {
        const struct gw__program *p = r->program;
        uint32_t at = r->windowed ? p->out_begin[peer + 1] : r->out_at[peer];
        if (r->state != GW__DONE && at < p->out_begin[peer + 1] &&
            r->pushed[p->out[at]] > 0)
            return true;
    }
    return false;
}

void gw__send_probes(struct gw_comm *comm, struct gw_request *r, uint64_t now)
{
    const struct gw__header probe = {.epoch = comm->epoch,
                                     .op = r->op,
                                     .step = GW__PROBE,
                                     .call = r->signature};
    if (r->is_probed || r->windowed || r->contributors ||
        r->signature.collective == GW__P2P ||
        now - comm->last_progress_ns < PROBE_NS)
        return;
    r->is_probed = true;
    for (unsigned q = 0; q < comm->size; q++)
        if (q != comm->rank && !is_sending(comm, q) &&
            comm->wire->ops->send(comm->wire, q, &probe, NULL, true) == GW_OK)
            comm->pushes[q]++;
}
