/* SPDX-License-Identifier: MIT
 *
 * Balances the load. A total of L replicas (or primaries) on n servers is even
 * if each server has L/n of them, rounded down or up. One is moved only from a
 * server with more than that to one that may have more, or from one that may
 * give one to one with less. So there are no unnecessary moves.
 *
 * Replicas move by a learner that replaces one. A server that has two more than
 * another has a slot which the other does not, so one step is always enough. Of
 * the movable slots, those are chosen whose primary has most to give away, in
 * turn for each primary, so that the server can soon be primary of its share.
 * The primary itself is replaced only if it has one to give away anyway.
 *
 * Primaries move by a successor. A server that could give one may share no slot
 * with a server that needs one. Then the move follows a path of servers, each
 * the successor of the one before. If each slot has the wanted replicas and
 * these are even, there is a path as long as the primaries are not even (Harvey
 * et al., Semi-matchings, WADS 2003). Paths of more than one step wait until no
 * change is pending, since that may make them shorter.
 */
#include "route_parts.h"

enum { NO_SERVER = GW__NO_NODE };

struct evenness {
    const unsigned *load;
    unsigned low, high;
    bool too_full; /* some server has more than `high` */
};

static struct evenness evenness_of(const struct gw__plan_loads *loads,
                                   const unsigned load[GW__ROUTE_NODES],
                                   unsigned total)
{
    struct evenness e = {.load = load, .low = total / loads->servers};
    e.high = e.low + (total % loads->servers > 0);
    for (uint64_t left = loads->eligible; left; left &= left - 1)
        e.too_full = e.too_full || load[__builtin_ctzll(left)] > e.high;
    return e;
}

/* A server with too much gives first. Otherwise a server that has just got
 * enough would have to take more from it later. */
static bool may_move(const struct evenness *e, unsigned from, unsigned to)
{
    if (e->too_full)
        return e->load[from] > e->high && e->load[to] < e->high;
    return e->load[from] > e->low && e->load[to] < e->low;
}

/* ---- replicas ---- */

/* How many slots of this primary the node has or will get. */
static int has_of(const struct gw__routes *routes, unsigned node,
                  unsigned primary)
{
    int count = 0;
    for (unsigned i = 0; i < routes->slot_count; i++)
        count += routes->slots[i].primary == primary &&
                 gw__route_has(&routes->slots[i], node);
    return count;
}

struct move {
    unsigned from, to, slot;
    unsigned gap; /* of their loads; 0: no move */
    int value;
};

/* Finds the best slot to move between the two, if better than *best. */
static void find_move(const struct gw__routes *routes,
                      const struct gw__plan_loads *loads,
                      const struct evenness *primaries, struct move move,
                      struct move *best)
{
    for (unsigned i = 0; i < routes->slot_count; i++) {
        const struct gw__slot_route *slot = &routes->slots[i];
        if (!gw__route_is_idle(slot) || !gw__route_in_sync(slot, move.from) ||
            gw__route_in_sync(slot, move.to))
            continue;
        move.slot = i;
        move.value = (int)loads->primaries[slot->primary] -
                     has_of(routes, move.to, slot->primary);
        if (slot->primary == move.from &&
            !may_move(primaries, move.from, move.to))
            move.value = -GW_PS_SLOTS_MAX;
        if (!best->gap || move.value > best->value ||
            (move.value == best->value && move.gap > best->gap))
            *best = move;
    }
}

static void replace(struct gw__slot_route *slot, struct gw__plan_loads *loads,
                    unsigned from, unsigned to)
{
    slot->learner = (uint8_t)to;
    slot->leaver = (uint8_t)from;
    loads->replicas[from]--;
    loads->replicas[to]++;
    loads->learning[to]++;
    if (slot->primary != from)
        return;
    loads->primaries[from]--;
    loads->primaries[to]++;
}

