/* SPDX-License-Identifier: MIT
 *
 * Barrier by dissemination: in the round of 2^k every rank notifies the rank
 * 2^k to its right that it and all ranks whose notices it has received have
 * arrived. The number of ranks known to each rank doubles.
 *
 *     ceil(log2 p) rounds, one empty message per rank and round
 *
 * Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int.
 * J. Parallel Programming 17(1), 1988.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_ports(b, 1);
    for (unsigned hop = 1; hop < p; hop *= 2) {
        gw_builder_step(b);
        for (unsigned i = 0; i < p; i++)
            gw_builder_add(b, i, (i + hop) % p, 0, GW_TOKEN);
    }
}

const struct gw_algo gw__algo_barrier_dissemination = {
    .name = "dissemination",
    .collective = GW_BARRIER,
    .summary = "the ranks that each rank has heard of double each round",
    .formula = "ceil(log2 p) rounds, no bytes",
    .source = "Hensgen, Finkel, Manber 1988",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
};
