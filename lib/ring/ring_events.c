/* SPDX-License-Identifier: MIT
 *
 * The ring's events for the event stream, in addition to those of lib/coll. A
 * member reports the losses that it notices, the fate of its own chunks, and
 * that it is parked. Facts about the whole ring (members, epochs, decisions)
 * are known to all members, so only the first member of the view reports them,
 * and a stream merged from all members has them once.
 */
#include "ring/supervised/supervised.h"
#include "ring_parts.h"

#include <math.h>
#include <string.h>

/* ---- a sink for two threads ---- */

static enum gw__confirmed confirmed_by(const struct gw__shared_sink *shared,
                                       uint32_t op)
{
    const struct gw__confirmation *c =
        &shared->confirmations[op % GW__OP_TABLE_OPS];
    return c->op == op ? c->confirms : GW__CONFIRMS_NOTHING;
}

/* Is it an event of an op that confirms, which is not shown? */
static bool is_hidden(const struct gw__shared_sink *shared,
                      const struct gw_event *event)
{
    enum gw__confirmed confirms = confirmed_by(shared, event->op);
    switch (event->kind) {
    case GW_EV_OP_BEGIN:
    case GW_EV_SEND:
    case GW_EV_APPLY:
    case GW_EV_WAIT:
    case GW_EV_RECOVERY:
        return confirms != GW__CONFIRMS_NOTHING;
    case GW_EV_OP_END:
        return confirms == GW__CONFIRMS_DONE;
    default:
        return false;
    }
}

static void emit_shared(struct gw_sink *sink, const struct gw_event *event)
{
    struct gw__shared_sink *shared = (struct gw__shared_sink *)sink;
    pthread_mutex_lock(&shared->lock);
    if (!is_hidden(shared, event))
        gw_emit(shared->wrapped, event);
    pthread_mutex_unlock(&shared->lock);
}

static void close_shared(struct gw_sink *sink)
{
    (void)sink; /* embedded; the inner sink is its owner's */
}

void gw__events_init(struct gw__shared_sink *events, struct gw_sink *wrapped)
{
    events->sink = (struct gw_sink){.emit = emit_shared, .close = close_shared};
    events->wrapped = wrapped;
    pthread_mutex_init(&events->lock, NULL);
}

void gw__events_fini(struct gw__shared_sink *events)
{
    pthread_mutex_destroy(&events->lock);
}

struct gw_sink *gw__events_sink(struct gw_ring *ring)
{
    return ring->events.wrapped ? &ring->events.sink : NULL;
}

void gw__events_confirm(struct gw_ring *ring, uint64_t op,
                        enum gw__confirmed confirms)
{
    pthread_mutex_lock(&ring->events.lock);
    ring->events.confirmations[op % GW__OP_TABLE_OPS] =
        (struct gw__confirmation){(uint32_t)op, confirms};
    pthread_mutex_unlock(&ring->events.lock);
}

bool gw__events_confirms(const struct gw_ring *ring, uint64_t op)
{
    return confirmed_by(&ring->events, (uint32_t)op) != GW__CONFIRMS_NOTHING;
}

/* ---- events ---- */

static struct gw_event event_of(const struct gw_ring *ring,
                                enum gw_event_kind kind, int64_t value)
{
    return (struct gw_event){.time_ns = gw_now_ns(),
                             .value = value,
                             .kind = (uint32_t)kind,
                             .rank = ring->session.node,
                             .peer = GW_NONE,
                             .epoch = (uint32_t)ring->known.epoch,
                             .op = GW_NONE,
                             .step = GW_NONE,
                             .chunk = GW_NONE};
}

static void emit(struct gw_ring *ring, const struct gw_event *event)
{
    gw_emit(gw__events_sink(ring), event);
}

void gw__events_loss(struct gw_ring *ring, unsigned peer,
                     enum gw_evidence evidence)
{
    struct gw_event event = event_of(ring, GW_EV_FAILURE, evidence);
    event.peer = peer;
    emit(ring, &event);
}

void gw__events_parked(struct gw_ring *ring)
{
    struct gw_event event =
        event_of(ring, GW_EV_MEMBER,
                 ring->session.parked ? GW_MEMBER_PARKED : GW_MEMBER_ALIVE);
    emit(ring, &event);
}

