/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter, recursive halving: ranks half of p apart exchange the half of
 * the vector that the other side wants, then a quarter apart a quarter of it,
 * until each holds the sum of its own block.
 *
 *     p = 2^k:    log2 p rounds, (p-1)/p n bytes per rank
 *     any other:  floor(log2 p) + 2 rounds; a partner hands in n bytes and
 *                 receives its block (butterfly.h)
 *
 * Optimal in rounds and bytes for a power of two. For any other p the circulant
 * algorithm is optimal.
 */
#include "plan/algo/butterfly.h"
#include "plan/algo/shape.h"

/* Partners receive the blocks that their keepers summed for them. */
static void hand_back(struct gw_builder *b, const struct gw__rank_fold *fold)
{
    gw_builder_step(b);
    for (unsigned v = 0; v < fold->extra; v++) {
        unsigned keeper = gw__rank_fold_place(fold, v);
        gw_builder_add(b, keeper, keeper + 1, keeper + 1, GW_REPLACE);
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__rank_fold fold = gw__rank_fold_of(args->ranks);
    gw_builder_ports(b, 1);
    gw__rank_fold_in(b, &fold, args->ranks);
    gw__butterfly_reduce_scatter(b, &fold, &fold);
    hand_back(b, &fold);
}

const struct gw_algo gw__algo_reduce_scatter_recursive_halving = {
    .name = "recursive_halving",
    .collective = GW_REDUCE_SCATTER,
    .summary = "ranks p/2, p/4, ... apart exchange halves",
    .formula = "log2 p rounds, (p-1)/p n bytes per rank"
               " (p not 2^k: 2 rounds more, at most n bytes)",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
