/* SPDX-License-Identifier: MIT
 *
 * Where the main thread waits for the control thread, and how the two pass the
 * op table to each other; see ring_parts.h.
 *
 *     moving --stop--> settled --FREEZE--> frozen, reported --DECIDED--> quiet
 *                         ^                                                |
 *                         +----------------- main moves again -------------+
 */
#include "ring_parts.h"

#include "base/failpoint.h"

void gw__ring_request(struct gw_ring *ring,
                      const struct gw__member_request *request)
{
    enum gw_err err = gw__session_request(&ring->session, request);
    if (!err)
        return;
    if (!ring->failed.code)
        gw_fail(&ring->failed, err, "the member machine: %s", gw_err_text(err));
    gw__ring_raise_stop(ring);
}

static bool may_adopt(const struct gw_ring *ring)
{
    return ring->view_waits && !ring->flushing &&
           gw__op_table_may_adopt(&ring->ops, &ring->next_view);
}

static bool should_stop(const struct gw_ring *ring)
{
    return ring->session.gone || ring->failed.code || ring->flushing ||
           gw__bounds_abandoned(ring) || may_adopt(ring);
}

void gw__ring_raise_stop(struct gw_ring *ring)
{
    if (should_stop(ring))
        atomic_store(&ring->stop, true);
}

/* The interrupting thread sets `interrupted` first, so it is checked again. */
void gw__ring_lower_stop(struct gw_ring *ring)
{
    atomic_store(&ring->stop, should_stop(ring));
    if (atomic_load(&ring->interrupted))
        atomic_store(&ring->stop, true);
}

enum gw_err gw__ring_alive(const struct gw_ring *ring, struct gw_error *why)
{
    if (ring->session.gone)
        return gw_fail(why, GW_ECLOSED, "node %u is not a member: %s",
                       ring->session.node, ring->session.gone_text);
    if (ring->failed.code)
        return gw_fail(why, ring->failed.code, "%s", ring->failed.text);
    if (gw__bounds_abandoned(ring))
        return gw_fail(
            why, GW_EUNREACH,
            "a majority of the controllers has been unreachable for %.3g s: %s",
            ring->config.patience_ms / 1000.0, ring->status.text);
    if (atomic_load(&ring->interrupted))
        return gw_fail(why, GW_EINTR, "interrupted");
    return GW_OK;
}

bool gw__ring_has_begun(const struct gw_ring *ring)
{
    const struct gw__op_entry *entry =
        &ring->ops.entries[ring->ops.next_op % GW__OP_TABLE_OPS];
    return entry->used && entry->op == ring->ops.next_op && entry->begun;
}

static void adopt(struct gw_ring *ring)
{
    gw__failpoint(GW__AT_RING_ADOPT);
    ring->view_waits = false;
    if (!gw__op_table_adopt(&ring->ops, &ring->next_view)) {
        gw__op_table_begin(&ring->ops);
        ring->restarted = true;
    }
    if (!ring->admit_began_ns)
        ring->admit_began_ns = gw_now_ns();
}

/* The supposed death was none: the error of the connection stays. */
static void check_broken(struct gw_ring *ring)
{
    if (ring->broken_until_ns && gw_now_ns() > ring->broken_until_ns &&
        !ring->flushing && !ring->session.parked)
        ring->failed = ring->broken;
}

enum gw_err gw__ring_quiet(struct gw_ring *ring, struct gw_error *why)
{
    for (;;) {
        enum gw_err err = gw__ring_alive(ring, why);
        if (err)
            return err;
        if (may_adopt(ring))
            adopt(ring);
        bool broken = ring->ops.view.ring_epoch == ring->broken_epoch;
        if (!ring->flushing && !broken)
            return GW_OK;
        if (broken)
            check_broken(ring);
        gw__session_nap(&ring->session);
    }
}

void gw__ring_report(struct gw_ring *ring)
{
    struct gw__member_request request = {.kind = GW__REQUEST_REPORT,
                                         .flush = {.epoch = ring->flush_epoch}};
    if (!ring->flushing || ring->reported || ring->moving)
        return;
    ring->reported = true;
    gw__op_table_freeze(&ring->ops);
    gw__op_table_report(&ring->ops, &request.flush.report);
    gw__ring_report_progress(ring, GW__FLUSHING, -1);
    gw__status_reached(ring, &ring->status.last.frozen_ns);
    gw__failpoint(GW__AT_RING_REPORT);
    gw__ring_request(ring, &request);
}

void gw__ring_end_move(struct gw_ring *ring)
{
    ring->moving = false;
    gw__ring_report(ring);
}

void gw__ring_report_progress(struct gw_ring *ring, enum gw__phase phase,
                              int waits_for)
{
    struct gw__progress_report *s = &ring->report;
    s->op = ring->ops.next_op;
    s->moved = ring->contributors.moved;
    s->phase = phase;
    s->waits_for = waits_for < 0 ? GW__WAITS_FOR_NONE : (unsigned)waits_for;
}
