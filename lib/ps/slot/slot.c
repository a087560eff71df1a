/* SPDX-License-Identifier: MIT
 *
 * A slot's role on this server, from the routes.
 *
 *                 placed                    takeover
 *     (not here) --------> secondary <-------------------> primary
 *         |       placed   ^                 handover        ^
 *         |  learner       | promoted                        | promoted
 *         +---------> learner -------------------------------+
 *     and from everywhere back to (not here), which deletes the state.
 *
 * A process that never had the slot and is in sync was a replica from the first
 * placement. No entry can have been committed without it, so it begins with an
 * empty (or restored) state. A process that had the slot and deleted it returns
 * only as a learner.
 */
#include "ps/server/hogwild.h"

#include "base/failpoint.h"

#include <stdlib.h>

void gw__slot_init(struct gw__slot *slot, struct gw__server *server,
                   unsigned number)
{
    *slot = (struct gw__slot){.server = server, .number = number, .first = 1};
}

void gw__slot_clear_state(struct gw__slot *slot)
{
    gw__hogwild_rest(slot->server);
    for (unsigned t = 0; t < GW_PS_TABLES_MAX; t++) {
        gw__store_destroy(&slot->stores[t]);
    }
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        gw__clock_destroy(&slot->clocks[g]);
        slot->closed[g] = slot->closed_appended[g] = 0;
        slot->workers_appended[g] = slot->prune_appended[g] = 0;
    }
    gw__dedup_fini(&slot->dedup);
    gw__pending_fini(&slot->pending);
    gw__slot_free_orphans(slot);
    slot->generation = ++slot->server->generations;
}

void gw__slot_drop(struct gw__slot *slot)
{
    bool had = slot->had;
    uint64_t term = slot->term, route_term = slot->route_term;
    gw__copy_free(slot);
    gw__copy_forget(slot);
    slot->role = GW_PS_NOT_HERE;
    gw__slot_log_fini(slot);
    gw__slot_clear_state(slot);
    uint64_t generation = slot->generation;
    gw__slot_init(slot, slot->server, slot->number);
    slot->had = had;
    slot->term = term;
    slot->route_term = route_term;
    slot->generation = generation;
}

