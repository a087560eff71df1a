/* SPDX-License-Identifier: MIT
 *
 * Broadcast down a pipelined chain: the buffer is cut into k segments, and each
 * rank passes on the segment that it received in the round before.
 *
 *     k+p-2 rounds of n/k bytes
 *
 * With many segments the bytes approach the bound of n; the best k is
 * sqrt((p-2) n beta / alpha). What NCCL calls a ring; "pipeline" in
 * Pješivac-Grbović et al., Cluster Computing 10(2), 2007.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, segments = gw__chunk_a_segment(args);
    gw_builder_ports(b, 1);
    for (unsigned t = 0; t + 2 < segments + p; t++) {
        gw_builder_step(b);
        for (unsigned i = 0; i + 1 < p && i <= t; i++)
            if (t - i < segments)
                gw_builder_add(b, gw__from_root(args, i),
                               gw__from_root(args, i + 1), t - i, GW_REPLACE);
    }
}

const struct gw_algo gw__algo_broadcast_chain = {
    .name = "chain",
    .collective = GW_BROADCAST,
    .summary = "segments flow down a chain of ranks",
    .formula = "k+p-2 rounds of n/k bytes",
    .source = "pipeline: Pješivac-Grbović et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_segment,
    .emit = emit,
};
