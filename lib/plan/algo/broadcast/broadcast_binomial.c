/* SPDX-License-Identifier: MIT
 *
 * Broadcast down a binomial tree: in each round the ranks that have the buffer
 * send it to others that do not. The parent of a place is the place without its
 * lowest bit; the widest hops come first.
 *
 *     ceil(log2 p) rounds of n bytes
 *
 * No algorithm with one port has fewer rounds: the choice for short buffers.
 * Chan et al., "Collective communication: theory, practice, and experience",
 * 2007 (minimum spanning tree broadcast).
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__binomial_broadcast(b, args, 1);
}

const struct gw_algo gw__algo_broadcast_binomial = {
    .name = "binomial",
    .collective = GW_BROADCAST,
    .summary = "down a binomial tree",
    .formula = "ceil(log2 p) rounds of n bytes",
    .source = "Chan et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
};
