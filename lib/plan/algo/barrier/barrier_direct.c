/* SPDX-License-Identifier: MIT
 *
 * Barrier, direct: every rank notifies all others in one step.
 *
 *     1 round, p-1 empty messages per rank
 *
 * The lowest latency where a rank can read the state of all others at once: in
 * shared memory it is one write and p-1 reads.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_step(b);
    for (unsigned hop = 1; hop < p; hop++)
        for (unsigned i = 0; i < p; i++)
            gw_builder_add(b, i, (i + hop) % p, 0, GW_TOKEN);
}

const struct gw_algo gw__algo_barrier_direct = {
    .name = "direct",
    .collective = GW_BARRIER,
    .summary = "each rank sends a token to all others",
    .formula = "1 round, p-1 messages, no bytes",
    .source = "folklore; \"linear\" in Open MPI",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
    .direct = true,
};
