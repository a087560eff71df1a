/* SPDX-License-Identifier: MIT
 *
 * Scatter down a binomial tree: the blocks of a whole subtree go to its top as
 * one message; the top keeps its own and passes the rest down.
 *
 *     ceil(log2 p) rounds, (p-1)/p n bytes from the root (n: all blocks
 *     together)
 *
 * Both are minimal with one port. Chan et al. 2007 (minimum spanning tree
 * scatter). The tree is in binomial.c, since van de Geijn's broadcast begins
 * with it too.
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__binomial_scatter(b, args);
}

const struct gw_algo gw__algo_scatter_binomial = {
    .name = "binomial",
    .collective = GW_SCATTER,
    .summary = "whole subtrees travel from the root",
    .formula = "ceil(log2 p) rounds, (p-1)/p n bytes from the root",
    .source = "Chan et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
};
