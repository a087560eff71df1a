/* SPDX-License-Identifier: MIT
 *
 * All-gather, ring: each block travels once around, from neighbour to
 * neighbour.
 *
 *     p-1 rounds, p-1 messages and (p-1)/p n bytes per rank
 *
 * All links carry one block in every round, which is bandwidth-optimal on any
 * network that contains a ring. The round itself is in ring.c.
 */
#include "plan/algo/ring.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__ring ring = gw__ring_of(args->ranks);
    gw_builder_ports(b, 1);
    for (unsigned round = 0; round + 1 < args->ranks; round++) {
        gw_builder_step(b);
        gw__ring_gather(b, &ring, round);
    }
}

const struct gw_algo gw__algo_allgather_ring = {
    .name = "ring",
    .collective = GW_ALLGATHER,
    .summary = "each block goes once around the ring",
    .formula = "p-1 rounds, (p-1)/p n bytes per rank",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
