/* SPDX-License-Identifier: MIT
 *
 * Emits a controller's events: its leadership, its votes and the entries that
 * it applies; as the leader also the leases of servers and the primaries of
 * slots. All of this is read from the service between two of its inputs, so the
 * machine does not depend on events.
 *
 * A starting controller applies the old entries in its log. It emits no events
 * before it knows a leader.
 */
#include "controller_parts.h"

static void emit(const struct gw__controller *c, enum gw_event_kind kind,
                 uint32_t peer, uint32_t chunk, uint64_t value)
{
    const struct gw_event event = {.time_ns = gw_now_ns(),
                                   .value = (int64_t)value,
                                   .kind = kind,
                                   .rank = c->service.node,
                                   .peer = peer,
                                   .epoch = GW_NONE,
                                   .op = GW_NONE,
                                   .step = GW_NONE,
                                   .chunk = chunk};
    gw_emit(c->config.events, &event);
}

void gw__controller_event_lead(struct gw__controller *c, unsigned node)
{
    struct gw__raft_stats stats;
    c->emitted.begun |= node < GW__NODES_MAX;
    c->emitted.leased = (struct gw_nodes){{0}};
    gw__raft_log_stats(c->log, &stats);
    if (node == c->service.node)
        emit(c, GW_EV_LEADER, GW_NONE, GW_NONE, stats.term);
}

void gw__controller_event_vote(struct gw__controller *c, unsigned candidate,
                               uint64_t term)
{
    if (candidate < c->config.count)
        emit(c, GW_EV_VOTE, c->nodes[candidate], GW_NONE, term);
}

void gw__controller_event_commit(struct gw__controller *c, uint64_t index)
{
    if (c->emitted.begun)
        emit(c, GW_EV_COMMIT, GW_NONE, GW_NONE, index);
}

static void emit_route(struct gw__controller *c, const struct gw__service *s,
                       unsigned slot)
{
    const struct gw__slot_route *route = &s->registry.routes.slots[slot];
    uint16_t *known = &c->emitted.primaries[slot];
    if (*known == route->primary)
        return;
    *known = route->primary;
    if (c->emitted.begun && gw__service_leads(s))
        emit(c, GW_EV_ROUTE,
             route->primary == GW__NO_NODE ? GW_NONE : route->primary, slot,
             route->term);
}

static void emit_lease(struct gw__controller *c, const struct gw__service *s,
                       unsigned node)
{
    uint64_t leased_ns = s->contacts[node].leased_ns;
    bool has = gw__service_leads(s) && leased_ns >= s->leading_since_ns &&
               leased_ns && s->now_ns < leased_ns + GW__LEASE_NS;
    bool had = gw__nodes_has(&c->emitted.leased, node);
    if (has == had)
        return;
    if (has)
        gw__nodes_add(&c->emitted.leased, node);
    else
        gw__nodes_remove(&c->emitted.leased, node);
    if (gw__service_leads(s))
        emit(c, GW_EV_LEASE, node, GW_NONE, has ? GW__LEASE_NS : 0);
}

static void record_status(struct gw__controller *c, const struct gw__service *s)
{
    pthread_mutex_lock(&c->lock);
    c->status.leader = s->leader;
    c->status.applied = s->registry.index;
    c->status.hellos = s->hellos;
    c->status.leases = s->leases;
    pthread_mutex_unlock(&c->lock);
}

void gw__controller_event_changes(struct gw__controller *c,
                                  const struct gw__service *s)
{
    record_status(c, s);
    const struct gw__routes *routes = &s->registry.routes;
    for (; c->emitted.slots < routes->slot_count; c->emitted.slots++)
        c->emitted.primaries[c->emitted.slots] = GW__NO_NODE;
    for (unsigned slot = 0;
         routes->version != c->emitted.routes && slot < c->emitted.slots;
         slot++)
        emit_route(c, s, slot);
    c->emitted.routes = routes->version;
    const struct gw_nodes nodes =
        gw__nodes_or(s->registry.known, c->emitted.leased);
    for (unsigned node = gw__nodes_next(&nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&nodes, node + 1))
        emit_lease(c, s, node);
}

void gw__controller_status(struct gw__controller *c,
                           struct gw__controller_status *status)
{
    struct gw__raft_stats stats;
    gw__raft_log_stats(c->log, &stats);
    pthread_mutex_lock(&c->lock);
    *status = c->status;
    pthread_mutex_unlock(&c->lock);
    status->term = stats.term;
    status->last = stats.last;
    status->committed = stats.committed;
}
