/* SPDX-License-Identifier: MIT
 *
 * Reduce up a pipelined chain: the buffer is cut into k segments; each rank
 * adds its own values to the segment that it receives and passes the sum on.
 * The reverse of broadcast_chain.c.
 *
 *     k+p-2 rounds of n/k bytes, sent and reduced
 *
 * What NCCL calls a ring; "pipeline" in Pješivac-Grbović et al., Cluster
 * Computing 10(2), 2007.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, segments = gw__chunk_a_segment(args);
    gw_builder_ports(b, 1);
    for (unsigned t = 0; t + 2 < segments + p; t++) {
        gw_builder_step(b);
        /* When place p - 1 - i sends, i hops are already done. */
        for (unsigned i = 0; i + 1 < p && i <= t; i++)
            if (t - i < segments)
                gw_builder_add(b, gw__from_root(args, p - 1 - i),
                               gw__from_root(args, p - 2 - i), t - i, GW_ADD);
    }
}

const struct gw_algo gw__algo_reduce_chain = {
    .name = "chain",
    .collective = GW_REDUCE,
    .summary = "segments gather their sum up a chain of ranks",
    .formula = "k+p-2 rounds of n/k bytes",
    .source = "pipeline: Pješivac-Grbović et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_segment,
    .emit = emit,
};
