/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter, ring: the partial sum of block j sets out at rank j + 1,
 * collects one contribution at every rank that it visits, and ends complete at
 * rank j.
 *
 *     p-1 rounds, p-1 messages and (p-1)/p n bytes per rank,
 *     (p-1)/p n bytes reduced
 *
 * Bandwidth-optimal on any network that contains a ring. The round itself is in
 * ring.c.
 */
#include "plan/algo/ring.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__ring ring = gw__ring_of(args->ranks);
    gw_builder_ports(b, 1);
    for (unsigned round = 0; round + 1 < args->ranks; round++) {
        gw_builder_step(b);
        gw__ring_reduce(b, &ring, round);
    }
}

const struct gw_algo gw__algo_reduce_scatter_ring = {
    .name = "ring",
    .collective = GW_REDUCE_SCATTER,
    .summary = "each block goes once around the ring and grows",
    .formula = "p-1 rounds, (p-1)/p n bytes per rank",
    .source = "Patarasuk, Yuan 2009 (J. Parallel Distrib. Comput. 69)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
