/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter on the circulant graph: a rank that is still responsible for
 * the blocks of the next s ranks, itself included, sends those from s' =
 * ceil(s/2) on to rank r + s', and adds what it receives from r - s' to those
 * that it keeps. Each round halves s, rounding up, from p to 1, so any p is
 * served.
 *
 *     ceil(log2 p) rounds, p-1 blocks = (p-1)/p n bytes per rank
 *
 * Optimal in rounds, bytes and additions for every p, a power of two or not.
 * Each sum has its own order, so the operation must commute.
 */
#include "plan/algo/circulant.h"
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned skips[GW__CIRCULANT_MAX];
    unsigned rounds = gw__circulant_skips(args->ranks, skips);
    gw_builder_ports(b, 1);
    for (unsigned k = rounds; k > 0; k--) {
        gw_builder_step(b);
        gw__shift_add(b, &(struct gw__shift){
                             .ranks = args->ranks,
                             .distance = skips[k - 1],
                             .first = skips[k - 1],
                             .stride = 1,
                             .count = skips[k] - skips[k - 1],
                             .action = GW_ADD,
                         });
    }
}

const struct gw_algo gw__algo_reduce_scatter_circulant = {
    .name = "circulant",
    .collective = GW_REDUCE_SCATTER,
    .summary = "halving with rounding up: optimal for any p",
    .formula = "ceil(log2 p) rounds, (p-1)/p n bytes per rank",
    .source = "Träff, arXiv 2410.14234",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
