/* SPDX-License-Identifier: MIT
 *
 * The commands on routes. Each one makes its change, drops servers that are
 * gone, and plans the next steps (route_place.c, route_balance.c). Each slot
 * that then differs gets a new term.
 */
#include "route_parts.h"

#include <string.h>

/* ---- one slot ---- */

bool gw__route_in_sync(const struct gw__slot_route *slot, unsigned node)
{
    for (unsigned i = 0; i < slot->count; i++)
        if (slot->replica[i] == node)
            return true;
    return false;
}

bool gw__route_is_idle(const struct gw__slot_route *slot)
{
    return slot->learner == GW__NO_NODE && slot->successor == GW__NO_NODE;
}

bool gw__route_has(const struct gw__slot_route *slot, unsigned node)
{
    return slot->learner == node || gw__route_in_sync(slot, node);
}

unsigned gw__route_count(const struct gw__slot_route *slot,
                         const struct gw_nodes *nodes)
{
    unsigned count = 0;
    for (unsigned i = 0; i < slot->count; i++)
        count += gw__has_node(nodes, slot->replica[i]);
    return count;
}

/* Removes a replica; the first one is the primary. */
void gw__route_drop(struct gw__slot_route *slot, unsigned node)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < slot->count; i++)
        if (slot->replica[i] != node)
            slot->replica[kept++] = slot->replica[i];
    for (unsigned i = kept; i <= GW_PS_REPLICAS_MAX; i++)
        slot->replica[i] = GW__NO_NODE;
    slot->count = (uint16_t)kept;
    slot->primary = slot->replica[0];
}

void gw__route_lead(struct gw__slot_route *slot, unsigned node)
{
    unsigned at = 0;
    while (slot->replica[at] != node)
        at++;
    for (; at > 0; at--)
        slot->replica[at] = slot->replica[at - 1];
    slot->replica[0] = slot->primary = (uint16_t)node;
}

static bool is_same(const struct gw__slot_route *a,
                    const struct gw__slot_route *b)
{
    return a->primary == b->primary && a->count == b->count &&
           memcmp(a->replica, b->replica, sizeof a->replica) == 0 &&
           a->learner == b->learner && a->leaver == b->leaver &&
           a->successor == b->successor;
}

/* ---- loads ---- */

static unsigned primary_to_be(const struct gw__slot_route *slot)
{
    if (slot->successor != GW__NO_NODE)
        return slot->successor;
    return slot->leaver == slot->primary ? slot->learner : slot->primary;
}

static void count_loads(struct gw__plan_loads *loads,
                        const struct gw__routes *routes,
                        const struct gw_nodes *eligible)
{
    *loads = (struct gw__plan_loads){.eligible = *eligible};
    loads->servers = gw__nodes_count(*eligible);
    loads->wanted =
        routes->replicas < loads->servers ? routes->replicas : loads->servers;
    for (unsigned i = 0; i < routes->slot_count; i++) {
        const struct gw__slot_route *slot = &routes->slots[i];
        if (slot->primary == GW__NO_NODE)
            continue;
        loads->placed++;
        loads->primaries[primary_to_be(slot)]++;
        for (unsigned k = 0; k < slot->count; k++)
            loads->replicas[slot->replica[k]] +=
                slot->replica[k] != slot->leaver;
        if (slot->learner == GW__NO_NODE)
            continue;
        loads->replicas[slot->learner]++;
        loads->learning[slot->learner]++;
    }
}

/* ---- servers that are gone ---- */

/* Of the replicas in sync, the one that is primary of the fewest slots; one
 * that wants to leave only if there is no other. */
static unsigned successor(const struct gw__slot_route *slot,
                          const struct gw__plan_loads *loads)
{
    unsigned best = slot->replica[0];
    for (unsigned i = 1; i < slot->count; i++) {
        unsigned node = slot->replica[i];
        bool stays = gw__has_node(&loads->eligible, node);
        bool best_stays = gw__has_node(&loads->eligible, best);
        if (stays != best_stays
                ? stays
                : loads->primaries[node] < loads->primaries[best])
            best = node;
    }
    return best;
}

static void drop_gone_servers(struct gw__slot_route *slot,
                              const struct gw_nodes *servers,
                              struct gw__plan_loads *loads)
{
    unsigned primary = slot->primary;
    for (unsigned i = slot->count; i-- > 0;)
        if (!gw__has_node(servers, slot->replica[i]))
            gw__route_drop(slot, slot->replica[i]);
    if (slot->primary != primary)
        slot->successor = GW__NO_NODE;
    if (slot->primary != primary && slot->count > 0) {
        gw__route_lead(slot, successor(slot, loads));
        loads->primaries[slot->primary]++;
    }
    if (!gw__has_node(&loads->eligible, slot->learner) || slot->count == 0)
        slot->learner = slot->leaver = GW__NO_NODE;
    if (!gw__route_in_sync(slot, slot->leaver))
        slot->leaver = GW__NO_NODE;
    if (!gw__route_in_sync(slot, slot->successor) ||
        !gw__has_node(&loads->eligible, slot->successor))
        slot->successor = GW__NO_NODE;
}

