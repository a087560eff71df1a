/* SPDX-License-Identifier: MIT
 *
 * The status of a ring: gw_ring_status, and the duration of a recovery.
 */
#include "ring_parts.h"

#include <stdio.h>
#include <string.h>

void gw__status_append(struct gw_ring *ring, const char *text)
{
    snprintf(ring->status.text, sizeof ring->status.text, "%s", text);
    ring->status_changed = true;
}

void gw__status_noticed(struct gw_ring *ring)
{
    if (ring->noticed_ns)
        return;
    ring->noticed_ns = gw_now_ns();
    ring->recovers = pthread_self();
    ring->hops = 0;
    memset(&ring->status.last, 0, sizeof ring->status.last);
}

void gw__status_step(struct gw_ring *ring)
{
    if (!ring->noticed_ns || pthread_equal(ring->recovers, pthread_self()))
        return;
    ring->recovers = pthread_self();
    ring->hops++;
}

void gw__status_reached(struct gw_ring *ring, uint64_t *stage)
{
    if (!ring->noticed_ns)
        return;
    gw__status_step(ring);
    *stage = gw_now_ns() - ring->noticed_ns;
    ring->status_changed = true;
}

void gw__status_resumed(struct gw_ring *ring)
{
    struct gw__recovery_task task;
    if (!ring->noticed_ns || ring->flushing ||
        ring->ops.view.ring_epoch == ring->broken_epoch ||
        gw__op_table_recovery_task(&ring->ops, &task))
        return;
    gw__status_reached(ring, &ring->status.last.resumed_ns);
    ring->status.recoveries++;
    ring->noticed_ns = 0;
}

static const char *phase_of(const struct gw_ring *ring)
{
    return ring->joining ? "join" : gw__phase_name(ring->report.phase);
}

static void describe_plan(struct gw_ring *ring, struct gw_ring_status *status)
{
    const struct gw_plan *plan =
        gw__chosen_plan(gw__ring_reported_plans(ring), ring->known.ring_count);
    snprintf(status->algo, sizeof status->algo, "%s", plan ? plan->algo : "");
}

static void describe_view(const struct gw__view *view, unsigned node,
                          struct gw_ring_status *status)
{
    status->epoch = view->epoch;
    status->ring_epoch = view->ring_epoch;
    status->size = view->ring_count;
    status->rank = gw__view_rank(view, node);
    for (unsigned i = 0; i < view->ring_count; i++)
        status->nodes[i] = view->ring[i].node;
}

void gw_ring_status(struct gw_ring *ring, struct gw_ring_status *status)
{
    gw__session_lock(&ring->session);
    *status = ring->status;
    describe_view(&ring->known, ring->session.node, status);
    describe_plan(ring, status);
    status->node = ring->session.node;
    status->member = ring->member && !ring->session.gone;
    status->parked = ring->session.parked;
    status->gone = ring->session.gone;
    status->op = ring->member ? ring->ops.next_op : ring->fetch.have_op;
    status->phase = phase_of(ring);
    status->waits_for = ring->report.waits_for == GW__WAITS_FOR_NONE
                            ? -1
                            : (int)ring->report.waits_for;
    gw__session_unlock(&ring->session);
}

void gw_ring_interrupt(struct gw_ring *ring)
{
    atomic_store(&ring->interrupted, true);
    atomic_store(&ring->stop, true);
}

void gw_ring_emulate_link(struct gw_ring *ring, unsigned from,
                          const struct gw_link_profile *profile)
{
    gw__link_profiles_set(ring->session.profiles, from, profile);
}

enum gw_err gw_ring_order(struct gw_ring *ring, const unsigned *nodes,
                          unsigned count, struct gw_error *why)
{
    struct gw__order order = {0};
    uint64_t listed = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t bit = nodes[i] < GW_RING_NODES ? UINT64_C(1) << nodes[i] : 0;
        if (!bit || listed & bit)
            return gw_fail(why, GW_EINVAL,
                           "order: node %u occurs twice or is not below %d",
                           nodes[i], GW_RING_NODES);
        listed |= bit;
        order.nodes[order.count++] = (uint8_t)nodes[i];
    }
    gw__session_lock(&ring->session);
    ring->order = order;
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
    return GW_OK;
}

void gw_ring_pace(struct gw_ring *ring, uint64_t ns)
{
    gw__link_profiles_pace(ring->session.profiles, ns);
}
