/* SPDX-License-Identifier: MIT
 *
 * Revokes a failed window pass. When a call returns an error, its buffers
 * belong to the user again, but peers that have seen this rank's control block
 * may still be loading from them and storing into them. So the control block is
 * emptied first. Then
 *
 *   a peer that has not entered yet   does not find this rank any more
 *   a peer that has entered           may be running its passes: we wait until
 *                                     it has left, or has detected that the
 *                                     communicator has failed
 *   a peer that has read              reads our control block again before it
 *                                     uses the values (pass.c)
 *
 * Entering is a store, a fence and loads of the peers' control blocks; emptying
 * is also a store, a fence and loads of them (Dekker). So either the peer sees
 * that we have revoked, or we see that it has entered.
 *
 * A peer that is stopped during its passes is awaited for 200 ms only. When it
 * continues, it may store into the result buffer, and then fails.
 */
#include "control_block.h"

#include <time.h>

enum { PATIENCE_NS = 200000000, PAUSE_NS = 50000 };

/* Calls enter one after the other, so there is at most one. */
static struct gw_request *find_entered(struct gw_comm *comm)
{
    for (struct gw_request *r = comm->active; r; r = r->next)
        if (r->windowed && (r->state == GW__ENTERED || r->state == GW__LEAVING))
            return r;
    return NULL;
}

static bool is_inside(const struct gw_request *r, unsigned peer)
{
    struct gw_comm *comm = r->comm;
    return atomic_load(&control_entry_of(r, peer)->entered) == r->turn + 1 &&
           atomic_load(&comm->control_blocks[peer]->left) < r->turn + 1 &&
           !comm->windows->gone(comm->wire, peer);
}

void gw__revoke(struct gw_comm *comm)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct gw_request *r = find_entered(comm);
    if (!r || gw__is_eager(r)) /* readers of a control block do not read the
                                     user's memory */
        return;
    const struct gw__passes *passes = passes_of(r);
    uint64_t deadline = gw_now_ns() + PATIENCE_NS;
    atomic_store_explicit(&control_entry_of(r, comm->rank)->entered, 0,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < passes->touched_count; i++)
        while (is_inside(r, passes->touched[i]) && gw_now_ns() < deadline)
            nanosleep(&pause, NULL);
}
