/* SPDX-License-Identifier: MIT
 *
 * All-reduce, ring: a ring reduce-scatter, then a ring all-gather.
 *
 *     2(p-1) rounds, 2(p-1) messages and 2(p-1)/p n bytes per rank
 *
 * The fewest bytes that an all-reduce can send, over links between neighbours
 * only; the price is a number of rounds that grows with p.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw__algo_reduce_scatter_ring.emit(b, args);
    gw__algo_allgather_ring.emit(b, args);
}

const struct gw_algo gw__algo_allreduce_ring = {
    .name = "ring",
    .collective = GW_ALLREDUCE,
    .summary = "once around the ring to add, once more to spread",
    .formula = "2(p-1) rounds, 2(p-1)/p n bytes per rank",
    .source = "Patarasuk, Yuan 2009 (J. Parallel Distrib. Comput. 69)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
