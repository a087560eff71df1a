/* SPDX-License-Identifier: MIT
 *
 * Broadcast, direct: the root sends the buffer to all ranks in one step.
 *
 *     1 round, (p-1) n bytes from the root
 *
 * Over a network the root's port is the bottleneck; inside a host it is one
 * store into every rank's window. The flat tree of Pješivac-Grbović et al.,
 * Cluster Computing 10(2), 2007.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned d = 1; d < args->ranks; d++)
        gw_builder_add(b, args->root, gw__from_root(args, d), 0, GW_REPLACE);
}

const struct gw_algo gw__algo_broadcast_direct = {
    .name = "direct",
    .collective = GW_BROADCAST,
    .summary = "the root sends to all ranks at once",
    .formula = "1 round, (p-1) n bytes from the root",
    .source = "flat tree: Pješivac-Grbović et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
    .direct = true,
};
