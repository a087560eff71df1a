/* SPDX-License-Identifier: MIT
 *
 * Runs a placement policy: slot after slot from the heaviest, replica after
 * replica. Each candidate comes with its earlier assignments. In this order
 * "the one with the least" is Graham's rule for jobs of known length (Bounds on
 * multiprocessing timing anomalies, 1969), which is at most a third above the
 * optimum.
 */
#include "placement.h"

#include "route_parts.h"

#include <string.h>

struct round {
    const struct gw__placement_case *given;
    struct gw__advice *advice;
    double mean;
    struct gw_placement_server servers[GW__NODES_MAX]; /* [node] */
    unsigned shared[GW__NODES_MAX][GW__NODES_MAX];     /* slots of both */
};

static void start_round(struct round *round,
                        const struct gw__placement_case *given,
                        struct gw__advice *advice)
{
    *round = (struct round){.given = given, .advice = advice};
    for (unsigned i = 0; i < given->slots; i++)
        round->mean += given->weight[i] / given->slots;
    memset(advice, 0, sizeof *advice);
    memset(advice->node, GW__NO_NODE, sizeof advice->node);
    advice->slots = given->slots;
}

/* The heaviest slot without a server; the first of equal ones. */
static unsigned heaviest(const struct round *round)
{
    unsigned best = round->given->slots;
    for (unsigned i = 0; i < round->given->slots; i++)
        if (round->advice->node[i][0] == GW__NO_NODE &&
            (best == round->given->slots ||
             round->given->weight[i] > round->given->weight[best]))
            best = i;
    return best;
}

static bool holds(const struct round *round, unsigned slot, unsigned node)
{
    const struct gw__slot_route *now = round->given->now;
    return now && gw__route_in_sync(&now[slot], node);
}

/* The servers that can still get the slot, with the data for the policy. */
static unsigned candidates(const struct round *round, unsigned slot,
                           const unsigned *given, unsigned given_count,
                           struct gw_placement_server out[GW__NODES_MAX])
{
    uint64_t left = round->given->servers;
    unsigned count = 0;
    for (unsigned k = 0; k < given_count; k++)
        left &= ~((uint64_t)1 << given[k]);
    for (; left; left &= left - 1) {
        unsigned node = (unsigned)__builtin_ctzll(left);
        out[count] = round->servers[node];
        out[count].node = node;
        out[count].has = holds(round, slot, node);
        for (unsigned k = 0; k < given_count; k++)
            out[count].shared += round->shared[node][given[k]];
        count++;
    }
    return count;
}

static void give(struct round *round, unsigned slot, unsigned replica,
                 unsigned node)
{
    struct gw_placement_server *server = &round->servers[node];
    double weight = round->given->weight[slot] / round->mean;
    round->advice->node[slot][replica] = (uint8_t)node;
    server->slots++;
    server->weight += weight;
    if (replica > 0)
        return;
    server->primaries++;
    server->primary_weight += weight;
}

static void count_shared(struct round *round, const unsigned *given,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            round->shared[given[i]][given[j]] += i != j;
}

static enum gw_err query_slot(const struct gw_placement *policy,
                              struct round *round, unsigned slot,
                              unsigned replicas, struct gw_error *why)
{
    struct gw_placement_server servers[GW__NODES_MAX];
    unsigned given[GW_PS_REPLICAS_MAX];
    for (unsigned k = 0; k < replicas; k++) {
        const struct gw_placement_question question = {
            .slot = slot,
            .slot_count = round->given->slots,
            .weight = round->given->weight[slot] / round->mean,
            .replica = k,
            .replicas = replicas,
            .server_count = candidates(round, slot, given, k, servers),
            .servers = servers,
            .given_count = k,
            .given = given};
        unsigned chosen = policy->choose(&question);
        if (chosen >= question.server_count)
            return gw_fail(why, GW_EINVAL,
                           "slot %u, replica %u: the placement chose server "
                           "%u; the %u servers are numbered from 0",
                           slot, k, chosen, question.server_count);
        given[k] = servers[chosen].node;
        give(round, slot, k, given[k]);
    }
    count_shared(round, given, replicas);
    return GW_OK;
}

enum gw_err gw__placement_question(const struct gw_placement *policy,
                                   const struct gw__placement_case *given,
                                   struct gw__advice *advice,
                                   struct gw_error *why)
{
    struct round round;
    unsigned slot, count = (unsigned)__builtin_popcountll(given->servers);
    unsigned replicas = given->replicas < count ? given->replicas : count;
    enum gw_err err = GW_OK;
    start_round(&round, given, advice);
    if (count == 0)
        return gw_fail(why, GW_EINVAL, "no server is available for the slots");
    while (!err && (slot = heaviest(&round)) < given->slots)
        err = query_slot(policy, &round, slot, replicas, why);
    return err;
}
