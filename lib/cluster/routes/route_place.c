/* SPDX-License-Identifier: MIT
 *
 * Places slots: the first time, and when replicas are missing or will leave.
 *
 * A replica goes to the server with the fewest replicas, and among equal ones
 * to the one that shares the fewest slots with the other replicas of this slot.
 * So the slots of any server have their other replicas spread over all servers,
 * and so does its load when it dies. An advised server (route_advice.c) comes
 * first.
 *
 * All missing replicas are planned at once, as if copies took no time, so that
 * the load will be even. Of these, only as many copies begin as servers may
 * learn at once. The rest is planned again in the same way when a copy ends.
 */
#include "route_parts.h"

#include <string.h>

enum { NO_SERVER = GW__NO_NODE };

/* Only the rows of eligible servers are valid: the whole table is large. */
static void clear_shared(struct gw__shared_slots *shared,
                         const struct gw__plan_loads *loads)
{
    for (unsigned node = gw__nodes_next(&loads->eligible, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&loads->eligible, node + 1))
        memset(shared->of[node], 0, sizeof shared->of[node]);
}

static void count_shared(struct gw__shared_slots *shared,
                         const struct gw__plan_loads *loads,
                         const struct gw__slot_route *s)
{
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned j = 0;
             j < s->count && gw__has_node(&loads->eligible, s->replica[i]); j++)
            shared->of[s->replica[i]][s->replica[j]]++;
}

/* How many slots the node shares with the replicas of the slot. */
static unsigned shared_with(const struct gw__shared_slots *shared,
                            const struct gw__slot_route *slot, unsigned node)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < slot->count; i++)
        sum += shared->of[node][slot->replica[i]];
    return sum;
}

static unsigned best_for(const struct gw__slot_route *slot,
                         const struct gw__plan_loads *loads,
                         const struct gw__shared_slots *shared)
{
    unsigned best = NO_SERVER;
    for (unsigned node = gw__nodes_next(&loads->eligible, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&loads->eligible, node + 1)) {
        if (gw__route_has(slot, node))
            continue;
        if (best == NO_SERVER ||
            loads->replicas[node] < loads->replicas[best] ||
            (loads->replicas[node] == loads->replicas[best] &&
             shared_with(shared, slot, node) < shared_with(shared, slot, best)))
            best = node;
    }
    return best;
}

/* An advised server that does not have it yet, or else the best one. */
static unsigned choose_for(const struct gw__routes *routes, unsigned number,
                           const struct gw__plan_loads *loads,
                           const struct gw__shared_slots *shared)
{
    unsigned node = gw__advised_next(routes, number, loads);
    return node != NO_SERVER ? node
                             : best_for(&routes->slots[number], loads, shared);
}

/* ---- the first time ---- */

static unsigned first_primary(const struct gw__routes *routes,
                              const struct gw__slot_route *slot,
                              const struct gw__plan_loads *loads)
{
    unsigned primary = slot->replica[0];
    for (unsigned k = 1; k < slot->count && routes->advice.slots == 0; k++)
        if (loads->primaries[slot->replica[k]] < loads->primaries[primary])
            primary = slot->replica[k];
    return primary;
}

static void place_slot(struct gw__routes *routes, unsigned number,
                       struct gw__plan_loads *loads,
                       struct gw__shared_slots *shared)
{
    struct gw__slot_route *slot = &routes->slots[number];
    for (unsigned k = 0; k < loads->wanted; k++) {
        unsigned node = choose_for(routes, number, loads, shared);
        slot->replica[slot->count++] = (uint16_t)node;
        loads->replicas[node]++;
    }
    unsigned primary = first_primary(routes, slot, loads);
    gw__route_lead(slot, primary);
    loads->primaries[primary]++;
    loads->placed++;
    count_shared(shared, loads, slot);
}

/* No server has data yet, so successors become primary at once. */
void gw__place_first(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    struct gw__shared_slots shared;
    clear_shared(&shared, loads);
    for (unsigned i = 0; i < routes->slot_count; i++)
        place_slot(routes, i, loads, &shared);
    if (routes->advice.slots > 0)
        return;
    gw__balance_primaries(routes, loads);
    for (unsigned i = 0; i < routes->slot_count; i++) {
        struct gw__slot_route *slot = &routes->slots[i];
        if (slot->successor == GW__NO_NODE)
            continue;
        gw__route_lead(slot, slot->successor);
        slot->successor = GW__NO_NODE;
    }
}

/* ---- replicas that will leave ---- */

/* A replica in sync that wants to leave; the primary last. */
static unsigned drained(const struct gw__slot_route *slot,
                        const struct gw_nodes *eligible)
{
    for (unsigned i = slot->count; i-- > 0;)
        if (!gw__has_node(eligible, slot->replica[i]))
            return slot->replica[i];
    return NO_SERVER;
}

static unsigned successor_for(const struct gw__slot_route *slot,
                              const struct gw__plan_loads *loads)
{
    unsigned best = NO_SERVER;
    for (unsigned i = 1; i < slot->count; i++) {
        unsigned node = slot->replica[i];
        if (gw__has_node(&loads->eligible, node) &&
            (best == NO_SERVER ||
             loads->primaries[node] < loads->primaries[best]))
            best = node;
    }
    return best;
}

/* Drops leaving replicas once enough others are in sync; a primary must hand
 * over first. */