/* Adds one learner, where it is best. */
static bool move_replica(struct gw__routes *routes,
                         struct gw__plan_loads *loads)
{
    struct move best = {0};
    const struct evenness even =
        evenness_of(loads, loads->replicas, loads->placed * loads->wanted);
    const struct evenness primaries =
        evenness_of(loads, loads->primaries, loads->placed);
    for (uint64_t a = loads->eligible; a; a &= a - 1)
        for (uint64_t b = loads->eligible; b; b &= b - 1) {
            struct move move = {.from = (unsigned)__builtin_ctzll(a),
                                .to = (unsigned)__builtin_ctzll(b)};
            if (loads->learning[move.to] >= GW__ROUTE_LEARNERS ||
                !may_move(&even, move.from, move.to))
                continue;
            move.gap = loads->replicas[move.from] - loads->replicas[move.to];
            find_move(routes, loads, &primaries, move, &best);
        }
    if (best.gap)
        replace(&routes->slots[best.slot], loads, best.from, best.to);
    return best.gap;
}

/* ---- primaries ---- */

struct search {
    unsigned steps[GW__ROUTE_NODES];  /* number of steps; 0: not reached, or the
                                       start */
    unsigned before[GW__ROUTE_NODES]; /* the server before on the path, */
    unsigned slot[GW__ROUTE_NODES];   /* and the slot that it would hand over */
    unsigned order[GW__ROUTE_NODES];
    unsigned count;
};

static void visit(const struct gw__routes *routes, uint64_t eligible,
                  unsigned from, unsigned start, struct search *search)
{
    for (unsigned i = 0; i < routes->slot_count; i++) {
        const struct gw__slot_route *slot = &routes->slots[i];
        if (slot->primary != from || !gw__route_is_idle(slot))
            continue;
        for (unsigned k = 1; k < slot->count; k++) {
            unsigned node = slot->replica[k];
            if (!gw__has_node(eligible, node) || node == start ||
                search->steps[node])
                continue;
            search->steps[node] = search->steps[from] + 1;
            search->before[node] = from;
            search->slot[node] = i;
            search->order[search->count++] = node;
        }
    }
}

/* The nearest server that may get a primary from `start`; GW__NO_NODE: none. */
static unsigned nearest(const struct gw__routes *routes,
                        const struct gw__plan_loads *loads,
                        const struct evenness *even, unsigned start,
                        unsigned steps_max, struct search *search)
{
    *search = (struct search){.order = {start}, .count = 1};
    for (unsigned i = 0; i < search->count; i++) {
        unsigned node = search->order[i];
        if (i > 0 && may_move(even, start, node))
            return node;
        if (search->steps[node] < steps_max)
            visit(routes, loads->eligible, node, start, search);
    }
    return NO_SERVER;
}

/* Makes successors along the shortest path from the fullest server that has
 * one. */
static bool move_primary(struct gw__routes *routes,
                         struct gw__plan_loads *loads, unsigned steps_max)
{
    const struct evenness even =
        evenness_of(loads, loads->primaries, loads->placed);
    struct search search, best = {0};
    unsigned from = NO_SERVER, to = NO_SERVER;
    for (uint64_t left = loads->eligible; left; left &= left - 1) {
        unsigned start = (unsigned)__builtin_ctzll(left);
        unsigned end = nearest(routes, loads, &even, start, steps_max, &search);
        if (end == NO_SERVER)
            continue;
        bool first = from == NO_SERVER;
        bool shorter = !first && search.steps[end] < best.steps[to];
        bool fuller = !first && search.steps[end] == best.steps[to] &&
                      loads->primaries[start] > loads->primaries[from];
        if (!first && !shorter && !fuller)
            continue;
        best = search;
        from = start;
        to = end;
    }
    if (from == NO_SERVER)
        return false;
    loads->primaries[from]--;
    loads->primaries[to]++;
    for (unsigned node = to; node != from; node = best.before[node])
        routes->slots[best.slot[node]].successor = (uint8_t)node;
    return true;
}

static bool is_quiet(const struct gw__routes *routes)
{
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (!gw__route_is_idle(&routes->slots[i]))
            return false;
    return true;
}

void gw__balance_primaries(struct gw__routes *routes,
                           struct gw__plan_loads *loads)
{
    while (move_primary(routes, loads, 1))
        ;
    while (is_quiet(routes) && move_primary(routes, loads, GW__ROUTE_NODES))
        ;
}

void gw__balance(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    while (move_replica(routes, loads))
        ;
    gw__balance_primaries(routes, loads);
}
