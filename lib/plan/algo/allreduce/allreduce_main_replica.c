/* SPDX-License-Identifier: MIT
 *
 * All-reduce by a main replica, rank 0: all others send it their gradients, it
 * adds them up (or takes the mean, with avg) and sends the result to all.
 *
 *     2 rounds, (p-1) n bytes into rank 0 and (p-1) n out of it; n in and out
 *     of the others
 *
 * This is data parallelism in its simplest form. The link of rank 0 carries p-1
 * times the bytes of any other link, so each further rank makes a step longer.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    const struct gw_algo_args rooted = {.ranks = args->ranks};
    gw__algo_reduce_direct.emit(b, &rooted);
    gw__algo_broadcast_direct.emit(b, &rooted);
}

const struct gw_algo gw__algo_allreduce_main_replica = {
    .name = "main_replica",
    .collective = GW_ALLREDUCE,
    .summary = "rank 0 adds up all buffers and sends the sum to all",
    .formula = "2 rounds, (p-1) n bytes into rank 0 and out of it",
    .source = "data parallelism with one parameter server",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
    .baseline = true,
    .direct = true,
};
