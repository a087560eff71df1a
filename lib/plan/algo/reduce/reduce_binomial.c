/* SPDX-License-Identifier: MIT
 *
 * Reduce up a binomial tree: in each round every second rank that still holds a
 * partial sum sends it to its parent and is done. The parent of a place is the
 * place without its lowest bit, so that partial sums cover contiguous ranges of
 * places.
 *
 *     ceil(log2 p) rounds of n bytes, sent and reduced
 *
 * No algorithm with one port has fewer rounds: the choice for short buffers.
 * Chan et al. 2007 (minimum spanning tree reduce).
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__binomial_reduce(b, args, 1);
}

const struct gw_algo gw__algo_reduce_binomial = {
    .name = "binomial",
    .collective = GW_REDUCE,
    .summary = "up a binomial tree",
    .formula = "ceil(log2 p) rounds of n bytes",
    .source = "Chan et al. 2007",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
};
