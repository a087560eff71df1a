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

#include <string.h>

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
    for (unsigned node = gw__nodes_next(&loads->eligible, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&loads->eligible, node + 1))
        e.too_full = e.too_full || load[node] > e.high;
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

/* Could it give one to any server? */
static bool may_give(const struct evenness *e, unsigned from)
{
    return e->load[from] > (e->too_full ? e->high : e->low);
}

/* ---- replicas ---- */

struct move {
    unsigned from, to, slot;
    unsigned gap; /* of their loads; 0: no move */
    int value;
};

/* The best move of a replica. All candidates for one receiver are compared in
 * one pass over the slots. */
struct move_search {
    const struct gw__routes *routes;
    const struct gw__plan_loads *loads;
    struct evenness replicas, primaries;
    unsigned has[GW__ROUTE_NODES]; /* slots that the receiver has or will get,
                                      by their primary */
    struct move best;
};

static void count_slots_of(struct move_search *s, unsigned to)
{
    const struct gw__routes *routes = s->routes;
    memset(s->has, 0, sizeof s->has);
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (routes->slots[i].primary != GW__NO_NODE &&
            gw__route_has(&routes->slots[i], to))
            s->has[routes->slots[i].primary]++;
}

/* Of equal moves, the one from the lowest server to the lowest, of the first
 * slot. */
static bool is_better(const struct move *a, const struct move *b)
{
    if (!b->gap || a->value != b->value)
        return !b->gap || a->value > b->value;
    if (a->gap != b->gap)
        return a->gap > b->gap;
    return a->from != b->from ? a->from < b->from
           : a->to != b->to   ? a->to < b->to
                              : a->slot < b->slot;
}

static void consider_slot(struct move_search *s, unsigned number, unsigned to)
{
    const struct gw__plan_loads *loads = s->loads;
    const struct gw__slot_route *slot = &s->routes->slots[number];
    if (!gw__route_is_idle(slot) || gw__route_in_sync(slot, to))
        return;
    for (unsigned k = 0; k < slot->count; k++) {
        unsigned from = slot->replica[k];
        struct move move = {.from = from, .to = to, .slot = number};
        if (!gw__has_node(&loads->eligible, from) ||
            !may_move(&s->replicas, from, to))
            continue;
        move.gap = loads->replicas[from] - loads->replicas[to];
        move.value =
            (int)loads->primaries[slot->primary] - (int)s->has[slot->primary];
        if (slot->primary == from && !may_move(&s->primaries, from, to))
            move.value = -GW_PS_SLOTS_MAX;
        if (is_better(&move, &s->best))
            s->best = move;
    }
}

/* Could any server give it a replica? */
static bool may_receive(const struct move_search *s, unsigned to)
{
    const struct evenness *e = &s->replicas;
    return s->loads->learning[to] < GW__ROUTE_LEARNERS &&
           e->load[to] < (e->too_full ? e->high : e->low);
}

static void replace(struct gw__slot_route *slot, struct gw__plan_loads *loads,
                    unsigned from, unsigned to)
{
    slot->learner = (uint16_t)to;
    slot->leaver = (uint16_t)from;
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
    struct move_search s = {
        .routes = routes,
        .loads = loads,
        .replicas =
            evenness_of(loads, loads->replicas, loads->placed * loads->wanted),
        .primaries = evenness_of(loads, loads->primaries, loads->placed)};
    for (unsigned to = gw__nodes_next(&loads->eligible, 0); to < GW__NODES_MAX;
         to = gw__nodes_next(&loads->eligible, to + 1)) {
        if (!may_receive(&s, to))
            continue;
        count_slots_of(&s, to);
        for (unsigned i = 0; i < routes->slot_count; i++)
            consider_slot(&s, i, to);
    }
    if (s.best.gap)
        replace(&routes->slots[s.best.slot], loads, s.best.from, s.best.to);
    return s.best.gap;
}

/* ---- primaries ---- */

enum { NO_SLOT = GW_PS_SLOTS_MAX };

/* The slots of each primary, in ascending order. */
struct by_primary {
    uint16_t first[GW__ROUTE_NODES]; /* NO_SLOT: none */
    uint16_t next[GW_PS_SLOTS_MAX];
};

static void sort_by_primary(struct by_primary *by,
                            const struct gw__routes *routes)
{
    for (unsigned node = 0; node < GW__ROUTE_NODES; node++)
        by->first[node] = NO_SLOT;
    for (unsigned i = routes->slot_count; i-- > 0;) {
        unsigned primary = routes->slots[i].primary;
        if (primary == GW__NO_NODE)
            continue;
        by->next[i] = by->first[primary];
        by->first[primary] = (uint16_t)i;
    }
}

struct search {
    unsigned count;
    uint16_t order[GW__ROUTE_NODES];
    /* number of steps; 0: not reached, or the start */
    uint16_t steps[GW__ROUTE_NODES];
    uint16_t before[GW__ROUTE_NODES]; /* the server before on the path, */
    uint16_t slot[GW__ROUTE_NODES];   /* and the slot that it would hand over */
};

static void visit(const struct gw__routes *routes, const struct by_primary *by,
                  const struct gw_nodes *eligible, unsigned from,
                  unsigned start, struct search *search)
{
    for (unsigned i = by->first[from]; i != NO_SLOT; i = by->next[i]) {
        const struct gw__slot_route *slot = &routes->slots[i];
        if (!gw__route_is_idle(slot))
            continue;
        for (unsigned k = 1; k < slot->count; k++) {
            unsigned node = slot->replica[k];
            if (!gw__has_node(eligible, node) || node == start ||
                search->steps[node])
                continue;
            search->steps[node] = (uint16_t)(search->steps[from] + 1);
            search->before[node] = (uint16_t)from;
            search->slot[node] = (uint16_t)i;
            search->order[search->count++] = (uint16_t)node;
        }
    }
}

/* The nearest server that may get a primary from `start`; GW__NO_NODE: none. */
static unsigned nearest(const struct gw__routes *routes,
                        const struct by_primary *by,
                        const struct gw__plan_loads *loads,
                        const struct evenness *even, unsigned start,
                        unsigned steps_max, struct search *search)
{
    memset(search->steps, 0, sizeof search->steps);
    search->order[0] = (uint16_t)start;
    search->count = 1;
    for (unsigned i = 0; i < search->count; i++) {
        unsigned node = search->order[i];
        if (i > 0 && may_move(even, start, node))
            return node;
        if (search->steps[node] < steps_max)
            visit(routes, by, &loads->eligible, node, start, search);
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
    struct by_primary by;
    struct search search, best;
    unsigned from = NO_SERVER, to = NO_SERVER;
    sort_by_primary(&by, routes);
    for (unsigned start = gw__nodes_next(&loads->eligible, 0);
         start < GW__NODES_MAX;
         start = gw__nodes_next(&loads->eligible, start + 1)) {
        if (!may_give(&even, start))
            continue;
        unsigned end =
            nearest(routes, &by, loads, &even, start, steps_max, &search);
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
        routes->slots[best.slot[node]].successor = (uint16_t)node;
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
