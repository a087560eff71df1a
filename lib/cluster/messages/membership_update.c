/* SPDX-License-Identifier: MIT
 *
 * NEWS: the part of the registry that a member needs, as bytes, and back; see
 * protocol.h. Only used entries are packed: a full ring of 64 members with the
 * longest endpoints takes some 13 KB, and so do as many members of the
 * parameter server; 64 slots and all tables take 2 KB.
 *
 *     NEWS  index | time | leader? | reported | the receiver's state | body
 *
 * The body is the same for all receivers. It is whole, or the changes of the
 * body before it, by whose hash the receiver sees whether it has that one.
 */
#include "protocol.h"

#include "delta.h"

#include <string.h>

enum form { WHOLE, CHANGES, FORMS };

/* ---- making ---- */

/* The newest decision of each op that may be open, of the newest flush. The
 * members of an earlier flush know its decisions, which are void for an op that
 * no survivor has begun. So during a flush there are none. There are at most
 * GW__MEMBERSHIP_UPDATE_DECISIONS, because a report covers at most that many
 * ops from its floor on, and the ring's floor is the highest of them. */
static unsigned
pick_decisions(const struct gw__registry *registry,
               struct gw__decision out[GW__MEMBERSHIP_UPDATE_DECISIONS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < registry->decision_count; i++) {
        const struct gw__decision *d = &registry->decisions[i];
        if (d->op >= registry->view.op_low_watermark &&
            d->epoch >= registry->flush.since_epoch &&
            count < GW__MEMBERSHIP_UPDATE_DECISIONS &&
            d == gw__registry_decision(registry, d->op))
            out[count++] = *d;
    }
    return count;
}

static unsigned pick_joiners(const struct gw__registry *registry,
                             struct gw__process out[GW__NODES_MAX])
{
    unsigned count = 0;
    for (unsigned node = gw__nodes_next(&registry->known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&registry->known, node + 1))
        if (registry->members[node].state == GW__JOINING)
            out[count++] =
                (struct gw__process){node, registry->members[node].incarnation};
    return count;
}

static unsigned pick_ps_members(const struct gw__registry *registry,
                                struct gw__ps_member out[GW__NODES_MAX])
{
    unsigned count = 0;
    for (unsigned node = gw__nodes_next(&registry->known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&registry->known, node + 1)) {
        const struct gw__member *m = &registry->members[node];
        if (m->state != GW__ACTIVE || m->ring ||
            !gw__role_is_ps_members(m->role))
            continue;
        struct gw__ps_member *one = &out[count++];
        one->node = node;
        one->role = m->role;
        one->incarnation = m->incarnation;
        memcpy(one->endpoint, m->endpoint, sizeof one->endpoint);
    }
    return count;
}

void gw__membership_update_make(const struct gw__registry *registry,
                                unsigned node, bool leader,
                                struct gw__membership_update *update)
{
    update->index = registry->index;
    update->time_ms = registry->time_ms;
    update->leader = leader;
    gw__view_copy(&update->view, &registry->view);
    for (unsigned i = 0; i < update->view.ring_count; i++)
        memcpy(update->endpoints[i],
               registry->members[update->view.ring[i].node].endpoint,
               sizeof update->endpoints[i]);
    update->flushing = registry->flush.open;
    update->flush_epoch = registry->flush.since_epoch;
    update->reported = registry->flush.reported;
    update->decision_count = pick_decisions(registry, update->decisions);
    update->joiner_count = pick_joiners(registry, update->joiners);
    update->ps_member_count = pick_ps_members(registry, update->ps_members);
    gw__routes_copy(&update->routes, &registry->routes);
    bool known = node < GW__NODES_MAX;
    update->state = known ? registry->members[node].state : GW__NO_MEMBER;
    update->incarnation =
        known ? registry->members[node].incarnation : (struct gw__id){0};
}

void gw__membership_update_clear(struct gw__membership_update *update)
{
    update->index = update->time_ms = 0;
    update->leader = update->flushing = false;
    gw__view_clear(&update->view);
    update->flush_epoch = 0;
    update->reported = (struct gw_nodes){{0}};
    update->decision_count = update->joiner_count = 0;
    update->ps_member_count = 0;
    gw__routes_clear(&update->routes);
    update->state = GW__NO_MEMBER;
    update->incarnation = (struct gw__id){0};
}

