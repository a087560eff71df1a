/* SPDX-License-Identifier: MIT
 *
 * The leader's own proposals: itself as a controller, so that it may suspect;
 * members that are silent or have ended (service_observe.c); and the deadline
 * of a flush whose reports do not arrive. Each is proposed again after a while,
 * until the registry shows that it has been applied.
 */
#include "service_parts.h"

#include <string.h>

static bool has_server(const struct gw__service *s)
{
    for (unsigned node = gw__nodes_next(&s->registry.known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&s->registry.known, node + 1))
        if (s->registry.members[node].state == GW__ACTIVE &&
            s->registry.members[node].role == GW__SERVER)
            return true;
    return false;
}

/* Proposes the own registration. If there are servers, the leader registers
 * even if it is registered already: the entry follows all entries of earlier
 * leaders in the log.
 *   The own number may still belong to an earlier incarnation. That one has
 * ended, because two processes never share a log, so it leaves first. */
static void enter(struct gw__service *s)
{
    const struct gw__member *m = &s->registry.members[s->self.node];
    bool active = m->state == GW__ACTIVE;
    bool same = active && gw__id_equal(m->incarnation, s->self.incarnation);
    struct gw__command leave = {.kind = GW__CMD_LEAVE,
                                .who = {s->self.node, m->incarnation}};
    struct gw__command command = {.kind = GW__CMD_REGISTER,
                                  .who = {s->self.node, s->self.incarnation},
                                  .sequence = s->leaderships,
                                  .join = {.role = GW__CONTROLLER}};
    if (same && (s->has_applied_first || !has_server(s)))
        return;
    if (s->entered_ns && s->now_ns - s->entered_ns < GW__SERVICE_RETRY_NS)
        return;
    s->entered_ns = s->now_ns;
    memcpy(command.join.endpoint, s->self.endpoint,
           sizeof command.join.endpoint);
    if (active && !same)
        gw__service_propose(s, &leave);
    gw__service_propose(s, &command);
}

/* Is a report missing whose member has recently sent HELLO? */
static bool awaits_living(const struct gw__service *s)
{
    const struct gw__registry *r = &s->registry;
    struct gw_nodes missing =
        gw__nodes_minus(gw__view_nodes(&r->view), r->flush.reported);
    for (unsigned node = gw__nodes_next(&missing, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&missing, node + 1)) {
        const struct contact *contact = &s->contacts[node];
        if (gw__id_equal(contact->incarnation, r->members[node].incarnation) &&
            s->now_ns - contact->hello_ns < GW__FLUSH_DEADLINE_NS)
            return true;
    }
    return false;
}

/* The time counts from the beginning of this leadership, because members cannot
 * report without a leader. A leader that hardly runs itself waits longer for
 * others. */
static void end_flush(struct gw__service *s)
{
    uint64_t epoch = s->registry.view.epoch;
    uint64_t since_ns =
        s->flush_ns > s->leading_since_ns ? s->flush_ns : s->leading_since_ns;
    uint64_t deadline_ns =
        awaits_living(s) ? GW__FLUSH_PATIENCE_NS : GW__FLUSH_DEADLINE_NS;
    uint64_t patience_ns =
        deadline_ns * (uint64_t)gw__health_factor(&s->health);
    struct gw__command command = {.kind = GW__CMD_DEADLINE, .epoch = epoch};
    if (!s->flushing || s->now_ns < since_ns + patience_ns)
        return;
    if (s->deadline_ns && s->deadline_epoch == epoch &&
        s->now_ns - s->deadline_ns < GW__SERVICE_RETRY_NS)
        return;
    s->deadline_ns = s->now_ns;
    s->deadline_epoch = epoch;
    gw__service_propose(s, &command);
}

void gw__service_leader_duties(struct gw__service *s)
{
    enter(s);
    gw__service_suspect(s);
    end_flush(s);
}
