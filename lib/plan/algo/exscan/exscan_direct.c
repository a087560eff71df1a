/* SPDX-License-Identifier: MIT
 *
 * Exclusive scan, direct: each rank sends its vector to all ranks after it. The
 * vector of rank 0 replaces the receiver's, the others are added to it.
 *
 *     1 round, up to p-1 messages and (p-1) n bytes per rank
 *
 * Every value sent is an input, so windows run it in one pass.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned r = 1; r < args->ranks; r++)
        for (unsigned before = 0; before < r; before++)
            gw_builder_add(b, before, r, 0, before ? GW_ADD : GW_REPLACE);
}

const struct gw_algo gw__algo_exscan_direct = {
    .name = "direct",
    .collective = GW_EXSCAN,
    .summary = "each rank sends its buffer to all ranks after it in one step",
    .formula = "1 round, up to p-1 messages, (p-1) n bytes per rank",
    .source = "the definition",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
    .direct = true,
};
