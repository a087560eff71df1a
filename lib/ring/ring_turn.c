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

static const uint64_t stand_ns = 10000000;

/* Main checks itself: while data move, it alone may use them. */
static void poke(struct gw_ring *ring, uint64_t now_ns)
{
    if (!ring->moving || ring->poked ||
        now_ns - ring->looked_ns < GW__RING_STAND_NS)
        return;
    ring->poked = true;
    atomic_store(&ring->stop, true);
}

static bool stands_elsewhere(const struct gw_ring *ring)
{
    const struct gw__standing *a = &ring->standing, *b = &ring->stood;
    return a->op != b->op || a->moved != b->moved || a->phase != b->phase ||
           a->waits_for != b->waits_for;
}

static void stand(struct gw_ring *ring, uint64_t now_ns)
{
    const struct gw__member_request ask = {.kind = GW__ASK_STANDING,
                                           .standing = ring->standing};
    if (!ring->member || !stands_elsewhere(ring) ||
        now_ns - ring->stood_ns < stand_ns)
        return;
    ring->stood = ring->standing;
    ring->stood_ns = now_ns;
    gw__ring_ask(ring, &ask);
}

static void send_admission(struct gw_ring *ring)
{
    const struct gw__member_request ask = {
        .kind = GW__ASK_ADMIT,
        .admit = {.from_op = ring->book.next_op,
                  .ring_epoch = ring->admit_epoch,
                  .order = ring->order}};
    if (!ring->admit_due)
        return;
    ring->admit_due = false;
    gw__failpoint(GW__AT_ADMIT_DUE);
    gw__ring_ask(ring, &ask);
}

/* Calls on_status if there is a change; without the lock. */
static void announce(struct gw_ring *ring)
{
    gw__session_lock(&ring->session);
    bool changed = ring->status_changed;
    ring->status_changed = false;
    gw__session_unlock(&ring->session);
    if (changed && ring->config.on_status)
        ring->config.on_status(ring->config.context);
}

void gw__ring_on_turn(void *context)
{
    struct gw_ring *ring = context;
    uint64_t now_ns = gw_now_ns();
    gw__session_lock(&ring->session);
    poke(ring, now_ns);
    gw__ring_raise_stop(ring);
    send_admission(ring);
    stand(ring, now_ns);
    if (atomic_load(&ring->interrupted))
        gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
    gw__pull_turn(ring, now_ns);
    gw__donate_turn(ring, now_ns);
    announce(ring);
}

void gw__ring_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes)
{
    struct gw_ring *ring = context;
    struct gw__foreign foreign;
    struct gw_error why;
    (void)incarnation;
    if (from >= GW__NODES_MAX ||
        gw__foreign_decode(data, bytes, &foreign, &why))
        return;
    switch (foreign.kind) {
    case GW__FOREIGN_ASK:
        gw__donate_piece(ring, from, &foreign.ask);
        break;
    case GW__FOREIGN_PIECE:
        gw__pull_piece(ring, from, &foreign.piece);
        break;
    case GW__FOREIGN_PAST:
        gw__leave_asked(ring, from);
        break;
    case GW__FOREIGN_PASSED:
        gw__leave_answered(ring, from, foreign.ops);
        break;
    case GW__FOREIGN_SURE:
        gw__sure_asked(ring, from);
        break;
    case GW__FOREIGN_HAVE:
        gw__sure_answered(ring, from, &foreign.state);
        break;
    case GW__FOREIGN_NOTHING:
        gw__sure_nothing(ring, from, foreign.ops);
        break;
    case GW__FOREIGN_KINDS:
        break;
    }
}
