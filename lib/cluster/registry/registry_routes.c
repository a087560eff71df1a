/* SPDX-License-Identifier: MIT
 *
 * The parameter server's part of the registry: checks the permission to change
 * the routes. route.c makes the changes.
 */
#include "registry_parts.h"

static enum gw_err refuse_change(struct gw__answer *answer,
                                 const struct gw_error *why, enum gw_err code)
{
    return gw__refuse(answer, code, "%s", why->text);
}

static bool serves(const struct gw__member *m)
{
    return m->state == GW__ACTIVE && m->role == GW__SERVER;
}

static struct gw_nodes servers_of(const struct gw__registry *r)
{
    struct gw_nodes servers = {{0}};
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1))
        if (serves(&r->members[i]))
            gw__nodes_add(&servers, i);
    return servers;
}

void gw__registry_route(struct gw__registry *r)
{
    const struct gw_nodes servers = servers_of(r);
    if (r->routes.slot_count > 0)
        (void)gw__routes_servers(&r->routes, &servers);
}

bool gw__registry_needs(const struct gw__registry *r, unsigned node,
                        struct gw__answer *answer)
{
    for (unsigned i = 0; i < r->routes.slot_count; i++) {
        const struct gw__slot_route *slot = &r->routes.slots[i];
        if (slot->count != 1 || slot->primary != node)
            continue;
        gw__refuse(answer, GW_EINVAL,
                   "node %u cannot leave: it has the only copy of slot %u",
                   node, i);
        return true;
    }
    return false;
}

/* ---- commands ---- */

enum gw_err gw__apply_routes(struct gw__registry *r,
                             const struct gw__command *c,
                             struct gw__answer *answer)
{
    struct gw_error why;
    enum gw_err err =
        gw__routes_open(&r->routes, c->routes.slots, c->routes.replicas,
                        c->routes.servers, &why);
    if (err)
        return refuse_change(answer, &why, err);
    gw__registry_route(r);
    return gw__append_text(
        answer, "%u slots with %u replicas, created for %u servers",
        c->routes.slots, c->routes.replicas, c->routes.servers);
}

enum gw_err gw__apply_table(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    struct gw_error why;
    enum gw_err err =
        gw__routes_table(&r->routes, &c->table, &answer->table, &why);
    if (err)
        return refuse_change(answer, &why, err);
    return gw__append_text(answer, "table %s has number %u", c->table.name,
                           answer->table);
}

enum gw_err gw__apply_place(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    const struct gw_nodes servers = servers_of(r);
    gw__routes_advise(&r->routes, &c->advice, &servers);
    if (c->advice.slots == 0)
        return gw__append_text(answer, "slots are spread evenly");
    return gw__append_text(answer, "%u slots move to their advised servers",
                           c->advice.slots);
}

/* Accepts a proposal only from an active server. */
static bool may_propose(struct gw__registry *r, const struct gw__command *c,
                        struct gw__answer *answer)
{
    const struct gw__member *m = gw__registry_active(r, c->who, answer);
    if (m && m->role != GW__SERVER)
        gw__refuse(answer, GW_EINVAL, "node %u is not a server", c->who.node);
    return !answer->code;
}

static bool leads_slot(struct gw__registry *r, const struct gw__command *c,
                       struct gw__answer *answer)
{
    if (!may_propose(r, c, answer))
        return false;
    if (c->slot.slot >= r->routes.slot_count)
        gw__refuse(answer, GW_EINVAL, "slot %u does not exist", c->slot.slot);
    else if (r->routes.slots[c->slot.slot].primary != c->who.node)
        gw__refuse(answer, GW_EINVAL, "node %u is not the primary of slot %u",
                   c->who.node, c->slot.slot);
    return !answer->code;
}

enum gw_err gw__apply_promote(struct gw__registry *r,
                              const struct gw__command *c,
                              struct gw__answer *answer)
{
    const struct gw_nodes servers = servers_of(r);
    struct gw_error why;
    if (!leads_slot(r, c, answer))
        return answer->code;
    enum gw_err err = gw__routes_promote(&r->routes, c->slot.slot, c->slot.term,
                                         c->slot.node, &servers, &why);
    if (err)
        return refuse_change(answer, &why, err);
    return gw__append_text(answer, "slot %u: node %u is in sync", c->slot.slot,
                           c->slot.node);
}

enum gw_err gw__apply_handover(struct gw__registry *r,
                               const struct gw__command *c,
                               struct gw__answer *answer)
{
    const struct gw_nodes servers = servers_of(r);
    struct gw_error why;
    if (!leads_slot(r, c, answer))
        return answer->code;
    enum gw_err err = gw__routes_handover(
        &r->routes, c->slot.slot, c->slot.term, c->slot.node, &servers, &why);
    if (err)
        return refuse_change(answer, &why, err);
    return gw__append_text(answer, "slot %u: node %u is primary", c->slot.slot,
                           c->slot.node);
}

enum gw_err gw__apply_drain(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    if (!may_propose(r, c, answer))
        return answer->code;
    const struct gw_nodes servers = servers_of(r);
    struct gw_nodes drained = r->routes.drained;
    gw__nodes_add(&drained, c->who.node);
    (void)gw__routes_drain(&r->routes, &servers, &drained);
    return gw__append_text(answer, "node %u hands over its slots", c->who.node);
}
