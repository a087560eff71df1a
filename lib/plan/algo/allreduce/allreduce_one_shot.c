/* SPDX-License-Identifier: MIT
 *
 * All-reduce, one-shot: every rank sends its whole vector to all others and
 * adds up all vectors.
 *
 *     1 round, p-1 messages and (p-1) n bytes per rank
 *
 * One latency is the minimum; the bytes are p/2 times the minimum. Best for
 * some kilobytes inside a host.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_step(b);
    for (unsigned distance = 1; distance < p; distance++)
        for (unsigned r = 0; r < p; r++)
            gw_builder_add(b, r, (r + distance) % p, 0, GW_ADD);
}

const struct gw_algo gw__algo_allreduce_one_shot = {
    .name = "one_shot",
    .collective = GW_ALLREDUCE,
    .summary = "each rank sends its whole buffer to all others in one step",
    .formula = "1 round, p-1 messages, (p-1) n bytes per rank",
    .source = "one-shot kernels of NCCL 2.27 and MSCCL++ (arXiv 2504.09014)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
    .direct = true,
};
