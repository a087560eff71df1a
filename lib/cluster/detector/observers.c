/* SPDX-License-Identifier: MIT
 *
 * Builds the graph of observers.h. The permutation begins as the step to the
 * opposite side of the ring and is shuffled by exchanges that keep it allowed.
 */
#include "observers.h"

enum { EXCHANGES = 4, STRANGERS_FROM = 4 };

/* May j watch i as the third observer? It must be neither i nor its
 * neighbour. */
static bool allowed(unsigned p, unsigned i, unsigned j)
{
    unsigned away = (j + p - i) % p;
    return away > 1 && away + 1 < p;
}

static void try_exchange(struct gw__observers *o, unsigned a, unsigned b)
{
    uint16_t of_a = o->stranger[a], of_b = o->stranger[b];
    if (allowed(o->count, a, of_b) && allowed(o->count, b, of_a)) {
        o->stranger[a] = of_b;
        o->stranger[b] = of_a;
    }
}

void gw__observers_make(struct gw__observers *o, unsigned count, uint64_t epoch)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, epoch);
    *o = (struct gw__observers){.count = count};
    unsigned step = count < STRANGERS_FROM ? 0 : count / 2;
    for (unsigned i = 0; i < count; i++)
        o->stranger[i] = (uint16_t)((i + step) % count);
    for (unsigned i = 0; step && i < EXCHANGES * count; i++) {
        unsigned a = (unsigned)gw_rng_below(&rng, count);
        try_exchange(o, a, (unsigned)gw_rng_below(&rng, count));
    }
}

/* The neighbours, without the rank itself. */
static struct gw_nodes neighbours(unsigned count, unsigned rank)
{
    struct gw_nodes ranks = {{0}};
    gw__nodes_add(&ranks, (rank + 1) % count);
    gw__nodes_add(&ranks, (rank + count - 1) % count);
    gw__nodes_remove(&ranks, rank);
    return ranks;
}

struct gw_nodes gw__observers_of(const struct gw__observers *o, unsigned rank)
{
    struct gw_nodes observers = neighbours(o->count, rank);
    if (o->stranger[rank] != rank)
        gw__nodes_add(&observers, o->stranger[rank]);
    return observers;
}

struct gw_nodes gw__observers_observed(const struct gw__observers *o,
                                       unsigned rank)
{
    struct gw_nodes observed = neighbours(o->count, rank);
    for (unsigned i = 0; i < o->count; i++)
        if (o->stranger[i] == rank && i != rank)
            gw__nodes_add(&observed, i);
    return observed;
}