void gw__membership_update_copy(struct gw__membership_update *to,
                                const struct gw__membership_update *from)
{
    to->index = from->index;
    to->time_ms = from->time_ms;
    to->leader = from->leader;
    gw__view_copy(&to->view, &from->view);
    memcpy(to->endpoints, from->endpoints,
           from->view.ring_count * sizeof *from->endpoints);
    to->flushing = from->flushing;
    to->flush_epoch = from->flush_epoch;
    to->reported = from->reported;
    to->decision_count = from->decision_count;
    memcpy(to->decisions, from->decisions,
           from->decision_count * sizeof *from->decisions);
    to->joiner_count = from->joiner_count;
    memcpy(to->joiners, from->joiners,
           from->joiner_count * sizeof *from->joiners);
    to->ps_member_count = from->ps_member_count;
    memcpy(to->ps_members, from->ps_members,
           from->ps_member_count * sizeof *from->ps_members);
    gw__routes_copy(&to->routes, &from->routes);
    to->state = from->state;
    to->incarnation = from->incarnation;
}

/* ---- encoding ---- */

static void put_flush(struct gw__writer *w,
                      const struct gw__membership_update *update)
{
    gw__put_u8(w, update->flushing);
    gw__put_u64(w, update->flush_epoch);
    gw__put_u8(w, update->decision_count);
    for (unsigned i = 0; i < update->decision_count; i++)
        gw__put_decision(w, &update->decisions[i]);
}

/* Empty in a run without a parameter server. */
static void put_ps_members(struct gw__writer *w,
                           const struct gw__membership_update *update)
{
    gw__put_u16(w, update->ps_member_count);
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        const struct gw__ps_member *m = &update->ps_members[i];
        gw__put_node(w, m->node);
        gw__put_u8(w, m->role);
        gw__put_id(w, m->incarnation);
        gw__put_text(w, m->endpoint);
    }
    gw__put_u8(w, update->routes.slot_count > 0);
    if (update->routes.slot_count > 0)
        gw__put_routes(w, &update->routes);
}

/* The part that is the same for every receiver. */
static void put_common(struct gw__writer *w,
                       const struct gw__membership_update *update)
{
    gw__put_view(w, &update->view);
    for (unsigned i = 0; i < update->view.ring_count; i++)
        gw__put_text(w, update->endpoints[i]);
    put_flush(w, update);
    gw__put_u16(w, update->joiner_count);
    for (unsigned i = 0; i < update->joiner_count; i++)
        gw__put_process(w, update->joiners[i]);
    put_ps_members(w, update);
}

void gw__membership_update_whole(const struct gw__membership_update *update,
                                 struct gw__update_body *whole)
{
    struct gw__writer w = gw__writer_on(whole->data, sizeof whole->data);
    gw__put_u8(&w, WHOLE);
    put_common(&w, update);
    whole->bytes = gw__writer_fits(&w) ? w.used : 0;
}

void gw__update_body_copy(struct gw__update_body *to,
                          const struct gw__update_body *from)
{
    to->bytes = from->bytes;
    memcpy(to->data, from->data, from->bytes);
}

static struct gw__span span_of(const struct gw__update_body *body)
{
    return (struct gw__span){body->data, body->bytes};
}

static uint64_t hash_of(const struct gw__update_body *body)
{
    return gw_hash(body->data, body->bytes, 0);
}

void gw__membership_update_changes(const struct gw__update_body *before,
                                   const struct gw__update_body *whole,
                                   struct gw__update_body *changes)
{
    struct gw__writer w = gw__writer_on(changes->data, sizeof changes->data);
    gw__put_u8(&w, CHANGES);
    gw__put_u64(&w, hash_of(before));
    gw__put_delta(&w, span_of(before), span_of(whole));
    changes->bytes = w.used;
    if (!gw__writer_fits(&w) || w.used >= whole->bytes)
        gw__update_body_copy(changes, whole);
}

static void put_head(struct gw__writer *w,
                     const struct gw__membership_update *update)
{
    gw__put_u8(w, GW__PROTOCOL_UPDATE);
    gw__put_u64(w, update->index);
    gw__put_u64(w, update->time_ms);
    gw__put_u8(w, update->leader);
    gw__put_nodes(w, &update->reported);
    gw__put_u8(w, update->state);
    gw__put_id(w, update->incarnation);
}

size_t gw__membership_update_encode(const struct gw__membership_update *update,
                                    const struct gw__update_body *body,
                                    void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    put_head(&w, update);
    gw__put_bytes(&w, body->data, body->bytes);
    return gw__writer_fits(&w) ? w.used : 0;
}

