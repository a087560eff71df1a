/* SPDX-License-Identifier: MIT
 *
 * Integer capacities (ForestColl, section 4.2). If a/b is the bound in blocks by
 * capacity and g divides b and all capacities c, then a c / g are capacities
 * into which b / g trees per block fit. If these are too many, a smaller number
 * k of trees and the least factor u for which they fit into the capacities
 * floor(u c) is searched (section 5.4: fixed k). No link needs more than all
 * trees once per rank, so that links without a limit stay small.
 */
#include "synthesis.h"

#include <math.h>

static int64_t divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void set_starts(struct gw__digraph *g, const int64_t *weight, int64_t k)
{
    g->total = 0;
    for (unsigned r = 0; r < g->ranks; r++)
        g->total += g->start[r] = k * weight[r];
}

/* Capacities times factor, rounded down. Before gw__digraph_compact the edges
 * are those of the network. */
static void set_capacities(struct gw__digraph *g, const struct gw__network *n,
                           double factor)
{
    int64_t most = g->total * g->ranks;
    for (size_t i = 0; i < n->edge_count; i++) {
        double scaled = floor((double)n->edges[i].capacity * factor + 1e-9);
        g->edges[i].capacity = scaled < (double)most ? (int64_t)scaled : most;
    }
}

/* The least factor for k trees, to a thousandth of the bound's; it is at least
 * k times that. */
static double least_factor(struct gw__digraph *g, const struct gw__network *n,
                           double low, double high)
{
    double step = low / 1000;
    set_capacities(g, n, low);
    if (gw__digraph_holds(g))
        return low;
    while (high - low > step && !g->full) {
        double middle = (low + high) / 2;
        set_capacities(g, n, middle);
        if (gw__digraph_holds(g))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The fewest trees with a loss of less than a percent, or the best number. */
static unsigned approximate(struct gw__digraph *g, const struct gw__network *n,
                            const int64_t *weight, double bound, unsigned most)
{
    enum { LOSS_MAX = 4 };
    double best = (double)INFINITY, factor = 0;
    unsigned trees = 0;
    for (unsigned k = 1; k <= most && best > 1.01 && !g->full;
         k += (k + 3) / 4) {
        set_starts(g, weight, k);
        double u = least_factor(g, n, bound * k, LOSS_MAX * bound * k);
        if (u / k / bound < best) {
            best = u / k / bound;
            factor = u;
            trees = k;
        }
    }
    set_starts(g, weight, trees);
    set_capacities(g, n, factor);
    return gw__digraph_holds(g) ? trees : 0;
}

unsigned gw__scale(struct gw__digraph *graph, const struct gw__network *network,
                   const int64_t *weight, int64_t blocks, int64_t capacity,
                   unsigned times, unsigned most)
{
    int64_t common = divisor(blocks, capacity);
    int64_t a = blocks / common, b = capacity / common, g = b;
    for (size_t i = 0; i < network->edge_count; i++)
        g = divisor(network->edges[i].capacity, g);
    if (b / g > (int64_t)(most / times))
        return approximate(graph, network, weight,
                           (double)blocks / (double)capacity, most);
    set_starts(graph, weight, times * b / g);
    int64_t most_used = graph->total * graph->ranks;
    for (size_t i = 0; i < network->edge_count; i++) {
        int64_t exact = network->edges[i].capacity / g * a * times;
        graph->edges[i].capacity = exact < most_used ? exact : most_used;
    }
    return (unsigned)(times * b / g);
}