static void let_go(struct gw__slot_route *slot, struct gw__plan_loads *loads)
{
    unsigned node;
    while (gw__route_is_idle(slot) &&
           gw__route_count(slot, &loads->eligible) >= loads->wanted &&
           (node = drained(slot, &loads->eligible)) != NO_SERVER &&
           node != slot->primary) {
        gw__route_drop(slot, node);
        loads->replicas[node]--;
    }
    if (!gw__route_is_idle(slot) || slot->count == 0 ||
        gw__has_node(&loads->eligible, slot->primary))
        return;
    unsigned successor = successor_for(slot, loads);
    if (successor == NO_SERVER)
        return;
    slot->successor = (uint16_t)successor;
    loads->primaries[slot->primary]--;
    loads->primaries[successor]++;
}

/* ---- missing replicas ---- */

/* Sets the replica that the learner will replace. */
static void replace(struct gw__slot_route *slot, unsigned leaver,
                    struct gw__plan_loads *loads)
{
    slot->leaver = (uint16_t)leaver;
    if (leaver == NO_SERVER)
        return;
    loads->replicas[leaver]--;
    if (leaver != slot->primary)
        return;
    loads->primaries[leaver]--;
    loads->primaries[slot->learner]++;
}

/* Keeps the replica that a learner was to replace, because it is needed as
 * well, or in place of one that wants to leave. */
static void keep_leaver(struct gw__slot_route *slot,
                        struct gw__plan_loads *loads)
{
    if (slot->leaver == GW__NO_NODE ||
        !gw__has_node(&loads->eligible, slot->leaver) ||
        gw__route_count(slot, &loads->eligible) >= loads->wanted)
        return;
    loads->replicas[slot->leaver]++;
    if (slot->leaver == slot->primary) {
        loads->primaries[slot->learner]--;
        loads->primaries[slot->primary]++;
    }
    replace(slot, drained(slot, &loads->eligible), loads);
}

static bool lacks(const struct gw__slot_route *slot,
                  const struct gw__plan_loads *loads)
{
    return slot->count > 0 &&
           gw__route_count(slot, &loads->eligible) < loads->wanted;
}

/* A slot that lacks a replica, the server that it would get, and how bad its
 * alternatives are: the server with the least load of the others. */
struct candidate {
    unsigned slot, node, other;
};

/* Its servers are computed again only if the load of one of them has grown:
 * the loads of the others do not fall while replicas are planned. */
struct missing {
    const struct gw__routes *routes;
    struct gw__plan_loads *loads;
    struct gw__shared_slots shared;
    unsigned count;
    struct candidate candidates[GW_PS_SLOTS_MAX]; /* by slot */
};

static unsigned least_other(const struct gw__slot_route *slot,
                            const struct gw__plan_loads *loads, unsigned except)
{
    unsigned least = NO_SERVER;
    for (unsigned node = gw__nodes_next(&loads->eligible, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&loads->eligible, node + 1))
        if (node != except && !gw__route_has(slot, node) &&
            (least == NO_SERVER ||
             loads->replicas[node] < loads->replicas[least]))
            least = node;
    return least;
}

static void choose(const struct missing *m, struct candidate *c)
{
    c->node = choose_for(m->routes, c->slot, m->loads, &m->shared);
    c->other = c->node == NO_SERVER
                   ? NO_SERVER
                   : least_other(&m->routes->slots[c->slot], m->loads, c->node);
}

static unsigned load_of(const struct gw__plan_loads *loads, unsigned node)
{
    return node == NO_SERVER ? UINT32_MAX : loads->replicas[node];
}

/* The candidate with the least loaded server, and of these the one whose
 * alternatives are the worst. NULL: no server can learn any of them. */
static struct candidate *next_pair(struct missing *m)
{
    struct candidate *best = NULL;
    for (unsigned i = 0; i < m->count; i++) {
        struct candidate *c = &m->candidates[i];
        if (c->node == NO_SERVER)
            continue;
        unsigned load = load_of(m->loads, c->node);
        unsigned least = best ? load_of(m->loads, best->node) : UINT32_MAX;
        if (!best || load < least ||
            (load == least &&
             load_of(m->loads, c->other) > load_of(m->loads, best->other)))
            best = c;
    }
    return best;
}

static void add_learner(struct gw__slot_route *slot, unsigned node,
                        struct gw__plan_loads *loads)
{
    loads->replicas[node]++;
    if (loads->learning[node] >= GW__ROUTE_LEARNERS)
        return; /* in a later step */
    loads->learning[node]++;
    slot->learner = (uint16_t)node;
    replace(slot, drained(slot, &loads->eligible), loads);
}

static void add_learners(struct gw__routes *routes, struct missing *m)
{
    struct candidate *c;
    clear_shared(&m->shared, m->loads);
    for (unsigned i = 0; i < routes->slot_count; i++)
        count_shared(&m->shared, m->loads, &routes->slots[i]);
    for (unsigned i = 0; i < m->count; i++)
        choose(m, &m->candidates[i]);
    while ((c = next_pair(m))) {
        unsigned node = c->node;
        add_learner(&routes->slots[c->slot], node, m->loads);
        m->count--;
        memmove(c, c + 1, (size_t)(m->candidates + m->count - c) * sizeof *c);
        for (unsigned i = 0; i < m->count; i++)
            if (m->candidates[i].node == node || m->candidates[i].other == node)
                choose(m, &m->candidates[i]);
    }
}

bool gw__place_missing(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    struct missing m; /* large */
    bool missing = false;
    m.routes = routes;
    m.loads = loads;
    m.count = 0;
    for (unsigned i = 0; i < routes->slot_count; i++) {
        struct gw__slot_route *slot = &routes->slots[i];
        keep_leaver(slot, loads);
        let_go(slot, loads);
        missing = missing || lacks(slot, loads) ||
                  drained(slot, &loads->eligible) != NO_SERVER;
        if (lacks(slot, loads) && gw__route_is_idle(slot))
            m.candidates[m.count++].slot = i;
    }
    if (m.count > 0)
        add_learners(routes, &m);
    return !missing;
}
