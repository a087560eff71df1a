/* SPDX-License-Identifier: MIT
 *
 * Beginning an op: first the remaining tasks, then views, then joiners, then
 * the op itself. From that moment on reports include it.
 *
 * Admission. The first member in the ring's order admits joiners, between two
 * ops. It names the op that it is about to begin and does not begin it before
 * it has an answer. So no member can complete that op without the joiners, or
 * in the former order. It may admit only
 *
 *   when an op was begun without a decision and completed in the view in
 *   force: see gw__op_table_may_admit;
 *
 *   while there is room (ring_bounds.c);
 *
 *   after an op that was applied. A joiner starts from the state, which must
 *   determine the members' position in the program, and a collective leaves
 *   no trace in it.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <string.h>

/* Is this the member that admits? */
static bool is_first(const struct gw_ring *ring)
{
    const struct gw__view *view = &ring->ops.view;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op <= ring->ops.next_op)
            return view->ring[i].node == ring->session.node;
    return false;
}

/* Joiners for whom there is room, or another order. */
static bool has_to_admit(const struct gw_ring *ring)
{
    return (ring->ready && gw__bounds_room(ring)) ||
           !gw__view_in_order(&ring->ops.view, &ring->order);
}

static bool wants_to_admit(const struct gw_ring *ring)
{
    return has_to_admit(ring) && !ring->session.parked && !ring->unapplied &&
           !ring->view_waits && gw__op_table_may_admit(&ring->ops) &&
           is_first(ring) && gw_now_ns() >= ring->admit_from_ns;
}

/* The control thread sends the request in its next turn; ring_turn.c has the
 * reason. */
static void request_admission(struct gw_ring *ring)
{
    const struct gw__member_request request = {.kind = GW__REQUEST_PROGRESS,
                                               .progress = ring->report};
    ring->admitting = ring->admit_due = true;
    ring->admit_epoch = ring->ops.view.ring_epoch;
    ring->admit_began_ns = gw_now_ns();
    gw__ring_request(ring, &request); /* wakes it */
}

/* Begins the op if nothing is left to do before it. True: it has begun. */
static bool begin_op(struct gw_ring *ring)
{
    struct gw__recovery_task task;
    if (gw__ring_has_begun(ring))
        return true;
    if (gw__op_table_recovery_task(&ring->ops, &task))
        return false;
    bool admits = !ring->admitting && wants_to_admit(ring);
    if (admits)
        request_admission(ring);
    else if (ring->admitting || gw__bounds_wait(ring))
        gw__session_nap(&ring->session);
    else {
        gw__op_table_begin(&ring->ops);
        gw__failpoint(GW__AT_RING_BEGUN);
    }
    return gw__ring_has_begun(ring);
}

enum gw_err gw__ring_begin(struct gw_ring *ring, struct gw_error *why)
{
    bool begun = false;
    enum gw_err err = GW_OK;
    while (!err && !begun) {
        err = gw__ring_move(ring, NULL, why);
        if (err)
            break;
        gw__session_lock(&ring->session);
        err = gw__ring_quiet(ring, why);
        if (!err)
            err = gw__bounds_check(ring, why);
        if (!err)
            begun = begin_op(ring);
        gw__session_unlock(&ring->session);
    }
    return gw__ring_fail(ring, err);
}

enum gw_err gw_ring_begin(struct gw_ring *ring, struct gw_ring_turn *turn,
                          struct gw_error *why)
{
    enum gw_err err = gw__ring_begin(ring, why);
    if (err)
        return err;
    *turn = (struct gw_ring_turn){.op = ring->ops.next_op};
    gw__session_lock(&ring->session);
    turn->epoch = ring->ops.view.epoch;
    turn->initial_count = gw__op_table_initial_members(&ring->ops, turn->op,
                                                       turn->initial_members);
    gw__ring_report_progress(ring, GW__COMPUTE, -1);
    gw__session_unlock(&ring->session);
    while (turn->place < turn->initial_count &&
           turn->initial_members[turn->place] != ring->session.node)
        turn->place++;
    return GW_OK;
}
