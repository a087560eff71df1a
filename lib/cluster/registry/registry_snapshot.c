/* SPDX-License-Identifier: MIT
 *
 * Encodes the registry in the order of its struct, without empty entries. The
 * digest is the hash of these bytes, so replicas with any difference in a
 * snapshot have different digests. registry_restore.c decodes it.
 */
#include "registry_parts.h"

static void put_member(struct gw__writer *w, const struct gw__member *m)
{
    gw__put_u8(w, m->state);
    gw__put_u8(w, m->role);
    gw__put_u8(w, m->ring);
    gw__put_id(w, m->incarnation);
    gw__put_text(w, m->endpoint);
    gw__put_process(w, m->suspected_by);
    gw__put_u64(w, m->suspected_ms);
}

static void put_flush(struct gw__writer *w, const struct gw__flush *flush)
{
    gw__put_u8(w, flush->open);
    gw__put_u64(w, flush->since_epoch);
    gw__put_nodes(w, &flush->reported);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        if (gw__nodes_has(&flush->reported, i))
            gw__put_report(w, &flush->reports[i]);
    gw__put_u16(w, flush->before_count);
    for (unsigned i = 0; i < flush->before_count; i++)
        gw__put_ring_member(w, &flush->before[i]);
}

static void put_decisions(struct gw__writer *w, const struct gw__registry *r)
{
    gw__put_u8(w, r->decision_count);
    for (unsigned i = 0; i < r->decision_count; i++)
        gw__put_decision(w, &r->decisions[i]);
}

static void put_clients(struct gw__writer *w, const struct gw__registry *r)
{
    gw__put_u16(w, r->client_count);
    for (unsigned i = 0; i < r->client_count; i++) {
        const struct gw__client *c = &r->clients[i];
        gw__put_id(w, c->id);
        gw__put_u64(w, c->sequence);
        gw__put_u64(w, c->time_ms);
        gw__put_u16(w, c->answer_bytes);
        gw__put_bytes(w, c->answer, c->answer_bytes);
    }
}

static void put_registry(struct gw__writer *w, const struct gw__registry *r)
{
    gw__put_bytes(w, "GWR7", 4);
    gw__put_u64(w, r->index);
    gw__put_u64(w, r->time_ms);
    gw__put_view(w, &r->view);
    gw__put_nodes(w, &r->known);
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1))
        put_member(w, &r->members[i]);
    put_flush(w, &r->flush);
    put_decisions(w, r);
    gw__put_routes(w, &r->routes);
    put_clients(w, r);
}

size_t gw__registry_snapshot(const struct gw__registry *registry, void *out,
                             size_t room)
{
    struct gw__writer measure = gw__writer_on(NULL, 0);
    put_registry(&measure, registry);
    if (measure.used <= room) {
        struct gw__writer w = gw__writer_on(out, room);
        put_registry(&w, registry);
    }
    return measure.used;
}

uint64_t gw__registry_digest(const struct gw__registry *registry)
{
    struct gw__writer w = gw__writer_on(NULL, 0);
    put_registry(&w, registry);
    return w.hash;
}
