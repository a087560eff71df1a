/* SPDX-License-Identifier: MIT
 *
 * The bound of each collective on a topology (gradwire/optimum.h): the demand
 * that it means, the search for its cut, and the fraction of seconds per byte.
 */
#include "bounds.h"
#include "cut.h"

#include <stdio.h>
#include <stdlib.h>

double gw_optimum_us(const struct gw_optimum *optimum, uint64_t bytes)
{
    double us = 1e6 * (double)bytes * (double)optimum->numerator /
                (double)optimum->denominator;
    return us > optimum->latency_us ? us : optimum->latency_us;
}

enum gw_err gw__optimum_ratio(struct gw_optimum *optimum, uint64_t numerator,
                              uint64_t factor, uint64_t rate,
                              struct gw_error *why)
{
    if (__builtin_mul_overflow(factor, rate, &optimum->denominator))
        return gw_fail(why, GW_EINVAL,
                       "the rates of the links are too large for exact sums");
    uint64_t a = numerator, b = optimum->denominator;
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    if (a > 0) {
        optimum->numerator = numerator / a;
        optimum->denominator /= a;
    }
    return GW_OK;
}

/* ---- collectives with one cut ---- */

static void set_demand(enum gw_collective collective, unsigned ranks,
                       unsigned root, int64_t *weight,
                       struct gw__demand *demand)
{
    bool from_root = collective == GW_BROADCAST || collective == GW_REDUCE;
    bool to_root = collective == GW_GATHER || collective == GW_SCATTER;
    for (unsigned r = 0; r < ranks; r++)
        weight[r] = from_root ? r == root : to_root ? r != root : 1;
    *demand = (struct gw__demand){
        .weight = weight,
        .sink = to_root ? root : GW__NO_SINK,
        .reversed = collective == GW_REDUCE || collective == GW_SCATTER ||
                    collective == GW_REDUCE_SCATTER,
    };
}

/* Does every switch send as much as it receives? Then the switches can be
 * replaced by direct links, and trees reach the bound (Jackson 1988; Bang-
 * Jensen, Frank, Jackson 1995). */
static bool is_balanced(const struct gw__network *n)
{
    bool balanced = true;
    int64_t *net = calloc(n->nodes, sizeof *net);
    for (size_t e = 0; net && e < n->edge_count; e++) {
        net[n->edges[e].from] -= n->edges[e].capacity;
        net[n->edges[e].to] += n->edges[e].capacity;
    }
    for (unsigned v = n->ranks; net && v < n->nodes; v++)
        balanced = balanced && net[v] == 0;
    free(net);
    return net && balanced;
}

enum gw_err gw__optimum_cut(const struct gw__network *network,
                            enum gw_collective collective, unsigned root,
                            struct gw__certificate *certificate,
                            struct gw_error *why)
{
    struct gw__demand demand;
    int64_t *weight = calloc(network->ranks, sizeof *weight);
    *certificate = (struct gw__certificate){0};
    if (!weight)
        return gw_fail(why, GW_ENOMEM, "a bound of %u ranks", network->ranks);
    set_demand(collective, network->ranks, root, weight, &demand);
    enum gw_err err = gw__cut_find(network, &demand, certificate, why);
    free(weight);
    return err;
}

static bool is_scan(const struct gw_optimum *o)
{
    return o->collective == GW_SCAN || o->collective == GW_EXSCAN;
}

/* The last rank of a scan needs what the root of a reduce needs, or all but its
 * own data. */
static enum gw_err find_cut(const struct gw_optimum *o,
                            const struct gw__network *n,
                            struct gw__certificate *c, struct gw_error *why)
{
    return is_scan(o) ? gw__optimum_cut(n, GW_REDUCE, o->ranks - 1, c, why)
                      : gw__optimum_cut(n, o->collective, o->root, c, why);
}

static enum gw_err bound_by_cut(struct gw_optimum *o,
                                const struct gw_topology *topology,
                                const struct gw__network *n,
                                struct gw_error *why)
{
    struct gw__certificate c;
    bool whole = o->collective == GW_BROADCAST || o->collective == GW_REDUCE ||
                 is_scan(o);
    enum gw_err err = find_cut(o, n, &c, why);
    if (!err)
        err = gw__optimum_ratio(o, (uint64_t)c.blocks, whole ? 1 : o->ranks,
                                (uint64_t)c.capacity * n->unit, why);
    if (!err) {
        o->reached = !is_scan(o) && is_balanced(n);
        gw__optimum_name_cut(o, topology, n, c.inside);
        if (whole)
            snprintf(o->reason, sizeof o->reason,
                     "the whole buffer must pass %s", o->cut);
        else
            snprintf(o->reason, sizeof o->reason,
                     "%lld of %u blocks must pass %s", (long long)c.blocks,
                     o->ranks, o->cut);
    }
    gw__certificate_fini(&c);
    return err;
}

/* ---- the bound ---- */

static enum gw_err bound_bytes(struct gw_optimum *o,
                               const struct gw_topology *topology,
                               const struct gw__network *n,
                               struct gw_error *why)
{
    switch (o->collective) {
    case GW_ALLREDUCE:
    case GW_ALLTOALL:
        return gw__optimum_sets(o, topology, n, why);
    case GW_BROADCAST:
    case GW_REDUCE:
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
    case GW_SCAN:
    case GW_EXSCAN:
        return bound_by_cut(o, topology, n, why);
    case GW_BARRIER:
    case GW_CUSTOM:
    case GW_COLLECTIVES:
        break;
    }
    return GW_OK;
}

enum gw_err gw_optimum_find(const struct gw_topology *topology,
                            enum gw_collective collective, unsigned ranks,
                            unsigned root, struct gw_optimum *optimum,
                            struct gw_error *why)
{
    struct gw__network network = {0};
    *optimum = (struct gw_optimum){
        .collective = collective,
        .ranks = ranks,
        .root = gw_collective_rooted(collective) ? root : 0,
        .denominator = 1,
        .cut = "-",
        .reason = "nothing limits the bytes",
    };
    if (collective == GW_CUSTOM)
        return gw_fail(why, GW_ENOTSUP,
                       "custom has no bound of its own; the conditions are "
                       "those of a plan");
    if (optimum->root >= ranks)
        return gw_fail(why, GW_EINVAL,
                       "the root is %u, but there are only %u ranks, numbered "
                       "from 0",
                       root, ranks);
    enum gw_err err = gw__network_init(&network, topology, ranks, false, why);
    if (!err && ranks > 1)
        err = gw__optimum_latency(optimum, &network, why);
    if (!err && ranks > 1 && network.limited && collective != GW_BARRIER)
        err = bound_bytes(optimum, topology, &network, why);
    gw__network_fini(&network);
    return err;
}
