/* SPDX-License-Identifier: MIT
 *
 * All-gather by a gather to rank 0 and a broadcast of all blocks from there,
 * both along the same binomial tree.
 *
 *     2 ceil(log2 p) rounds; rank 0 sends n in each of the last ceil(log2 p)
 *
 * This follows directly from the definition and is the baseline for the others:
 * all blocks pass through one rank, and each rank receives its own back.
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    const struct gw_algo_args rooted = {.ranks = args->ranks};
    gw_builder_ports(b, 1);
    gw__binomial_gather(b, &rooted);
    gw__binomial_broadcast(b, &rooted, args->ranks);
}

const struct gw_algo gw__algo_allgather_gather_broadcast = {
    .name = "gather_broadcast",
    .collective = GW_ALLGATHER,
    .summary = "a gather to rank 0, then a broadcast of all blocks",
    .formula = "2 ceil(log2 p) rounds, ceil(log2 p) n bytes from rank 0",
    .source = "Chan et al. 2007 (minimum spanning tree all-gather)",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
    .baseline = true,
};