/* The first key of this slot's range in a dense table. */
static uint64_t first_key(const struct gw__server *server,
                          const struct gw_ps_table_config *config,
                          unsigned slot)
{
    uint64_t low = 0, high = config->dense;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (gw__route_slot(&server->routes, config, middle) < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct gw__store *gw__slot_store(struct gw__slot *slot, unsigned table)
{
    struct gw__server *server = slot->server;
    if (slot->stores[table] || !gw__server_has_table(server, table))
        return slot->stores[table];
    const struct gw_ps_table_config *config = &server->routes.tables[table];
    uint64_t first = first_key(server, config, slot->number);
    uint64_t end = first_key(server, config, slot->number + 1);
    if (config->dense && end == first)
        return NULL;
    if (gw__store_new(&server->updaters[table], first, (uint32_t)(end - first),
                      &slot->stores[table], NULL))
        slot->stores[table] = NULL;
    return slot->stores[table];
}

bool gw__slot_serves(const struct gw__slot *slot, uint64_t now_ns)
{
    const struct gw__server *server = slot->server;
    return slot->role == GW_PS_PRIMARY && !slot->frozen && slot->fenced == 0 &&
           (server->config.no_fencing || now_ns < server->lease_until_ns);
}

bool gw__slot_is_caught_up(const struct gw__slot *slot)
{
    return slot->applied >= slot->log_base;
}

/* ---- roles ---- */

static enum gw_ps_role role_of(const struct gw__slot *slot,
                               const struct gw__slot_route *route)
{
    unsigned node = slot->server->config.node;
    if (!slot->server->member)
        return GW_PS_NOT_HERE;
    if (route->primary == node)
        return GW_PS_PRIMARY;
    if (gw__route_in_sync(route, node))
        return GW_PS_SECONDARY;
    return route->learner == node ? GW_PS_LEARNER : GW_PS_NOT_HERE;
}

static void make_clocks(struct gw__slot *slot)
{
    struct gw__server *server = slot->server;
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
        if (gw__clock_slot(g, server->routes.slot_count) == slot->number &&
            gw__clock_new(&slot->clocks[g], NULL))
            gw__server_trouble(server, "slot %u: no memory for a clock",
                               slot->number);
}

static void begin_slot(struct gw__slot *slot)
{
    struct gw__server *server = slot->server;
    struct gw_error why = {.code = GW_OK};
    gw__slot_clear_state(slot);
    slot->had = true;
    make_clocks(slot);
    if (!server->restore[slot->number].data)
        return;
    if (gw__slot_load(slot, server->restore[slot->number].data,
                      server->restore[slot->number].bytes, true, &why)) {
        gw__server_trouble(server, "slot %u cannot be restored: %s",
                           slot->number, why.text);
        gw__slot_clear_state(slot); /* drops a partly loaded state */
        make_clocks(slot);
    }
    free(server->restore[slot->number].data);
    server->restore[slot->number].data = NULL;
}

static struct gw__peer new_peer(const struct gw__slot *slot, uint64_t now_ns,
                                unsigned node, bool learner)
{
    return (struct gw__peer){.node = node,
                             .incarnation =
                                 slot->server->ps_members[node].incarnation,
                             .learner = learner,
                             .needed = !learner,
                             .keeps = !learner,
                             .progress_ns = now_ns};
}

/* Known progress of a replica is kept. A learner starts from zero with every
 * term: in a term that this server has missed, it may have been dropped, and
 * have deleted the slot. */
static struct gw__peer make_peer(struct gw__slot *slot, uint64_t now_ns,
                                 unsigned node, bool learner,
                                 bool same_leadership)
{
    struct gw__peer *old = same_leadership ? gw__slot_peer(slot, node) : NULL;
    struct gw__peer peer = new_peer(slot, now_ns, node, learner);
    if (learner || !old || old->incarnation != peer.incarnation)
        return peer;
    if (old->learner && !old->synced)
        return peer;
    peer = *old;
    peer.learner = false;
    peer.needed = peer.keeps = true;
    peer.sent = peer.acked; /* refused entries are sent again */
    peer.sent_ns = 0;
    return peer;
}

static void make_peers(struct gw__slot *slot, uint64_t now_ns,
                       const struct gw__slot_route *route, bool same_leadership)
{
    struct gw__peer peers[GW__PEERS_MAX];
    unsigned count = 0, node = slot->server->config.node;
    struct gw__peer *learner = NULL;
    for (unsigned i = 0; i < route->count && i <= GW_PS_REPLICAS_MAX; i++)
        if (route->replica[i] != node && route->replica[i] < GW_PS_NODES)
            peers[count++] = make_peer(slot, now_ns, route->replica[i], false,
                                       same_leadership);
    if (route->learner < GW_PS_NODES && route->learner != node) {
        learner = &peers[count];
        peers[count++] =
            make_peer(slot, now_ns, route->learner, true, same_leadership);
    }
    if (!learner || (!learner->keeps && slot->copy))
        gw__copy_free(slot);
    for (unsigned i = 0; i < count; i++)
        slot->peers[i] = peers[i];
    slot->peer_count = count;
}

static void lead(struct gw__slot *slot, uint64_t now_ns,
                 const struct gw__slot_route *route)
{
    bool same_leadership = slot->role == GW_PS_PRIMARY;
    slot->term = route->term;
    if (slot->fenced <= route->term)
        slot->fenced = 0;
    if (!same_leadership) {
        if (route->term > 1)
            gw__failpoint(GW__AT_PS_LEAD);
        slot->leader_since = route->term;
        slot->log_base = slot->last;
        slot->fenced = 0;
        slot->server->counts.takeovers += route->term > 1;
        gw__copy_forget(slot);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
            slot->closed_appended[g] = slot->closed[g];
            slot->workers_appended[g] = slot->prune_appended[g] = 0;
            if (slot->clocks[g])
                gw__round_commits_leadership(slot->server, g);
        }
        slot->report_due = true;
        slot->server->pulls_due = true;
    }
    slot->role = GW_PS_PRIMARY;
    make_peers(slot, now_ns, route, same_leadership);
    slot->frozen = false;
    slot->frozen_ns = slot->proposed_ns = 0;
    for (unsigned i = 0; i < slot->peer_count; i++)
        gw__peer_pump(slot, now_ns, &slot->peers[i]);
    gw__slot_commit(slot, now_ns);
}

/* Waiting entries stay in the log for the next primary; the workers ask
 * there. */
static void step_down(struct gw__slot *slot, uint64_t now_ns)
{
    gw__failpoint(GW__AT_PS_YIELD);
    gw__copy_free(slot);
    slot->peer_count = 0;
    slot->frozen = false;
    slot->fenced = 0;
    slot->leader_since = 0;
    slot->matched = slot->applied;
    slot->server->pulls_due = true;
    for (uint64_t i = slot->first; i <= slot->last; i++) {
        struct gw__entry *entry = gw__slot_entry(slot, i);
        struct gw__wait *waits = entry ? entry->waits : NULL;
        if (entry)
            entry->waits = NULL;
        /* Another primary may acknowledge the push and return the worker's
         * memory. */
        if (entry && entry->message && !gw__entry_own(entry))
            gw__server_trouble(slot->server, "slot %u: no memory for its log",
                               slot->number);
        gw__finish_waits(slot->server, now_ns, waits, false);
    }
}

static void become_secondary(struct gw__slot *slot, uint64_t now_ns)
{
    if (slot->role == GW_PS_PRIMARY) {
        step_down(slot, now_ns);
        slot->role = GW_PS_SECONDARY;
        gw__slot_trim(slot);
    }
    gw__copy_forget(slot);
    slot->role = GW_PS_SECONDARY;
}

/* Updates the longest time without service, at the end of a freeze. */
static void count_freeze(struct gw__slot *slot, uint64_t now_ns,
                         enum gw_ps_role role)
{
    uint64_t *most = &slot->server->counts.freeze_ns_max;
    if (slot->frozen && now_ns - slot->frozen_ns > *most)
        *most = now_ns - slot->frozen_ns;
    slot->server->counts.moved += slot->frozen && role != GW_PS_PRIMARY;
}

void gw__slot_route(struct gw__slot *slot, uint64_t now_ns,
                    const struct gw__slot_route *route)
{
    enum gw_ps_role role = role_of(slot, route);
    bool gone = role == GW_PS_NOT_HERE && !slot->server->member;
    if (route->term <= slot->route_term && !gone)
        return;
    slot->route_term = route->term;
    count_freeze(slot, now_ns, role);
    bool has = slot->role == GW_PS_PRIMARY || slot->role == GW_PS_SECONDARY ||
               (slot->role == GW_PS_LEARNER && slot->loaded);
    bool in_sync = role == GW_PS_PRIMARY || role == GW_PS_SECONDARY;
    if (in_sync && !has && slot->had) {
        gw__server_trouble(
            slot->server,
            "slot %u: the routes have this copy as in sync, but it is not",
            slot->number);
        slot->silent = true;
        return;
    }
    slot->silent = false;
    if (in_sync && !has)
        begin_slot(slot);
    else if (!in_sync && slot->role != role)
        gw__slot_drop(slot);
    if (slot->term < route->term && role != GW_PS_PRIMARY)
        slot->term = route->term;
    slot->route_term = route->term;
    if (role == GW_PS_PRIMARY)
        lead(slot, now_ns, route);
    else if (role == GW_PS_SECONDARY)
        become_secondary(slot, now_ns);
    else if (role == GW_PS_LEARNER)
        slot->had = true;
    slot->role = role;
}