/* ---- a step ---- */

static bool is_placed(const struct gw__routes *routes)
{
    return routes->slot_count > 0 && routes->slots[0].term > 0;
}

static void plan(struct gw__routes *routes, const struct gw_nodes *servers)
{
    const struct gw_nodes eligible = gw__nodes_minus(*servers, routes->drained);
    struct gw__plan_loads loads;
    count_loads(&loads, routes, &eligible);
    for (unsigned i = 0; i < routes->slot_count; i++)
        drop_gone_servers(&routes->slots[i], servers, &loads);
    count_loads(&loads, routes, &eligible);
    if (loads.servers == 0)
        return;
    if (!is_placed(routes)) {
        if (loads.servers >= routes->servers)
            gw__place_first(routes, &loads);
    } else if (gw__place_missing(routes, &loads)) {
        (routes->advice.slots > 0 ? gw__advice_follow : gw__balance)(routes,
                                                                     &loads);
    }
}

/* The state before a command, as far as it decides about new terms. */
struct before {
    struct gw_nodes drained;
    struct gw__slot_route slots[GW_PS_SLOTS_MAX];
};

static void copy_before(struct before *before, const struct gw__routes *routes)
{
    before->drained = routes->drained;
    memcpy(before->slots, routes->slots,
           routes->slot_count * sizeof *routes->slots);
}

/* Plans the next steps and gives a new term to each slot that differs from
 * `before`. */
static bool plan_and_count(struct gw__routes *routes,
                           const struct before *before,
                           const struct gw_nodes *servers)
{
    bool changed = !gw__nodes_equal(routes->drained, before->drained);
    plan(routes, servers);
    for (unsigned i = 0; i < routes->slot_count; i++) {
        struct gw__slot_route *slot = &routes->slots[i];
        if (is_same(slot, &before->slots[i]))
            continue;
        slot->term++;
        changed = true;
    }
    routes->version += changed;
    return changed;
}

/* ---- commands ---- */

void gw__route_clear(struct gw__slot_route *slot)
{
    *slot = (struct gw__slot_route){.primary = GW__NO_NODE,
                                    .learner = GW__NO_NODE,
                                    .leaver = GW__NO_NODE,
                                    .successor = GW__NO_NODE};
    for (unsigned i = 0; i <= GW_PS_REPLICAS_MAX; i++)
        slot->replica[i] = GW__NO_NODE;
}

void gw__routes_clear(struct gw__routes *routes)
{
    routes->version = 0;
    routes->slot_count = routes->replicas = routes->servers = 0;
    routes->drained = (struct gw_nodes){{0}};
    routes->advice.slots = 0;
    routes->table_count = 0;
}

void gw__routes_init(struct gw__routes *routes)
{
    memset(routes, 0, sizeof *routes);
    for (unsigned i = 0; i < GW_PS_SLOTS_MAX; i++)
        gw__route_clear(&routes->slots[i]);
}

static void copy_advice(struct gw__advice *to, const struct gw__advice *from)
{
    to->slots = from->slots;
    memcpy(to->node, from->node, from->slots * sizeof *from->node);
}

void gw__routes_copy(struct gw__routes *to, const struct gw__routes *from)
{
    to->version = from->version;
    to->slot_count = from->slot_count;
    to->replicas = from->replicas;
    to->servers = from->servers;
    to->drained = from->drained;
    copy_advice(&to->advice, &from->advice);
    memcpy(to->slots, from->slots, from->slot_count * sizeof *from->slots);
    to->table_count = from->table_count;
    memcpy(to->tables, from->tables, from->table_count * sizeof *from->tables);
}

