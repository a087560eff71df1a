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

#include <stdlib.h>

struct round {
    const struct gw__placement_case *input;
    struct gw__advice *advice;
    double mean;
    struct gw_placement_server servers[GW__ROUTE_NODES]; /* [node] */
    struct gw__shared_slots *shared;
};

static void start_round(struct round *round,
                        const struct gw__placement_case *input,
                        struct gw__advice *advice,
                        struct gw__shared_slots *shared)
{
    *round = (struct round){.input = input, .advice = advice, .shared = shared};
    for (unsigned i = 0; i < input->slots; i++)
        round->mean += input->weight[i] / input->slots;
    gw__advice_clear(advice, input->slots);
}

/* The heaviest slot without a server; the first of equal ones. */
static unsigned heaviest(const struct round *round)
{
    unsigned best = round->input->slots;
    for (unsigned i = 0; i < round->input->slots; i++)
        if (round->advice->node[i][0] == GW__NO_NODE &&
            (best == round->input->slots ||
             round->input->weight[i] > round->input->weight[best]))
            best = i;
    return best;
}

static bool holds(const struct round *round, unsigned slot, unsigned node)
{
    const struct gw__slot_route *now = round->input->now;
    return now && gw__route_in_sync(&now[slot], node);
}

/* The servers that can still get the slot, with the data for the policy. */
static unsigned candidates(const struct round *round, unsigned slot,
                           const unsigned *assigned, unsigned assigned_count,
                           struct gw_placement_server out[GW__ROUTE_NODES])
{
    struct gw_nodes left = round->input->servers;
    unsigned count = 0;
    for (unsigned k = 0; k < assigned_count; k++)
        gw__nodes_remove(&left, assigned[k]);
    for (unsigned node = gw__nodes_next(&left, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&left, node + 1)) {
        out[count] = round->servers[node];
        out[count].node = node;
        out[count].has = holds(round, slot, node);
        for (unsigned k = 0; k < assigned_count; k++)
            out[count].shared += round->shared->of[node][assigned[k]];
        count++;
    }
    return count;
}

static void assign_slot(struct round *round, unsigned slot, unsigned replica,
                        unsigned node)
{
    struct gw_placement_server *server = &round->servers[node];
    double weight = round->input->weight[slot] / round->mean;
    round->advice->node[slot][replica] = (uint16_t)node;
    server->slots++;
    server->weight += weight;
    if (replica > 0)
        return;
    server->primaries++;
    server->primary_weight += weight;
}

static void count_shared(struct round *round, const unsigned *assigned,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            if (i != j)
                round->shared->of[assigned[i]][assigned[j]]++;
}

static enum gw_err query_slot(const struct gw_placement *policy,
                              struct round *round, unsigned slot,
                              unsigned replicas, struct gw_error *why)
{
    struct gw_placement_server servers[GW__ROUTE_NODES];
    unsigned assigned[GW_PS_REPLICAS_MAX];
    for (unsigned k = 0; k < replicas; k++) {
        const struct gw_placement_question question = {
            .slot = slot,
            .slot_count = round->input->slots,
            .weight = round->input->weight[slot] / round->mean,
            .replica = k,
            .replicas = replicas,
            .server_count = candidates(round, slot, assigned, k, servers),
            .servers = servers,
            .assigned_count = k,
            .assigned = assigned};
        unsigned chosen = policy->choose(&question);
        if (chosen >= question.server_count)
            return gw_fail(why, GW_EINVAL,
                           "slot %u, replica %u: the placement chose server "
                           "%u; the %u servers are numbered from 0",
                           slot, k, chosen, question.server_count);
        assigned[k] = servers[chosen].node;
        assign_slot(round, slot, k, assigned[k]);
    }
    count_shared(round, assigned, replicas);
    return GW_OK;
}

enum gw_err gw__placement_run(const struct gw_placement *policy,
                              const struct gw__placement_case *input,
                              struct gw__advice *advice, struct gw_error *why)
{
    struct round round;
    unsigned slot, count = gw__nodes_count(input->servers);
    unsigned replicas = input->replicas < count ? input->replicas : count;
    enum gw_err err = GW_OK;
    if (count == 0)
        return gw_fail(why, GW_EINVAL, "no server is available for the slots");
    struct gw__shared_slots *shared = calloc(1, sizeof *shared);
    if (!shared)
        return gw_fail(why, GW_ENOMEM, "a placement of %u slots", input->slots);
    start_round(&round, input, advice, shared);
    while (!err && (slot = heaviest(&round)) < input->slots)
        err = query_slot(policy, &round, slot, replicas, why);
    free(shared);
    return err;
}