uint64_t gw__membership_update_mark(const struct gw__registry *registry)
{
    struct gw__membership_update update;
    struct gw__writer w = gw__writer_on(NULL, 0);
    gw__membership_update_make(registry, GW__NODES_MAX, false, &update);
    if (!update.flushing)
        gw__put_nodes(&w, &update.reported);
    put_common(&w, &update);
    for (unsigned i = gw__nodes_next(&registry->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&registry->known, i + 1)) {
        gw__put_node(&w, i);
        gw__put_u8(&w, registry->members[i].state);
        gw__put_id(&w, registry->members[i].incarnation);
    }
    return w.hash;
}

/* ---- decoding ---- */

static void get_flush(struct gw__reader *r,
                      struct gw__membership_update *update)
{
    update->flushing = gw__get_bool(r);
    update->flush_epoch = gw__get_u64(r);
    update->decision_count =
        gw__get_u8_below(r, GW__MEMBERSHIP_UPDATE_DECISIONS + 1);
    for (unsigned i = 0; i < update->decision_count; i++)
        gw__get_decision(r, &update->decisions[i]);
}

static void get_joiners(struct gw__reader *r,
                        struct gw__membership_update *update)
{
    update->joiner_count = gw__get_u16_below(r, GW__NODES_MAX + 1);
    for (unsigned i = 0; i < update->joiner_count; i++) {
        update->joiners[i] = gw__get_process(r);
        gw__reader_demand(r, update->joiners[i].node < GW__NODES_MAX);
    }
}

static void get_ps_members(struct gw__reader *r,
                           struct gw__membership_update *update)
{
    unsigned count = gw__get_u16_below(r, GW__NODES_MAX + 1), next = 0;
    update->ps_member_count = 0;
    while (update->ps_member_count < count && !r->bad) {
        struct gw__ps_member *m =
            &update->ps_members[update->ps_member_count++];
        m->node = gw__get_node(r);
        m->role = (enum gw__role)gw__get_u8_below(r, GW__ROLES);
        gw__reader_demand(r, gw__role_is_ps_members(m->role));
        m->incarnation = gw__get_id(r);
        gw__get_text(r, m->endpoint, sizeof m->endpoint);
        gw__reader_demand(r, m->node >= next);
        next = m->node + 1;
    }
    gw__routes_clear(&update->routes);
    if (gw__get_bool(r)) {
        gw__get_routes(r, &update->routes);
        gw__reader_demand(r, update->routes.slot_count > 0);
    }
}

static void get_head(struct gw__reader *r, struct gw__membership_update *update)
{
    gw__reader_demand(r, gw__get_u8(r) == GW__PROTOCOL_UPDATE);
    update->index = gw__get_u64(r);
    update->time_ms = gw__get_u64(r);
    update->leader = gw__get_bool(r);
    update->reported = gw__get_nodes(r);
    update->state =
        (enum gw__member_state)gw__get_u8_below(r, GW__MEMBER_STATES);
    update->incarnation = gw__get_id(r);
}

static void get_whole(struct gw__reader *r,
                      struct gw__membership_update *update)
{
    gw__get_view(r, &update->view);
    for (unsigned i = 0; i < update->view.ring_count; i++)
        gw__get_text(r, update->endpoints[i], sizeof update->endpoints[i]);
    get_flush(r, update);
    get_joiners(r, update);
    get_ps_members(r, update);
}

/* False: `known` is not what the changes are of. */
static bool get_changes(struct gw__reader *r,
                        const struct gw__membership_update *known,
                        struct gw__membership_update *update)
{
    struct gw__update_body before, whole;
    uint64_t hash = gw__get_u64(r);
    gw__membership_update_whole(known, &before);
    if (!r->bad && hash_of(&before) != hash)
        return false;
    whole.bytes =
        gw__get_delta(r, span_of(&before), whole.data, sizeof whole.data);
    struct gw__reader inner = gw__reader_on(whole.data, whole.bytes);
    gw__reader_demand(&inner, gw__get_u8(&inner) == WHOLE);
    get_whole(&inner, update);
    gw__reader_demand(r, gw__reader_done(&inner));
    return true;
}

enum gw_err gw__membership_update_decode(
    const void *data, size_t bytes, const struct gw__membership_update *known,
    struct gw__membership_update *update, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    get_head(&r, update);
    if (gw__get_u8_below(&r, FORMS) == WHOLE)
        get_whole(&r, update);
    else if (!get_changes(&r, known, update))
        return GW_PENDING;
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA,
                       "malformed membership update of %zu bytes", bytes);
    return GW_OK;
}
