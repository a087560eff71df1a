/* SPDX-License-Identifier: MIT
 *
 * All-reduce by a reduction to rank 0 and a broadcast from there, both along
 * the same binomial tree.
 *
 *     2 ceil(log2 p) rounds; rank 0 sends ceil(log2 p) n bytes, all ranks
 *     together 2(p-1) n
 *
 * The simplest all-reduce and the baseline for the others: half of the ranks
 * idle in most rounds.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    const struct gw_algo_args rooted = {.ranks = args->ranks};
    gw__algo_reduce_binomial.emit(b, &rooted);
    gw__algo_broadcast_binomial.emit(b, &rooted);
}

const struct gw_algo gw__algo_allreduce_reduce_broadcast = {
    .name = "reduce_broadcast",
    .collective = GW_ALLREDUCE,
    .summary = "a binomial tree to rank 0 and back",
    .formula = "2 ceil(log2 p) rounds, at most ceil(log2 p) n bytes per rank",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.5",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