static void member(struct gw_ring *ring, const struct gw__view *view,
                   unsigned node, enum gw_membership state)
{
    struct gw_event event = event_of(ring, GW_EV_MEMBER, state);
    int rank = gw__view_rank(view, node);
    event.rank = node;
    event.epoch = (uint32_t)view->epoch;
    if (state == GW_MEMBER_ALIVE && rank >= 0)
        event.step = (uint32_t)rank;
    emit(ring, &event);
}

static bool is_in_view(const struct gw__view *view,
                       const struct gw__ring_member *m)
{
    int rank = gw__view_rank(view, m->node);
    return rank >= 0 &&
           gw__id_equal(view->ring[rank].incarnation, m->incarnation);
}

/* Members that changed between the view known so far and this one. */
static void members(struct gw_ring *ring, const struct gw__view *view)
{
    const struct gw__view *known = &ring->known;
    bool moved = gw__view_is_moved(known, view);
    for (unsigned i = 0; i < known->ring_count; i++) {
        unsigned node = known->ring[i].node;
        if (!is_in_view(view, &known->ring[i]))
            member(ring, view, node,
                   ring->leaving >> node & 1 ? GW_MEMBER_LEFT : GW_MEMBER_DEAD);
    }
    for (unsigned i = 0; i < view->ring_count; i++)
        if (moved || !is_in_view(known, &view->ring[i]))
            member(ring, view, view->ring[i].node, GW_MEMBER_ALIVE);
    struct gw_event event =
        event_of(ring, GW_EV_EPOCH, (int64_t)view->ring_count);
    event.rank = GW_NONE;
    event.epoch = (uint32_t)view->epoch;
    event.chunk =
        gw__chosen_event_chunk(gw__ring_reported_plans(ring), view->ring_count);
    emit(ring, &event);
}

static bool is_first(const struct gw_ring *ring, const struct gw__view *view)
{
    return view->ring_count > 0 && view->ring[0].node == ring->session.node;
}

void gw__events_view(struct gw_ring *ring,
                     const struct gw__membership_update *update)
{
    const struct gw__view *view = &update->view;
    bool first = is_first(ring, view);
    uint64_t joiners = 0;
    for (unsigned i = 0; i < update->joiner_count; i++) {
        unsigned node = update->joiners[i].node;
        joiners |= (uint64_t)1 << node;
        if (first && !(ring->reported_joiners >> node & 1))
            member(ring, view, node, GW_MEMBER_JOINING);
    }
    ring->reported_joiners = joiners;
    if (first && view->epoch > ring->known.epoch)
        members(ring, view);
    if (view->epoch > ring->known.epoch)
        ring->leaving &= gw__view_nodes(view);
}

void gw__events_decision(struct gw_ring *ring,
                         const struct gw__decision *decision)
{
    struct gw_event event =
        event_of(ring, GW_EV_DECISION, decision->fate == GW__EXCLUDE);
    event.rank = GW_NONE;
    event.op = (uint32_t)decision->op;
    if (decision->fate == GW__FORWARD)
        ring->status.ops_forward++;
    else
        ring->status.ops_exclude++;
    if (is_first(ring, &ring->known))
        emit(ring, &event);
}

/* No event for a chunk that was only the input: there is nothing to keep. */
void gw__events_recovery(struct gw_ring *ring,
                         const struct gw__recovery_task *task,
                         const struct gw__contributor_sets *before,
                         const uint64_t *start)
{
    uint64_t own = (uint64_t)1 << ring->session.node;
    for (unsigned c = 0; c < before->chunks; c++) {
        bool redone = before->sets[c] != own && start[c] == own;
        struct gw_event event = event_of(ring, GW_EV_RECOVERY, redone);
        event.op = (uint32_t)task->op;
        event.chunk = c;
        if (before->sets[c] != own)
            emit(ring, &event);
    }
}

void gw_ring_report(struct gw_ring *ring,
                    const struct gw_ring_progress *progress)
{
    gw__session_lock(&ring->session);
    struct gw_event step = event_of(ring, GW_EV_STEP, (int64_t)progress->step);
    step.step = (uint32_t)progress->step;
    if (ring->ops.next_op > 0)
        step.op = (uint32_t)ring->ops.next_op - 1;
    gw__session_unlock(&ring->session);
    emit(ring, &step);
    if (isfinite(progress->loss)) {
        step.kind = GW_EV_LOSS;
        step.value = llround(progress->loss * 1e9);
        emit(ring, &step);
    }
    gw__supervised_report(ring, progress);
}
