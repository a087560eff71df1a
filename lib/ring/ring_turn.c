/* SPDX-License-Identifier: MIT
 *
 * Periodic work of the control thread: it checks the main thread's progress,
 * sends this member's progress to the detector, requests the admission of
 * joiners, and serves those that copy the state.
 *
 * Admission is requested here and not by the main thread. A request in a turn
 * reaches the machine before any other input. So `admit` applies to the view
 * that main saw when it decided to wait.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

static const uint64_t report_ns = 10000000, turn_ns = 20000000;

/* Main checks itself: while data move, it alone may use them. */
static void request_progress_report(struct gw_ring *ring, uint64_t now_ns)
{
    if (!ring->moving || ring->report_requested ||
        now_ns - ring->checked_ns < GW__RING_REPORT_NS)
        return;
    ring->report_requested = true;
    atomic_store(&ring->stop, true);
}

static bool has_progressed(const struct gw_ring *ring)
{
    const struct gw__progress_report *a = &ring->report,
                                     *b = &ring->sent_report;
    return a->op != b->op || a->moved != b->moved || a->phase != b->phase ||
           a->waits_for != b->waits_for;
}

static void report_progress(struct gw_ring *ring, uint64_t now_ns)
{
    const struct gw__member_request request = {.kind = GW__REQUEST_PROGRESS,
                                               .progress = ring->report};
    if (!ring->member || !has_progressed(ring) ||
        now_ns - ring->sent_report_ns < report_ns)
        return;
    ring->sent_report = ring->report;
    ring->sent_report_ns = now_ns;
    gw__ring_request(ring, &request);
}

static void send_admission(struct gw_ring *ring)
{
    const struct gw__member_request request = {
        .kind = GW__REQUEST_ADMIT,
        .admit = {.from_op = ring->ops.next_op,
                  .ring_epoch = ring->admit_epoch,
                  .order = ring->order}};
    if (!ring->admit_due)
        return;
    ring->admit_due = false;
    gw__failpoint(GW__AT_ADMIT_DUE);
    gw__ring_request(ring, &request);
}

/* Calls on_status if there is a change; without the lock. */
static void call_on_status(struct gw_ring *ring)
{
    gw__session_lock(&ring->session);
    bool changed = ring->status_changed;
    ring->status_changed = false;
    gw__session_unlock(&ring->session);
    if (changed && ring->config.on_status)
        ring->config.on_status(ring->config.context);
}

uint64_t gw__ring_on_turn(void *context)
{
    struct gw_ring *ring = context;
    uint64_t now_ns = gw_now_ns();
    gw__session_lock(&ring->session);
    bool quiet = ring->member && !ring->fetch.active;
    unsigned members = quiet ? ring->ops.view.ring_count : 0;
    request_progress_report(ring, now_ns);
    gw__ring_raise_stop(ring);
    send_admission(ring);
    report_progress(ring, now_ns);
    if (atomic_load(&ring->interrupted))
        gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
    gw__fetch_turn(ring, now_ns);
    gw__state_serve_turn(ring, now_ns);
    call_on_status(ring);
    return gw__interval_ns(turn_ns, members);
}

void gw__ring_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes)
{
    struct gw_ring *ring = context;
    struct gw__state_transfer transfer;
    struct gw_error why;
    (void)incarnation;
    if (from >= GW__NODES_MAX ||
        gw__state_transfer_decode(data, bytes, &transfer, &why))
        return;
    switch (transfer.kind) {
    case GW__TRANSFER_REQUEST:
        gw__state_serve_block(ring, from, &transfer.request);
        break;
    case GW__TRANSFER_BLOCK:
        gw__fetch_block(ring, from, &transfer.block);
        break;
    case GW__TRANSFER_PAST:
        gw__leave_requested(ring, from);
        break;
    case GW__TRANSFER_PASSED:
        gw__leave_answered(ring, from, transfer.ops);
        break;
    case GW__TRANSFER_CONFIRM:
        gw__confirm_requested(ring, from);
        break;
    case GW__TRANSFER_HAVE:
        gw__confirm_answered(ring, from, &transfer.state);
        break;
    case GW__TRANSFER_NOTHING:
        gw__confirm_nothing(ring, from, transfer.ops);
        break;
    case GW__TRANSFER_KINDS:
        break;
    }
}
