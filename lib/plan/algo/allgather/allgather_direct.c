/* SPDX-License-Identifier: MIT
 *
 * All-gather, direct: every rank sends its block to all others in one step.
 *
 *     1 round, p-1 messages and (p-1)/p n bytes per rank
 *
 * The lowest latency where p-1 simultaneous messages cost little more than one:
 * inside a host each rank reads its peers' blocks in place. Rank r begins with
 * r + 1, so that not all send to rank 0 first.
 */
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned distance = 1; distance < args->ranks; distance++)
        gw__shift_add(b, &(struct gw__shift){
                             .ranks = args->ranks,
                             .distance = distance,
                             .stride = 1,
                             .count = 1,
                             .action = GW_REPLACE,
                         });
}

const struct gw_algo gw__algo_allgather_direct = {
    .name = "direct",
    .collective = GW_ALLGATHER,
    .summary = "each rank sends its block to all others in one step",
    .formula = "1 round, p-1 messages, (p-1)/p n bytes per rank",
    .source = "folklore; \"linear\" in Open MPI and UCC",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
    .direct = true,
};
