/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Membership (state.h): from an event about one member, and from a status about
 * all, for an observer that attaches or has missed events.
 */
#include "state_parts.h"

#include <inttypes.h>
#include <string.h>

/* Ends its part in all open ops. */
static void bury(struct state *s, struct rank *rank, uint64_t time_ns)
{
    for (unsigned i = 0; i < OPS_KEPT; i++) {
        struct op *op = &s->ops[i];
        if (!op->used || op_over(op))
            continue;
        op->members -= op->members > 0;
        op_rank_gone(op, (unsigned)(rank - s->ranks));
        if (op_over(op))
            state_finish(s, op, time_ns);
    }
    rank->in_op = false;
    rank->waits_on = GW_NONE;
}

/* The membership of a rank after an event. A parked rank that the others
 * declare dead remains parked; one that is no longer parked has yet to join. */
static enum gw_membership becomes(const struct state *s,
                                  const struct rank *rank,
                                  const struct gw_event *e)
{
    enum gw_membership to = (enum gw_membership)e->value;
    if (to == GW_MEMBER_DEAD && rank->member == GW_MEMBER_PARKED)
        return GW_MEMBER_PARKED;
    if (to == GW_MEMBER_ALIVE && rank->out && e->epoch < s->epoch)
        return GW_MEMBER_JOINING;
    return to;
}

/* Inserts it into the ring at this rank; the others keep their order. */
static void insert(struct state *s, unsigned node, uint32_t rank)
{
    unsigned ring[RANKS_MAX];
    unsigned count = state_ring(s, ring), kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (kept == rank)
            s->ring[kept++] = node;
        if (ring[i] != node)
            s->ring[kept++] = ring[i];
    }
    if (kept <= rank)
        s->ring[kept++] = node;
    s->ring_count = kept;
}

void state_member(struct state *s, const struct gw_event *e)
{
    if (e->rank >= RANKS_MAX || e->value < 0 || e->value > GW_MEMBER_DEAD)
        return;
    struct rank *rank = &s->ranks[e->rank];
    /* Parked in an older view: if the first rank of the new view is cut off as
     * well, the death of this one is never reported. */
    bool parked = e->value == GW_MEMBER_PARKED;
    bool goes = e->value == GW_MEMBER_LEFT || e->value == GW_MEMBER_DEAD ||
                (parked && e->epoch < s->epoch);
    bool was_in = rank->known && !rank->out;
    rank->joined |= e->value == GW_MEMBER_JOINING && !rank->known;
    rank->known = true;
    rank->member = becomes(s, rank, e);
    rank->out = goes || (rank->out && parked);
    rank->suspected &= goes;
    rank->lost &= goes;
    if (e->rank >= s->rank_count)
        s->rank_count = e->rank + 1;
    if (rank->member == GW_MEMBER_ALIVE && !rank->out && e->step < RANKS_MAX)
        insert(s, e->rank, e->step);
    if (goes && was_in)
        bury(s, rank, e->time_ns);
    if (goes && (was_in || !s->resyncing)) /* else long ago */
        rank->gone_ns = s->now_ns;
}

void state_members_status(struct state *s, const json_t *status)
{
    size_t i;
    const json_t *node;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        const char *role = json_string_value(json_object_get(node, "role"));
        const char *is = json_string_value(json_object_get(node, "state"));
        json_int_t number = json_integer_value(json_object_get(node, "node"));
        if (role && is && strcmp(role, "worker") == 0 && number >= 0 &&
            number < RANKS_MAX)
            s->ranks[number].paused = strcmp(is, "paused") == 0;
    }
    s->recoveries = json_array_size(json_object_get(status, "recoveries"));
}

/* After a gap, the state of open ops is unknown. */
static void forget_ops(struct state *s)
{
    for (unsigned i = 0; i < OPS_KEPT; i++)
        s->ops[i].used = false;
    s->inflights.count = 0;
    for (unsigned r = 0; r < s->rank_count; r++) {
        struct rank *rank = &s->ranks[r];
        rank->in_op = rank->has_reported = rank->suspected = false;
        rank->op = rank->step = rank->waits_on = GW_NONE;
    }
}

static void report_resync(struct state *s, uint64_t skipped_ns)
{
    char gap[16];
    unsigned members = state_members(s);
    const char *plural = members == 1 ? "" : "s";
    format_ns(skipped_ns - s->skipped_ns, gap);
    if (skipped_ns > s->skipped_ns)
        event_log_write(&s->log, s->now_ns, WEIGHT_WARN,
                        "too many events: %s skipped; epoch %" PRIu32
                        ": %u member%s",
                        gap, s->epoch, members, plural);
    else if (!s->pipe.here) /* its stages are in the event log already */
        event_log_write(&s->log, s->now_ns, WEIGHT_INFO,
                        "attached in epoch %" PRIu32 ": %u member%s", s->epoch,
                        members, plural);
}

void state_resync(struct state *s, const struct gw_event *known, size_t count,
                  uint64_t skipped_ns)
{
    uint64_t events = s->events;
    forget_ops(s);
    s->resyncing = true;
    for (size_t i = 0; i < count; i++)
        state_event(s, &known[i]);
    s->resyncing = false;
    s->events = events;
    for (unsigned r = 0; r < s->rank_count; r++)
        s->ranks[r].has_reported = false;
    report_resync(s, skipped_ns);
    s->skipped_ns = skipped_ns;
}
