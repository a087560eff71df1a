/* SPDX-License-Identifier: MIT
 *
 * Reports of the member machine, in the control thread. They are recorded for
 * the main thread, which is stopped where that is needed; where main does not
 * move, they are acted upon here. ring_parts.h has the rules of access.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- views ---- */

/* The first view that contains this member begins the op table. */
static void open_op_table(struct gw_ring *ring, const struct gw__view *view)
{
    int rank = gw__view_rank(view, ring->session.node);
    if (ring->member || rank < 0)
        return;
    gw__op_table_init(&ring->ops, ring->session.node, view->ring[rank].from_op);
    ring->ops.chosen = &ring->chosen;
    ring->member = true;
    gw__failpoint(GW__AT_COPY_ADMITTED);
}

static void on_view(struct gw_ring *ring)
{
    const void *state = gw__session_member(&ring->session);
    open_op_table(ring, gw__member_view(state));
    gw__view_copy(&ring->next_view, gw__member_view(state));
    ring->view_waits = true;
    ring->admitting = ring->admit_due = false;
    if (ring->ops.view.ring_count > 0)
        return;
    ring->view_waits = false;
    (void)gw__op_table_adopt(&ring->ops, &ring->next_view);
}

static void on_update(struct gw_ring *ring)
{
    const struct gw__membership_update *update = &ring->session.update;
    gw__events_view(ring, update);
    if (!gw__state_validity_lasts(&ring->known, &update->view))
        ring->fetch.over = true;
    gw__view_copy(&ring->known, &update->view);
    gw__confirm_update(ring);
}

/* ---- flushes ---- */

static void on_freeze(struct gw_ring *ring, uint64_t flush_epoch)
{
    gw__failpoint(GW__AT_RING_FREEZE);
    open_op_table(ring, &ring->session.update.view);
    ring->flushing = true;
    ring->reported = false;
    ring->flush_epoch = flush_epoch;
    ring->admitting = ring->admit_due = false;
    gw__status_noticed(ring);
}

static void on_decided(struct gw_ring *ring)
{
    const void *state = gw__session_member(&ring->session);
    const struct gw__membership_update *update = &ring->session.update;
    const struct gw__report *reports[GW__NODES_MAX];
    assert(!ring->moving);
    gw__failpoint(GW__AT_RING_DECISION);
    open_op_table(ring, gw__member_view(state));
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        reports[node] = gw__member_report(state, node);
    gw__op_table_resume(&ring->ops, gw__member_view(state), update->decisions,
                        update->decision_count, reports);
    for (unsigned i = 0; i < update->decision_count; i++)
        gw__events_decision(ring, &update->decisions[i]);
    ring->flushing = ring->view_waits = false;
    gw__failpoint(GW__AT_RING_DECIDED);
    struct gw__recovery_task task;
    bool any = gw__op_table_recovery_task(&ring->ops, &task);
    gw__ring_report_progress(ring, any ? GW__RECOVERING : GW__COMPUTE, -1);
    gw__status_reached(ring, &ring->status.last.decided_ns);
    gw__status_resumed(ring);
    if (any && task.op < ring->moves_below && ring->ops.view.ring_count > 1)
        (void)gw__ring_prepare(ring, NULL); /* main will see an error again */
}

/* ---- addresses ---- */

static void on_addresses(struct gw_ring *ring, uint64_t ring_epoch)
{
    const void *state = gw__session_member(&ring->session);
    const struct gw__view *view = &ring->ops.view;
    if (ring_epoch != view->ring_epoch)
        return;
    for (unsigned i = 0; i < view->ring_count; i++) {
        struct gw__address *address = &ring->table[i];
        const void *blob = gw__member_address(
            state, ring_epoch, view->ring[i].node, &address->bytes);
        if (!blob || address->bytes > sizeof address->blob)
            return;
        memcpy(address->blob, blob, address->bytes);
    }
    ring->connected_epoch = ring_epoch;
    gw__status_step(ring);
}

/* ---- trouble ---- */

static void on_suspect(struct gw_ring *ring,
                       const struct gw__notification *notification)
{
    char text[96];
    if (gw__nodes_has(&ring->leaving, notification->node))
        return; /* the view without it is on its way */
    if (notification->certain)
        snprintf(text, sizeof text, "the process of node %u has ended",
                 notification->node);
    else
        snprintf(text, sizeof text, "node %u has been silent for %llu ms",
                 notification->node,
                 (unsigned long long)(notification->silence_ns / 1000000));
    gw__status_noticed(ring);
    gw__status_append(ring, text);
    gw__events_loss(ring, notification->node,
                    notification->certain ? GW_BY_EXIT : GW_BY_SILENCE);
}

static void on_stuck(struct gw_ring *ring,
                     const struct gw__notification *notification)
{
    char text[160];
    gw__stall_diagnosis_text(&notification->stall, text);
    gw__status_append(ring, text);
    gw__events_loss(ring, notification->stall.node, GW_BY_STALL);
}

static void on_trust(struct gw_ring *ring)
{
    bool broken = ring->broken_epoch == ring->ops.view.ring_epoch;
    if (!ring->flushing && !broken)
        ring->noticed_ns = 0;
}

static const uint64_t refused_ns = 100000000; /* before the next attempt */

static void on_refused(struct gw_ring *ring, const char *text)
{
    ring->admitting = false;
    ring->admit_began_ns = 0;
    ring->admit_from_ns = gw_now_ns() + refused_ns;
    gw__status_append(ring, text);
}

/* ---- all reports ---- */

static void apply_notice(struct gw_ring *ring,
                         const struct gw__notification *notification)
{
    switch (notification->kind) {
    case GW__NOTIFY_UPDATE:
        on_update(ring);
        break;
    case GW__NOTIFY_VIEW:
        on_view(ring);
        break;
    case GW__NOTIFY_FREEZE:
        on_freeze(ring, notification->epoch);
        break;
    case GW__NOTIFY_DECIDED:
        on_decided(ring);
        break;
    case GW__NOTIFY_ADDRESSES:
        on_addresses(ring, notification->epoch);
        break;
    case GW__NOTIFY_READY:
        ring->ready = notification->count;
        break;
    case GW__NOTIFY_REFUSED:
        on_refused(ring, notification->text);
        break;
    case GW__NOTIFY_REGISTERED:
    case GW__NOTIFY_ANSWER:
    case GW__NOTIFY_LEASE:
    case GW__NOTIFY_ANSWERED:
        break; /* the ring has no commands and serves no clients */
    case GW__NOTIFY_SUSPECT:
        on_suspect(ring, notification);
        break;
    case GW__NOTIFY_TRUST:
        on_trust(ring);
        break;
    case GW__NOTIFY_STUCK:
        on_stuck(ring, notification);
        break;
    case GW__NOTIFY_PARKED:
    case GW__NOTIFY_UNPARKED:
        gw__status_append(ring, notification->text);
        gw__events_parked(ring);
        break;
    case GW__NOTIFY_GONE:
        gw__status_append(ring, notification->text);
        break;
    }
}

void gw__ring_on_notification(void *context,
                              const struct gw__notification *notification)
{
    struct gw_ring *ring = context;
    apply_notice(ring, notification);
    gw__ring_raise_stop(ring);
    gw__ring_report(ring);
    ring->status_changed = true;
}
