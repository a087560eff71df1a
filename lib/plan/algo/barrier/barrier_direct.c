/* SPDX-License-Identifier: MIT
 *
 * Barrier, direct: everyone tells everyone, in one step.
 *
 *     1 round, p-1 empty messages a rank
 *
 * The least latency where a rank can look at all others at once: through the
 * cards of shared memory it is one write and p-1 reads.
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
    .summary = "everyone tells everyone",
    .formula = "1 round, p-1 messages, no bytes",
    .source = "folklore; \"linear\" in Open MPI",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
    .direct = true,
};
