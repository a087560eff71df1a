/* SPDX-License-Identifier: MIT
 *
 * Decodes a registry (registry_snapshot.c). The bytes come from a disk or
 * another controller and are not trusted: the ranges of all values are checked,
 * then the invariants of the whole state, and finally that a snapshot of the
 * result has the same bytes.
 */
#include "registry_parts.h"

#include <string.h>

static void get_member(struct gw__reader *r, struct gw__member *m)
{
    m->state = (enum gw__member_state)gw__get_u8_below(r, GW__MEMBER_STATES);
    m->role = (enum gw__role)gw__get_u8_below(r, GW__ROLES);
    m->ring = gw__get_bool(r);
    m->incarnation = gw__get_id(r);
    gw__get_text(r, m->endpoint, sizeof m->endpoint);
    m->suspected_by = gw__get_process(r);
    m->suspected_ms = gw__get_u64(r);
    gw__reader_demand(r, m->suspected_by.node < GW__NODES_MAX);
    gw__reader_demand(r, m->state != GW__NO_MEMBER);
    gw__reader_demand(r, !gw__id_is_none(m->incarnation));
}

static void get_flush(struct gw__reader *r, struct gw__flush *flush)
{
    flush->open = gw__get_bool(r);
    flush->since_epoch = gw__get_u64(r);
    flush->reported = gw__get_nodes(r);
    for (unsigned i = 0; i < GW__NODES_MAX && !r->bad; i++)
        if (gw__nodes_has(&flush->reported, i))
            gw__get_report(r, &flush->reports[i]);
    flush->before_count = gw__get_u16_below(r, GW_RING_MEMBERS_MAX + 1);
    for (unsigned i = 0; i < flush->before_count; i++)
        gw__get_ring_member(r, &flush->before[i]);
}

static void get_decisions(struct gw__reader *r, struct gw__registry *registry)
{
    registry->decision_count = gw__get_u8_below(r, GW__DECISIONS_MAX + 1);
    for (unsigned i = 0; i < registry->decision_count; i++)
        gw__get_decision(r, &registry->decisions[i]);
}

static void get_clients(struct gw__reader *r, struct gw__registry *registry)
{
    unsigned count = gw__get_u16_below(r, GW__CLIENTS_MAX + 1);
    while (registry->client_count < count && !r->bad) {
        struct gw__client *c = &registry->clients[registry->client_count++];
        c->id = gw__get_id(r);
        gw__reader_demand(r, !gw__id_is_none(c->id));
        c->sequence = gw__get_u64(r);
        c->time_ms = gw__get_u64(r);
        c->answer_bytes = gw__get_u16_below(r, sizeof c->answer + 1);
        gw__get_bytes(r, c->answer, c->answer_bytes);
        gw__reader_demand(r, c->time_ms <= registry->time_ms);
    }
}

/* Each entry of the ring must be an active member with the same incarnation,
 * and each active ring member must be in the ring. */
static bool ring_is_right(const struct gw__registry *registry)
{
    const struct gw__view *view = &registry->view;
    unsigned report = 0;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__member *m = &registry->members[view->ring[i].node];
        if (m->state != GW__ACTIVE || !m->ring ||
            !gw__id_equal(m->incarnation, view->ring[i].incarnation))
            return false;
    }
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        report += registry->members[i].state == GW__ACTIVE &&
                  registry->members[i].ring;
    return report == view->ring_count;
}

/* Only active servers have slots. */
static bool routes_are_right(const struct gw__registry *registry)
{
    const struct gw__routes *routes = &registry->routes;
    const struct gw_nodes used =
        gw__nodes_or(routes->drained, gw__routes_nodes(routes));
    for (unsigned node = gw__nodes_next(&used, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&used, node + 1)) {
        const struct gw__member *m = &registry->members[node];
        if (m->state != GW__ACTIVE || m->role != GW__SERVER)
            return false;
    }
    return true;
}

/* A flush must be open exactly while a member has not reported; members that
 * must report were in the ring before. */
static bool flush_is_right(const struct gw__registry *registry)
{
    const struct gw__flush *flush = &registry->flush;
    struct gw_nodes ring = gw__view_nodes(&registry->view), before = {{0}};
    for (unsigned i = 0; i < flush->before_count; i++)
        gw__nodes_add(&before, flush->before[i].node);
    return gw__nodes_count(before) == flush->before_count &&
           (!flush->open || (!gw__nodes_within(ring, flush->reported) &&
                             gw__nodes_within(ring, before) &&
                             flush->since_epoch <= registry->view.epoch));
}

static void get_registry(struct gw__reader *r, struct gw__registry *registry)
{
    char magic[4];
    gw__get_bytes(r, magic, sizeof magic);
    gw__reader_demand(r, memcmp(magic, "GWR7", sizeof magic) == 0);
    registry->index = gw__get_u64(r);
    registry->time_ms = gw__get_u64(r);
    gw__get_view(r, &registry->view);
    registry->view.indexed = false; /* it will change */
    registry->known = gw__get_nodes(r);
    for (unsigned i = gw__nodes_next(&registry->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&registry->known, i + 1))
        get_member(r, &registry->members[i]);
    get_flush(r, &registry->flush);
    get_decisions(r, registry);
    gw__get_routes(r, &registry->routes);
    get_clients(r, registry);
    gw__reader_demand(r, ring_is_right(registry));
    gw__reader_demand(r, flush_is_right(registry));
    gw__reader_demand(r, routes_are_right(registry));
}

enum gw_err gw__registry_restore(struct gw__registry *registry,
                                 const void *data, size_t bytes,
                                 struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__registry_init(registry);
    get_registry(&r, registry);
    bool done = gw__reader_done(&r);
    if (done && gw__registry_digest(registry) == gw_hash(data, bytes, 0))
        return GW_OK;
    gw__registry_init(registry);
    return gw_fail(why, GW_EDATA, "malformed snapshot of %zu bytes", bytes);
}
