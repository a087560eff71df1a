/* SPDX-License-Identifier: MIT
 *
 * Gather, linear: every rank sends its block directly to the root in one step.
 *
 *     1 round, (p-1)/p n bytes into the root (n: all blocks together)
 *
 * No byte moves twice, but p-1 messages arrive at one port. The flat tree of
 * Pješivac-Grbović et al., Cluster Computing 10(2), 2007.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned d = 1; d < args->ranks; d++) {
        unsigned rank = gw__from_root(args, d);
        gw_builder_add(b, rank, args->root, rank, GW_REPLACE);
    }
}

const struct gw_algo gw__algo_gather_linear = {
    .name = "linear",
    .collective = GW_GATHER,
    .summary = "all ranks send their blocks to the root at once",
    .formula = "1 round, (p-1)/p n bytes into the root",
    .source = "flat tree: Pješivac-Grbović et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
    .direct = true,
};
