/* SPDX-License-Identifier: MIT
 *
 * Broadcast down a binomial tree: in each round those that have the buffer send
 * it to others that have not. The parent of a place is the place without its
 * lowest bit; the widest hops come first.
 *
 *     ceil(log2 p) rounds of n bytes
 *
 * No algorithm with one port has fewer rounds: the choice for short buffers.
 * Chan et al., "Collective communication: theory, practice, and experience",
 * 2007 (minimum spanning tree broadcast).
 */
#include "binomial.h"
#include "shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_ports(b, 1);
    for (unsigned span = gw__binomial_widest(p); span > 0; span /= 2) {
        gw_builder_step(b);
        for (unsigned i = span; i < p; i += 2 * span)
            gw_builder_add(b, gw__from_root(args, i - span),
                           gw__from_root(args, i), 0, GW_REPLACE);
    }
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