enum gw_err gw__routes_open(struct gw__routes *routes, unsigned slots,
                            unsigned replicas, unsigned servers,
                            struct gw_error *why)
{
    if (slots == 0 || slots > GW_PS_SLOTS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of slots must be 1 to %d, since each takes "
                       "memory in every process, not %u",
                       GW_PS_SLOTS_MAX, slots);
    if (replicas == 0 || replicas > GW_PS_REPLICAS_MAX)
        return gw_fail(
            why, GW_EINVAL,
            "the number of replicas per slot must be 1 to %d, not %u",
            GW_PS_REPLICAS_MAX, replicas);
    if (servers == 0 || servers > GW__ROUTE_NODES)
        return gw_fail(
            why, GW_EINVAL,
            "the number of servers must be 1 to %d, since no process "
            "has a higher number, not %u",
            GW__ROUTE_NODES, servers);
    if (routes->slot_count == 0) {
        for (unsigned i = 0; i < slots; i++)
            gw__route_clear(&routes->slots[i]);
        routes->slot_count = slots;
        routes->replicas = replicas;
        routes->servers = servers;
        routes->version++;
    } else if (routes->slot_count != slots || routes->replicas != replicas ||
               routes->servers != servers) {
        return gw_fail(why, GW_EMISMATCH,
                       "the slots exist already: %u slots with %u replicas, "
                       "created for %u servers",
                       routes->slot_count, routes->replicas, routes->servers);
    }
    return GW_OK;
}

bool gw__routes_servers(struct gw__routes *routes,
                        const struct gw_nodes *servers)
{
    const struct gw_nodes drained = routes->drained;
    return gw__routes_drain(routes, servers, &drained);
}

bool gw__routes_drain(struct gw__routes *routes, const struct gw_nodes *servers,
                      const struct gw_nodes *drained)
{
    struct before before;
    copy_before(&before, routes);
    routes->drained = routes->slot_count > 0 ? gw__nodes_and(*drained, *servers)
                                             : (struct gw_nodes){{0}};
    return plan_and_count(routes, &before, servers);
}

/* The slot, if this is its term; else NULL and the reason. */
static struct gw__slot_route *slot_of(struct gw__routes *routes, unsigned slot,
                                      uint64_t term, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (slot >= routes->slot_count)
        err = gw_fail(why, GW_EINVAL, "slot %u does not exist", slot);
    else if (routes->slots[slot].term != term)
        err = gw_fail(why, GW_EINVAL, "slot %u is in term %llu, not %llu", slot,
                      (unsigned long long)routes->slots[slot].term,
                      (unsigned long long)term);
    return err ? NULL : &routes->slots[slot];
}

enum gw_err gw__routes_promote(struct gw__routes *routes, unsigned number,
                               uint64_t term, unsigned learner,
                               const struct gw_nodes *servers,
                               struct gw_error *why)
{
    struct before before;
    struct gw__slot_route *slot = slot_of(routes, number, term, why);
    if (!slot)
        return GW_EINVAL;
    if (learner >= GW__ROUTE_NODES || slot->learner != learner)
        return gw_fail(why, GW_EINVAL, "node %u is not a learner of slot %u",
                       learner, number);
    copy_before(&before, routes);
    slot->replica[slot->count++] = (uint16_t)learner;
    if (slot->leaver == slot->primary)
        gw__route_lead(slot, learner);
    gw__route_drop(slot, slot->leaver);
    slot->learner = slot->leaver = GW__NO_NODE;
    plan_and_count(routes, &before, servers);
    return GW_OK;
}

void gw__routes_advise(struct gw__routes *routes,
                       const struct gw__advice *advice,
                       const struct gw_nodes *servers)
{
    struct before before;
    copy_before(&before, routes);
    copy_advice(&routes->advice, advice);
    if (routes->slot_count == 0)
        return;
    if (!plan_and_count(routes, &before, servers))
        routes->version++;
}

enum gw_err gw__routes_handover(struct gw__routes *routes, unsigned number,
                                uint64_t term, unsigned successor,
                                const struct gw_nodes *servers,
                                struct gw_error *why)
{
    struct before before;
    struct gw__slot_route *slot = slot_of(routes, number, term, why);
    if (!slot)
        return GW_EINVAL;
    if (successor >= GW__ROUTE_NODES || slot->successor != successor)
        return gw_fail(why, GW_EINVAL,
                       "node %u is not the successor of slot %u", successor,
                       number);
    copy_before(&before, routes);
    gw__route_lead(slot, successor);
    slot->successor = GW__NO_NODE;
    plan_and_count(routes, &before, servers);
    return GW_OK;
}

/* ---- accessors ---- */

struct gw_nodes gw__routes_nodes(const struct gw__routes *routes)
{
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < routes->slot_count; i++) {
        const struct gw__slot_route *slot = &routes->slots[i];
        for (unsigned k = 0; k < slot->count; k++)
            gw__nodes_add(&nodes, slot->replica[k]);
        if (slot->learner != GW__NO_NODE)
            gw__nodes_add(&nodes, slot->learner);
    }
    return nodes;
}

bool gw__routes_is_empty(const struct gw__routes *routes, unsigned node)
{
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (gw__route_has(&routes->slots[i], node))
            return false;
    return true;
}
