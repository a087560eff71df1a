/* SPDX-License-Identifier: MIT
 *
 * Lockstep: experiments whose faults happen at a place in the work and not at a
 * time. All members have the same list of holds (struct gw_ring_hold).
 *
 *   a cut   In its op a member does only those transfers of the plan that come
 *           before a given one. When they are done it waits for the loss of a
 *           member. A plan's order is a valid execution, so when all members
 *           hold, each has exactly the values of this prefix, whatever the
 *           speed of the processes was. What a loss then leaves is determined.
 *   a size  Before its op the members wait until so many are in the ring. They
 *           wait where they wait for a minimum (ring_bounds.c), at the same op,
 *           so a joiner is admitted at this op.
 *
 * Whoever injects the faults waits until all members have reached the hold.
 */
#include "ring_parts.h"

const struct gw_ring_hold *gw__hold_cut(const struct gw_ring *ring, uint64_t op)
{
    for (unsigned i = 0; i < ring->config.hold_count; i++)
        if (ring->config.holds[i].cut && ring->config.holds[i].op == op)
            return &ring->config.holds[i];
    return NULL;
}

void gw__hold_reached(struct gw_ring *ring, const struct gw_ring_hold *hold)
{
    unsigned number = (unsigned)(hold - ring->config.holds) + 1;
    if (ring->status.held == number)
        return;
    ring->status.held = number;
    ring->status_changed = true;
}

const struct gw_ring_hold *gw__hold_size(const struct gw_ring *ring)
{
    const struct gw_ring_hold *newest = NULL;
    for (unsigned i = 0; i < ring->config.hold_count; i++) {
        const struct gw_ring_hold *hold = &ring->config.holds[i];
        if (hold->op < ring->ops.next_op ||
            (hold->op == ring->ops.next_op && !hold->cut))
            newest = hold;
    }
    return newest;
}

size_t gw__hold_prefix(const struct gw_plan *plan,
                       const struct gw_ring_hold *hold)
{
    uint32_t before = 0;
    for (size_t t = 0; t < plan->step_begin[plan->steps]; t++) {
        if (hold->chunk != GW_NONE && plan->transfers[t].chunk != hold->chunk)
            continue;
        if (before++ == hold->transfer)
            return t;
    }
    return plan->step_begin[plan->steps];
}
