/* SPDX-License-Identifier: MIT
 *
 * An order of ranks with a cheap ring. Inside a server it prefers the direct
 * links of accelerators and avoids PCIe and the link between sockets; on a
 * torus it is a snake; among racks it crosses each uplink once. This is the
 * travelling salesman problem. Tours are built by nearest neighbour from
 * several start ranks and improved by reversing sections as long as this helps
 * (2-opt: Croes, Oper. Res. 6, 1958); the cheapest one is taken. The result is
 * good, but not proven optimal. It begins at the first rank of the rack order,
 * and is deterministic.
 */
#include "topology_parts.h"

#include <stdlib.h>

enum { RING_RANKS_MAX = 512, STARTS_MAX = 16 };

uint64_t gw__link_cost(uint64_t rate, uint64_t latency_ns)
{
    enum { COST_BYTES = 1 << 20 };
    const uint64_t second_ns = 1000000000;
    return latency_ns + (rate ? COST_BYTES * second_ns / rate : 0);
}

struct tour {
    unsigned ranks;
    uint64_t *cost;         /* [ranks][ranks] */
    unsigned *order, *best; /* indexes of ranks in rack order */
    uint64_t best_cost;
    uint32_t *hosts;
};

static uint64_t path_cost(const struct gw_topology *t, unsigned a, unsigned b)
{
    unsigned links[GW_PATH_LINKS_MAX];
    uint64_t cost = 0;
    unsigned count = gw_topology_path(t, a, b, links);
    for (unsigned i = 0; i < count; i++) {
        struct gw_topology_link link;
        gw_topology_link(t, links[i], &link);
        cost += 1 + gw__link_cost(link.rate, link.latency_ns);
    }
    return cost;
}

static uint64_t between(const struct tour *tour, unsigned i, unsigned j)
{
    unsigned a = tour->order[i % tour->ranks], b = tour->order[j % tour->ranks];
    return tour->cost[(size_t)a * tour->ranks + b];
}

/* From `first` on, always to the nearest rank not yet visited. */
static void nearest_neighbours(struct tour *tour, unsigned first)
{
    unsigned n = tour->ranks;
    for (unsigned i = 0; i < n; i++)
        tour->order[i] = (first + i) % n;
    for (unsigned i = 0; i + 1 < n; i++) {
        unsigned nearest = i + 1;
        for (unsigned j = i + 2; j < n; j++)
            if (between(tour, i, j) < between(tour, i, nearest) ||
                (between(tour, i, j) == between(tour, i, nearest) &&
                 tour->order[j] < tour->order[nearest]))
                nearest = j;
        unsigned rank = tour->order[nearest];
        tour->order[nearest] = tour->order[i + 1];
        tour->order[i + 1] = rank;
    }
}

/* Reverses i + 1 .. j if that makes the tour cheaper. The cost of a pair is the
 * same in both directions as far as the route is. So the section's own cost can
 * change only if routes are asymmetric, which no topology here has. */
static bool reverse_if_cheaper(struct tour *tour, unsigned i, unsigned j)
{
    if (between(tour, i, j) + between(tour, i + 1, j + 1) >=
        between(tour, i, i + 1) + between(tour, j, j + 1))
        return false;
    for (unsigned a = i + 1, b = j; a < b; a++, b--) {
        unsigned rank = tour->order[a];
        tour->order[a] = tour->order[b];
        tour->order[b] = rank;
    }
    return true;
}

static void improve(struct tour *tour)
{
    for (bool better = true; better;) {
        better = false;
        for (unsigned i = 0; i + 2 < tour->ranks; i++)
            for (unsigned j = i + 2; j < tour->ranks; j++)
                better = reverse_if_cheaper(tour, i, j) || better;
    }
}

static void keep_best(struct tour *tour)
{
    uint64_t cost = 0;
    for (unsigned i = 0; i < tour->ranks; i++)
        cost += between(tour, i, i + 1);
    if (cost >= tour->best_cost)
        return;
    tour->best_cost = cost;
    unsigned first = 0;
    while (tour->order[first] != 0)
        first++;
    for (unsigned i = 0; i < tour->ranks; i++)
        tour->best[i] = tour->order[(first + i) % tour->ranks];
}

static void find_tour(const struct gw_topology *t, struct tour *tour)
{
    unsigned n = tour->ranks;
    for (unsigned a = 0; a < n; a++)
        for (unsigned b = 0; b <= a; b++)
            tour->cost[(size_t)a * n + b] = tour->cost[(size_t)b * n + a] =
                a == b ? 0 : path_cost(t, a, b);
    tour->best_cost = UINT64_MAX;
    for (unsigned first = 0; first < n && first < STARTS_MAX; first++) {
        nearest_neighbours(tour, first);
        improve(tour);
        keep_best(tour);
    }
}

void gw__ring_order(struct gw_topology *t)
{
    unsigned n = t->ranks;
    if (n < 4 || n > RING_RANKS_MAX)
        return;
    struct tour tour = {.ranks = n};
    tour.cost = malloc((size_t)n * n * sizeof *tour.cost);
    tour.order = malloc(2 * (size_t)n * sizeof *tour.order);
    tour.hosts = malloc((size_t)n * sizeof *tour.hosts);
    if (tour.cost && tour.order && tour.hosts) {
        tour.best = tour.order + n;
        find_tour(t, &tour);
        for (unsigned i = 0; i < n; i++)
            tour.hosts[i] = t->host_of[tour.best[i]];
        for (unsigned i = 0; i < n; i++)
            t->host_of[i] = tour.hosts[i];
    }
    free(tour.hosts);
    free(tour.order);
    free(tour.cost);
}
