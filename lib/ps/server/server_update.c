/* SPDX-License-Identifier: MIT
 *
 * Membership updates from the controllers: members, routes and tables. Each is
 * a prefix of one log, so an older one has no new contents.
 *
 * Routes count only for the incarnation in the member list, since another
 * process may have had this node's number before.
 */
#include "server_parts.h"

#include <stdlib.h>

static void copy_ps_members(struct gw__server *server,
                            const struct gw__membership_update *update)
{
    const struct gw__server_config *config = &server->config;
    server->member = false;
    server->worker_count = 0;
    for (unsigned node = gw__nodes_next(&server->here, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&server->here, node + 1))
        server->ps_members[node].here = false;
    server->here = (struct gw_nodes){{0}};
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        const struct gw__ps_member *member = &update->ps_members[i];
        if (member->node >= GW_PS_NODES)
            continue;
        bool worker = member->role == GW__WORKER;
        server->ps_members[member->node].here = true;
        gw__nodes_add(&server->here, member->node);
        server->ps_members[member->node].incarnation = member->incarnation.low;
        server->ps_members[member->node].worker = worker;
        server->member |=
            member->node == config->node &&
            gw__id_equal(member->incarnation, config->incarnation);
        if (worker)
            server->workers[server->worker_count++] =
                (struct gw__alive){member->node, member->incarnation.low};
    }
}

static void apply_tables(struct gw__server *server, unsigned before)
{
    const struct gw__server_config *config = &server->config;
    for (unsigned t = before; t < server->routes.table_count; t++) {
        struct gw_error why = {.code = GW_OK};
        if (gw__updater_init(&server->updaters[t], &server->routes.tables[t],
                             config->callback_context, config->callback,
                             config->callback_state, &why)) {
            /* Pushes to the table wait, since other servers may have enough
             * memory. */
            gw__server_trouble(server, "table \"%s\": %s",
                               server->routes.tables[t].name, why.text);
            server->routes.table_count = t;
        }
    }
    if (server->routes.table_count == before)
        return;
    for (unsigned s = 0; s < server->routes.slot_count; s++)
        gw__slot_adopt_orphans(&server->slots[s]);
}

/* The slots exist as soon as their number is known, which does not change.
 * False: out of memory. */
static bool make_slots(struct gw__server *server, unsigned count)
{
    if (server->slots || count == 0)
        return true;
    server->slots = calloc(count, sizeof *server->slots);
    for (unsigned s = 0; server->slots && s < count; s++)
        gw__slot_init(&server->slots[s], server, s);
    return server->slots;
}

/* Lists the slots that this server has, or will have by these routes. One that
 * it has just lost may still have something to send. */
static void list_held(struct gw__server *server)
{
    unsigned node = server->config.node;
    server->held_count = 0;
    for (unsigned s = 0; s < server->routes.slot_count; s++) {
        const struct gw__slot_route *route = &server->routes.slots[s];
        if (server->slots[s].role != GW_PS_NOT_HERE || route->learner == node ||
            gw__route_in_sync(route, node))
            server->held[server->held_count++] = (uint16_t)s;
    }
}

static void apply_routes(struct gw__server *server, uint64_t now_ns,
                         const struct gw__routes *routes)
{
    unsigned tables = server->routes.table_count;
    if (!make_slots(server, routes->slot_count)) {
        gw__server_trouble(server, "no memory for %u slots",
                           routes->slot_count);
        return; /* the next update tries again */
    }
    if (routes->version >= server->routes.version) {
        gw__routes_copy(&server->routes, routes);
        free(server->routes_data);
        server->routes_data = NULL;
        apply_tables(server, tables);
    }
    list_held(server);
    for (unsigned s = 0; s < server->routes.slot_count; s++) {
        struct gw__slot *slot = &server->slots[s];
        gw__slot_route(slot, now_ns, &server->routes.slots[s]);
        gw__slot_advance(slot, now_ns);
    }
    server->pulls_due = true;
    server->clocks_changed = (1U << GW_PS_GROUPS_MAX) - 1;
    server->round_commits_changed = (1U << GW_PS_GROUPS_MAX) - 1;
}

void gw__server_update(struct gw__server *server, uint64_t now_ns,
                       const struct gw__membership_update *update)
{
    server->now_ns = now_ns;
    if (update->index < server->update_index)
        return;
    server->update_index = update->index;
    server->epoch = update->view.epoch;
    copy_ps_members(server, update);
    apply_routes(server, now_ns, &update->routes);
    gw__server_tick(server, now_ns);
}

enum gw_err gw__server_restore(struct gw__server *server, unsigned slot,
                               const void *data, size_t bytes,
                               struct gw_error *why)
{
    if (slot >= GW_PS_SLOTS_MAX)
        return gw_fail(why, GW_EINVAL, "slot %u does not exist", slot);
    enum gw_err err = gw__slot_check_saved(data, bytes, why);
    if (err)
        return gw_wrap(why, err, "slot %u", slot);
    void *copy = malloc(bytes);
    if (!copy)
        return gw_fail(why, GW_ENOMEM, "no memory for slot %u", slot);
    __builtin_memcpy(copy, data, bytes);
    free(server->restore[slot].data);
    server->restore[slot].data = copy;
    server->restore[slot].bytes = bytes;
    if (slot >= server->restore_end)
        server->restore_end = slot + 1;
    return GW_OK;
}
