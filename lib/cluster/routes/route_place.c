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

enum { NO_SERVER = GW__NO_NODE };

struct spread {
    uint16_t shared[GW__ROUTE_NODES][GW__ROUTE_NODES]; /* slots of both */
};

static void count_shared(struct spread *spread, const struct gw__slot_route *s)
{
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned j = 0; j < s->count; j++)
            spread->shared[s->replica[i]][s->replica[j]]++;
}

/* How many slots the node shares with the replicas of the slot. */
static unsigned shared_with(const struct spread *spread,
                            const struct gw__slot_route *slot, unsigned node)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < slot->count; i++)
        sum += spread->shared[node][slot->replica[i]];
    return sum;
}

static unsigned best_for(const struct gw__slot_route *slot,
                         const struct gw__plan_loads *loads,
                         const struct spread *spread)
{
    unsigned best = NO_SERVER;
    for (uint64_t left = loads->eligible; left; left &= left - 1) {
        unsigned node = (unsigned)__builtin_ctzll(left);
        if (gw__route_has(slot, node))
            continue;
        if (best == NO_SERVER ||
            loads->replicas[node] < loads->replicas[best] ||
            (loads->replicas[node] == loads->replicas[best] &&
             shared_with(spread, slot, node) < shared_with(spread, slot, best)))
            best = node;
    }
    return best;
}

/* An advised server that does not have it yet, or else the best one. */
static unsigned choose_for(const struct gw__routes *routes, unsigned number,
                           const struct gw__plan_loads *loads,
                           const struct spread *spread)
{
    unsigned node = gw__advised_next(routes, number, loads);
    return node != NO_SERVER ? node
                             : best_for(&routes->slots[number], loads, spread);
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
                       struct gw__plan_loads *loads, struct spread *spread)
{
    struct gw__slot_route *slot = &routes->slots[number];
    for (unsigned k = 0; k < loads->wanted; k++) {
        unsigned node = choose_for(routes, number, loads, spread);
        slot->replica[slot->count++] = (uint8_t)node;
        loads->replicas[node]++;
    }
    unsigned primary = first_primary(routes, slot, loads);
    gw__route_lead(slot, primary);
    loads->primaries[primary]++;
    loads->placed++;
    count_shared(spread, slot);
}

/* No server has data yet, so successors become primary at once. */
void gw__place_first(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    struct spread spread = {0};
    for (unsigned i = 0; i < routes->slot_count; i++)
        place_slot(routes, i, loads, &spread);
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
static unsigned drained(const struct gw__slot_route *slot, uint64_t eligible)
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
        if (gw__has_node(loads->eligible, node) &&
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
           gw__route_count(slot, loads->eligible) >= loads->wanted &&
           (node = drained(slot, loads->eligible)) != NO_SERVER &&
           node != slot->primary) {
        gw__route_drop(slot, node);
        loads->replicas[node]--;
    }
    if (!gw__route_is_idle(slot) || slot->count == 0 ||
        gw__has_node(loads->eligible, slot->primary))
        return;
    unsigned successor = successor_for(slot, loads);
    if (successor == NO_SERVER)
        return;
    slot->successor = (uint8_t)successor;
    loads->primaries[slot->primary]--;
    loads->primaries[successor]++;
}

/* ---- missing replicas ---- */

/* Sets the replica that the learner will replace. */
static void replace(struct gw__slot_route *slot, unsigned leaver,
                    struct gw__plan_loads *loads)
{
    slot->leaver = (uint8_t)leaver;
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
        !gw__has_node(loads->eligible, slot->leaver) ||
        gw__route_count(slot, loads->eligible) >= loads->wanted)
        return;
    loads->replicas[slot->leaver]++;
    if (slot->leaver == slot->primary) {
        loads->primaries[slot->learner]--;
        loads->primaries[slot->primary]++;
    }
    replace(slot, drained(slot, loads->eligible), loads);
}

static bool lacks(const struct gw__slot_route *slot,
                  const struct gw__plan_loads *loads)
{
    return slot->count > 0 &&
           gw__route_count(slot, loads->eligible) < loads->wanted;
}

/* How bad the alternatives are: the least load of the other servers that could
 * learn it. */
static unsigned choice(const struct gw__slot_route *slot,
                       const struct gw__plan_loads *loads, unsigned except)
{
    unsigned least = UINT32_MAX;
    for (uint64_t left = loads->eligible; left; left &= left - 1) {
        unsigned node = (unsigned)__builtin_ctzll(left);
        if (node != except && !gw__route_has(slot, node) &&
            loads->replicas[node] < least)
            least = loads->replicas[node];
    }
    return least;
}

/* The server with the least load that can learn any of `open`, and the slot of
 * these whose alternatives are the worst. */
static unsigned next_pair(const struct gw__routes *routes,
                          const struct gw__plan_loads *loads,
                          const struct spread *spread, uint64_t open,
                          unsigned *number)
{
    unsigned best = NO_SERVER, best_choice = 0;
    for (uint64_t left = open; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        const struct gw__slot_route *slot = &routes->slots[i];
        unsigned node = choose_for(routes, i, loads, spread);
        if (node == NO_SERVER)
            continue;
        unsigned others = choice(slot, loads, node);
        if (best == NO_SERVER ||
            loads->replicas[node] < loads->replicas[best] ||
            (loads->replicas[node] == loads->replicas[best] &&
             others > best_choice)) {
            best = node;
            best_choice = others;
            *number = i;
        }
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
    slot->learner = (uint8_t)node;
    replace(slot, drained(slot, loads->eligible), loads);
}

bool gw__place_missing(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    struct spread spread = {0};
    uint64_t open = 0;
    bool missing = false;
    unsigned number = 0, node;
    for (unsigned i = 0; i < routes->slot_count; i++) {
        struct gw__slot_route *slot = &routes->slots[i];
        count_shared(&spread, slot);
        keep_leaver(slot, loads);
        let_go(slot, loads);
        missing = missing || lacks(slot, loads) ||
                  drained(slot, loads->eligible) != NO_SERVER;
        if (lacks(slot, loads) && gw__route_is_idle(slot))
            open |= (uint64_t)1 << i;
    }
    while ((node = next_pair(routes, loads, &spread, open, &number)) !=
           NO_SERVER) {
        add_learner(&routes->slots[number], node, loads);
        open &= ~((uint64_t)1 << number);
    }
    return !missing;
}
