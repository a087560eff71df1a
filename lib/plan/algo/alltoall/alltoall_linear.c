/* SPDX-License-Identifier: MIT
 *
 * All-to-all, linear: every rank sends all others their blocks in one step.
 *
 *     1 round, p-1 messages, (p-1)/p n bytes per rank (n: all blocks of a rank)
 *
 * Rank r begins with r + 1, so that not all send to rank 0 first. Thakur,
 * Rabenseifner, Gropp, IJHPCA 19(1), 2005, on all-to-all of medium size.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_step(b);
    for (unsigned d = 1; d < p; d++)
        for (unsigned i = 0; i < p; i++) {
            unsigned j = (i + d) % p;
            gw_builder_add(b, i, j, i * p + j, GW_REPLACE);
        }
}

const struct gw_algo gw__algo_alltoall_linear = {
    .name = "linear",
    .collective = GW_ALLTOALL,
    .summary = "all blocks at once, straight to their ranks",
    .formula = "1 round, (p-1)/p n bytes per rank",
    .source = "Thakur et al. 2005",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_pair,
    .emit = emit,
    .direct = true,
};
