/* SPDX-License-Identifier: MIT
 *
 * Reduce, direct: every rank sends its buffer to the root, which adds all of
 * them in one pass.
 *
 *     1 round, (p-1) n bytes into the root, which reduces as many
 *
 * Inside a host the root reads every buffer in place. The flat tree of
 * Pješivac-Grbović et al., Cluster Computing 10(2), 2007.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned d = 1; d < args->ranks; d++)
        gw_builder_add(b, gw__from_root(args, d), args->root, 0, GW_ADD);
}

const struct gw_algo gw__algo_reduce_direct = {
    .name = "direct",
    .collective = GW_REDUCE,
    .summary = "all ranks send to the root at once",
    .formula = "1 round, (p-1) n bytes into the root",
    .source = "flat tree: Pješivac-Grbović et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
    .direct = true,
};
