/* SPDX-License-Identifier: MIT
 *
 * Gather up a binomial tree: a rank that has the blocks of its whole subtree
 * sends them to its parent as one message.
 *
 *     ceil(log2 p) rounds, (p-1)/p n bytes into the root (n: all blocks
 *     together)
 *
 * Both are minimal with one port, but blocks deep in the tree move up to log2 p
 * times. Chan et al. 2007 (minimum spanning tree gather).
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__binomial_gather(b, args);
}

const struct gw_algo gw__algo_gather_binomial = {
    .name = "binomial",
    .collective = GW_GATHER,
    .summary = "whole subtrees travel to the root",
    .formula = "ceil(log2 p) rounds, (p-1)/p n bytes into the root",
    .source = "Chan et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
};
