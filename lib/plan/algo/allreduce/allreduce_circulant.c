/* SPDX-License-Identifier: MIT
 *
 * All-reduce on the circulant graph: the circulant reduce-scatter, then an
 * all-gather along the same skips, backwards.
 *
 *     2 ceil(log2 p) rounds, 2(p-1) blocks = 2(p-1)/p n bytes per rank
 *
 * For every p the fewest bytes, in as few rounds as Rabenseifner needs for a
 * power of two.
 */
#include "plan/algo/circulant.h"
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned skips[GW__CIRCULANT_MAX];
    unsigned rounds = gw__circulant_skips(args->ranks, skips);
    gw__algo_reduce_scatter_circulant.emit(b, args);
    for (unsigned k = 0; k < rounds; k++)
        gw__shift_gather(b, args->ranks, skips[k], skips[k + 1]);
}

const struct gw_algo gw__algo_allreduce_circulant = {
    .name = "circulant",
    .collective = GW_ALLREDUCE,
    .summary = "halving and doubling for any p",
    .formula = "2 ceil(log2 p) rounds, 2(p-1)/p n bytes per rank",
    .source = "Träff, arXiv 2410.14234",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
