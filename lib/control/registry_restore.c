/* SPDX-License-Identifier: MIT
 *
 * A registry from its bytes (registry_snapshot.c). They come from a disk or
 * another controller, so nothing is believed: each value is checked for its
 * range, the whole for what must hold of every state, and at last that a
 * snapshot of it would be these very bytes.
 */
#include "registry_parts.h"

#include <string.h>

static void get_member(struct gw__reader *r, struct gw__member *m)
{
    m->state = (enum gw__member_state)gw__get_u8_below(r, GW__MEMBER_STATES);
    if (m->state == GW__NO_MEMBER)
        return;
    m->role = (enum gw__role)gw__get_u8_below(r, GW__ROLES);
    m->ring = gw__get_bool(r);
    m->incarnation = gw__get_id(r);
    gw__get_text(r, m->endpoint, sizeof m->endpoint);
    m->accuser = gw__get_process(r);
    m->accused_ms = gw__get_u64(r);
    gw__reader_demand(r, m->accuser.node < GW__NODES_MAX);
    gw__reader_demand(r, !gw__id_is_none(m->incarnation));
}

static void get_flush(struct gw__reader *r, struct gw__flush *flush)
{
    flush->open = gw__get_bool(r);
    flush->since_epoch = gw__get_u64(r);
    flush->reported = gw__get_u64(r);
    for (unsigned i = 0; i < GW__NODES_MAX && !r->bad; i++)
        if (flush->reported >> i & 1)
            gw__get_report(r, &flush->reports[i]);
    flush->before_count = gw__get_u8_below(r, GW__NODES_MAX + 1);
    for (unsigned i = 0; i < flush->before_count; i++)
        gw__get_ring_member(r, &flush->before[i]);
}

static void get_decisions(struct gw__reader *r, struct gw__registry *registry)
{
    registry->decision_count = gw__get_u8_below(r, GW__DECISIONS_MAX + 1);
    for (unsigned i = 0; i < registry->decision_count; i++)
        gw__get_decision(r, &registry->decisions[i]);
}

static void get_shard(struct gw__reader *r, struct gw__registry *registry,
                      struct gw__shard *s)
{
    s->state = (uint8_t)gw__get_u8_below(r, GW__SHARD_STATES);
    if (s->state == GW__LEASED) {
        s->holder = (uint8_t)gw__get_u8_below(r, GW__HOLDERS_MAX);
        gw__reader_demand(r, registry->holders[s->holder].held > 0);
    }
    if (s->state != GW__FREE)
        s->step = gw__get_u64(r);
    registry->shards_free += s->state == GW__FREE;
    registry->shards_done += s->state == GW__SHARD_DONE;
}

/* Does each holder hold as many shards as it says? */
static bool holders_are_right(const struct gw__registry *registry)
{
    uint32_t held[GW__HOLDERS_MAX] = {0};
    for (uint32_t i = 0; i < registry->shard_count; i++)
        if (registry->shards[i].state == GW__LEASED)
            held[registry->shards[i].holder]++;
    for (unsigned i = 0; i < GW__HOLDERS_MAX; i++)
        if (held[i] != registry->holders[i].held)
            return false;
    return true;
}

static void get_shards(struct gw__reader *r, struct gw__registry *registry)
{
    registry->data_epoch = gw__get_u64(r);
    uint32_t count = gw__get_u32(r);
    gw__reader_demand(r, count <= GW__SHARDS_MAX);
    registry->shard_count = r->bad ? 0 : count;
    for (unsigned i = 0; i < GW__HOLDERS_MAX; i++) {
        struct gw__holder *h = &registry->holders[i];
        h->held = gw__get_u32(r);
        if (h->held == 0)
            continue;
        h->who = gw__get_process(r);
        h->next_step = gw__get_u64(r);
        gw__reader_demand(r, h->who.node < GW__NODES_MAX);
    }
    for (uint32_t i = 0; i < registry->shard_count; i++)
        get_shard(r, registry, &registry->shards[i]);
    gw__reader_demand(r, holders_are_right(registry));
    gw__reader_demand(r, registry->shard_count == 0 ||
                             registry->shards_done < registry->shard_count);
}

static void get_links(struct gw__reader *r, struct gw__registry *registry)
{
    unsigned count = gw__get_u16_below(r, GW__NODES_MAX * GW__NODES_MAX + 1);
    for (unsigned i = 0; i < count; i++) {
        unsigned from = gw__get_u8_below(r, GW__NODES_MAX);
        unsigned to = gw__get_u8_below(r, GW__NODES_MAX);
        gw__get_rule(r, &registry->links[from][to]);
    }
}

static void get_clients(struct gw__reader *r, struct gw__registry *registry)
{
    for (unsigned i = 0; i < GW__CLIENTS_MAX; i++) {
        struct gw__client *c = &registry->clients[i];
        c->id = gw__get_id(r);
        if (gw__id_is_none(c->id))
            continue;
        c->sequence = gw__get_u64(r);
        c->time_ms = gw__get_u64(r);
        c->answer_bytes = gw__get_u16_below(r, sizeof c->answer + 1);
        gw__get_bytes(r, c->answer, c->answer_bytes);
        gw__reader_demand(r, c->time_ms <= registry->time_ms);
    }
}

/* Who stands in the ring is an active member, as the same incarnation, and
 * every active ring member stands there. */
static bool ring_is_right(const struct gw__registry *registry)
{
    const struct gw__view *view = &registry->view;
    unsigned standing = 0;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__member *m = &registry->members[view->ring[i].node];
        if (m->state != GW__ACTIVE || !m->ring ||
            !gw__id_equal(m->incarnation, view->ring[i].incarnation))
            return false;
    }
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        standing += registry->members[i].state == GW__ACTIVE &&
                    registry->members[i].ring;
    return standing == view->ring_count;
}

/* A flush is open exactly as long as somebody has not reported; who is to stood
 * in the ring before. */
static bool flush_is_right(const struct gw__registry *registry)
{
    const struct gw__flush *flush = &registry->flush;
    uint64_t ring = gw__view_nodes(&registry->view), before = 0;
    for (unsigned i = 0; i < flush->before_count; i++)
        before |= (uint64_t)1 << flush->before[i].node;
    return (unsigned)__builtin_popcountll(before) == flush->before_count &&
           (!flush->open ||
            ((flush->reported & ring) != ring && (before & ring) == ring &&
             flush->since_epoch <= registry->view.epoch));
}

static void get_registry(struct gw__reader *r, struct gw__registry *registry)
{
    char magic[4];
    gw__get_bytes(r, magic, sizeof magic);
    gw__reader_demand(r, memcmp(magic, "GWR2", sizeof magic) == 0);
    registry->index = gw__get_u64(r);
    registry->time_ms = gw__get_u64(r);
    gw__get_view(r, &registry->view);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        get_member(r, &registry->members[i]);
    get_flush(r, &registry->flush);
    get_decisions(r, registry);
    get_shards(r, registry);
    get_links(r, registry);
    get_clients(r, registry);
    gw__reader_demand(r, ring_is_right(registry));
    gw__reader_demand(r, flush_is_right(registry));
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
    return gw_fail(why, GW_EDATA,
                   "%zu bytes that are no snapshot of a "
                   "registry",
                   bytes);
}
