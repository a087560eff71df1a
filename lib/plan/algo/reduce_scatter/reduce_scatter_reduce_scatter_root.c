/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter by a reduction of all blocks to rank 0 and a scatter from
 * there, both along the same binomial tree.
 *
 *     2 ceil(log2 p) rounds; rank 0 receives n in each of the first
 *     ceil(log2 p), and sends (p-1)/p n
 *
 * This follows directly from the definition and is the baseline for the others:
 * rank 0 does all of the additions that the ranks could share.
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    const struct gw_algo_args rooted = {.ranks = args->ranks};
    gw_builder_ports(b, 1);
    gw__binomial_reduce(b, &rooted, args->ranks);
    gw__binomial_scatter(b, &rooted);
}

const struct gw_algo gw__algo_reduce_scatter_reduce_scatter_root = {
    .name = "reduce_scatter_root",
    .collective = GW_REDUCE_SCATTER,
    .summary = "a reduction to rank 0, which scatters the sums",
    .formula = "2 ceil(log2 p) rounds, ceil(log2 p) n bytes into rank 0",
    .source = "Chan et al. 2007 (minimum spanning tree reduce-scatter)",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
    .baseline = true,
};
