/* SPDX-License-Identifier: MIT
 *
 * Leaving permanently. The leaver's contributions must count, so it waits until
 * all members have completed every op that it has completed: its final copies
 * may be the last ones. Until then it takes part in every recovery.
 *
 *     ask all: past op n? --all are--> LEAVE --> gone
 *       ^              | one is not, or died
 *       +--------------+
 */
#include "ring/supervised/supervised.h"
#include "ring_parts.h"

#include "base/failpoint.h"

static const uint64_t again_ns = 20000000, leave_again_ns = 200000000;

void gw__leave_requested(struct gw_ring *ring, unsigned from)
{
    struct gw__state_transfer answer = {.kind = GW__TRANSFER_PASSED};
    uint8_t out[GW__TRANSFER_HEAD_MAX + GW__STATE_BLOCK_BYTES];
    gw__session_lock(&ring->session);
    answer.ops = ring->member ? ring->ops.next_op : 0;
    gw__nodes_add(&ring->leaving, from);
    gw__session_unlock(&ring->session);
    gw__driver_send(ring->session.driver, from, out,
                    gw__state_transfer_encode(&answer, out));
}

void gw__leave_answered(struct gw_ring *ring, unsigned from, uint64_t ops)
{
    gw__session_lock(&ring->session);
    ring->passed[from] = ops;
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
}

static bool all_past(const struct gw_ring *ring)
{
    const struct gw__view *view = &ring->ops.view;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node != ring->session.node &&
            ring->passed[view->ring[i].node] < ring->ops.next_op)
            return false;
    return true;
}

static void request_all(struct gw_ring *ring, const struct gw__view *view)
{
    const struct gw__state_transfer message = {.kind = GW__TRANSFER_PAST};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    size_t bytes = gw__state_transfer_encode(&message, out);
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node != ring->session.node)
            gw__driver_send(ring->session.driver, view->ring[i].node, out,
                            bytes);
}

/* The state of a leaver between its checks. */
struct leaver {
    bool past, leave_sent;
    uint64_t due_ns; /* when to send again */
};

/* With the lock. */
static void send_due(struct gw_ring *ring, struct leaver *leaver,
                     const struct gw__view *view)
{
    static const struct gw__member_request leave = {.kind = GW__REQUEST_LEAVE};
    leaver->due_ns = gw_now_ns() + (leaver->past ? leave_again_ns : again_ns);
    leaver->leave_sent = leaver->leave_sent || leaver->past;
    if (leaver->past) {
        gw__failpoint(GW__AT_RING_LEAVE);
        gw__ring_request(ring, &leave);
    } else
        request_all(ring, view);
}

static enum gw_err check_leave(struct gw_ring *ring, struct leaver *leaver,
                               struct gw_error *why)
{
    gw__session_lock(&ring->session);
    struct gw__view view = ring->ops.view;
    bool past = all_past(ring);
    if (past != leaver->past) /* at once */
        leaver->due_ns = 0;
    leaver->past = past;
    if (view.ring_count > 1 && gw_now_ns() >= leaver->due_ns)
        send_due(ring, leaver, &view);
    else if (!ring->session.gone)
        gw__session_nap(&ring->session);
    gw__session_unlock(&ring->session);
    return view.ring_count > 1
               ? GW_OK
               : gw_fail(why, GW_EINVAL,
                         "node %u cannot leave: it is the last member",
                         ring->session.node);
}

static bool is_gone(struct gw_ring *ring)
{
    gw__session_lock(&ring->session);
    bool gone = ring->session.gone;
    gw__session_unlock(&ring->session);
    return gone;
}

enum gw_err gw_ring_leave(struct gw_ring *ring, struct gw_error *why)
{
    struct leaver leaver = {.past = false};
    enum gw_err err = GW_OK;
    while (!err) {
        err = gw__ring_move(ring, NULL, why);
        if (!err)
            err = check_leave(ring, &leaver, why);
    }
    if (err == GW_EINVAL)
        return err;
    gw__ring_disconnect(ring);
    if (!leaver.leave_sent || !is_gone(ring))
        return err;
    gw__supervised_left(ring);
    return GW_OK;
}
