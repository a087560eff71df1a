/* SPDX-License-Identifier: MIT
 *
 * Computes new places for slots of known load. The fullest server gives slots,
 * one after another, to the server that minimises the larger of their two
 * loads, until its load is close to the mean. Replicas in sync are preferred,
 * because they become primary without a copy. Then secondaries follow, so that
 * servers hold equally many replicas.
 *
 * This is local search for makespan scheduling. Each step lowers the largest
 * load of two servers, so it ends. Not more than a quarter of the slots move at
 * once.
 */
#include "slot_load.h"

#include "route_parts.h"

/* Loads as multiples of the mean: close enough, too small to move, and the
 * assumed cost of a copy. */
static const double enough = 1.05, too_little = 0.01, copy_costs = 0.02;

struct balance {
    const struct gw__routes *routes;
    const double *load;
    struct gw__advice *advice;
    struct gw_nodes servers;
    double mean;
    double of[GW__ROUTE_NODES]; /* load of each server */
    unsigned replicas[GW__ROUTE_NODES];
};

static bool has(const struct balance *b, unsigned slot, unsigned node)
{
    for (unsigned k = 0; k < GW_PS_REPLICAS_MAX; k++)
        if (b->advice->node[slot][k] == node)
            return true;
    return false;
}

/* Starts with the replicas that may stay, the primary first. */
static void start_balance(struct balance *b)
{
    double sum = 0;
    gw__advice_clear(b->advice, b->routes->slot_count);
    for (unsigned i = 0; i < b->routes->slot_count; i++) {
        const struct gw__slot_route *slot = &b->routes->slots[i];
        unsigned count = 0;
        for (unsigned k = 0; k < slot->count && count < GW_PS_REPLICAS_MAX; k++)
            if (gw__has_node(&b->servers, slot->replica[k])) {
                b->advice->node[i][count++] = slot->replica[k];
                b->replicas[slot->replica[k]]++;
            }
        sum += b->load[i];
        if (count > 0)
            b->of[b->advice->node[i][0]] += b->load[i];
    }
    b->mean = sum / gw__nodes_count(b->servers);
}

static unsigned fullest(const struct balance *b)
{
    unsigned best = gw__nodes_next(&b->servers, 0);
    for (unsigned node = best; node < GW__NODES_MAX;
         node = gw__nodes_next(&b->servers, node + 1))
        if (b->of[node] > b->of[best])
            best = node;
    return best;
}

static double larger_load(double a, double b)
{
    return a > b ? a : b;
}

/* ---- primaries ---- */

/* The other replicas stay; a new `to` replaces the primary. */
static void move(struct balance *b, unsigned slot, unsigned to)
{
    uint16_t *node = b->advice->node[slot];
    unsigned from = node[0], at = 0;
    b->of[from] -= b->load[slot];
    b->of[to] += b->load[slot];
    while (at < GW_PS_REPLICAS_MAX && node[at] != to)
        at++;
    if (at < GW_PS_REPLICAS_MAX) {
        node[at] = (uint16_t)from;
    } else {
        b->replicas[from]--;
        b->replicas[to]++;
    }
    node[0] = (uint16_t)to;
}

/* Moves one slot away from the fullest server; false: no move is useful. */
static bool improve(struct balance *b)
{
    unsigned from = fullest(b), best_slot = 0, best_to = GW__NO_NODE;
    double best = b->of[from] - too_little * b->mean;
    if (b->of[from] <= enough * b->mean)
        return false;
    for (unsigned i = 0; i < b->advice->slots; i++) {
        if (b->advice->node[i][0] != from)
            continue;
        for (unsigned to = gw__nodes_next(&b->servers, 0); to < GW__NODES_MAX;
             to = gw__nodes_next(&b->servers, to + 1)) {
            double after =
                larger_load(b->of[from] - b->load[i], b->of[to] + b->load[i]);
            if (!has(b, i, to))
                after += copy_costs * b->mean;
            if (to == from || after >= best)
                continue;
            best = after;
            best_slot = i;
            best_to = to;
        }
    }
    if (best_to == GW__NO_NODE)
        return false;
    move(b, best_slot, best_to);
    return true;
}

/* ---- secondaries ---- */

static bool assign_secondary(struct balance *b, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < b->advice->slots; i++)
        for (unsigned k = 1; k < GW_PS_REPLICAS_MAX; k++)
            if (b->advice->node[i][k] == from && !has(b, i, to)) {
                b->advice->node[i][k] = (uint16_t)to;
                b->replicas[from]--;
                b->replicas[to]++;
                return true;
            }
    return false;
}

/* Moves a replica from the server with most replicas to the one with fewest. */
static bool even_out(struct balance *b)
{
    unsigned most = gw__nodes_next(&b->servers, 0), least = most;
    for (unsigned node = most; node < GW__NODES_MAX;
         node = gw__nodes_next(&b->servers, node + 1)) {
        if (b->replicas[node] > b->replicas[most])
            most = node;
        if (b->replicas[node] < b->replicas[least])
            least = node;
    }
    return b->replicas[most] >= b->replicas[least] + 2 &&
           assign_secondary(b, most, least);
}

double gw__slot_balance(const struct gw__routes *routes,
                        const double load[GW_PS_SLOTS_MAX],
                        const struct gw_nodes *servers,
                        struct gw__advice *advice)
{
    struct balance b = {
        .routes = routes, .load = load, .advice = advice, .servers = *servers};
    start_balance(&b);
    double before = b.of[fullest(&b)];
    unsigned most = 1 + routes->slot_count / 4;
    while (most > 0 && improve(&b))
        most--;
    while (even_out(&b))
        ;
    return before > 0 ? 1 - b.of[fullest(&b)] / before : 0;
}
