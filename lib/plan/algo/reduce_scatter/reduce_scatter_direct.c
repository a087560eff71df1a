/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter, direct: every rank sends block j to rank j in one step, and
 * rank j adds the p-1 values to its own.
 *
 *     1 round, p-1 messages and (p-1)/p n bytes per rank
 *
 * The p-1 sources of a block arrive in the same step, so that one pass over all
 * of them reduces it. Rank r begins with rank r + 1, so that not all send to
 * rank 0 first.
 */
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned distance = 1; distance < args->ranks; distance++)
        gw__shift_add(b, &(struct gw__shift){
                             .ranks = args->ranks,
                             .distance = distance,
                             .first = distance,
                             .stride = 1,
                             .count = 1,
                             .action = GW_ADD,
                         });
}

const struct gw_algo gw__algo_reduce_scatter_direct = {
    .name = "direct",
    .collective = GW_REDUCE_SCATTER,
    .summary = "each rank sends block j to rank j in one step",
    .formula = "1 round, p-1 messages, (p-1)/p n bytes per rank",
    .source = "folklore; the first half of NCCL's and MSCCL++'s two-shot",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
    .direct = true,
};
