/* SPDX-License-Identifier: MIT
 *
 * Broadcast in two levels, for racks: down a binomial tree from the root to one
 * rank of each other rack, then down one tree inside each rack.
 *
 *     ceil(log2 h) + ceil(log2 g) rounds of n bytes, (h-1) n between racks
 *
 * With h racks of g ranks, each rack receives the buffer once, whatever the
 * root. A single tree over all ranks splits racks if its root is not rank 0.
 */
#include "plan/algo/binomial.h"
#include "plan/algo/racks.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    unsigned count = gw__racks_count(&racks);
    gw_builder_ports(b, 1);
    for (unsigned span = gw__binomial_widest(count); span > 0; span /= 2) {
        gw_builder_step(b);
        gw__racks_tree_across(b, &racks, args->root, span, GW_REPLACE);
    }
    for (unsigned span = gw__binomial_widest(racks.group); span > 0;
         span /= 2) {
        gw_builder_step(b);
        gw__racks_tree_inside(b, &racks, args->root, span, GW_REPLACE);
    }
}

const struct gw_algo gw__algo_broadcast_hierarchical = {
    .name = "hierarchical",
    .collective = GW_BROADCAST,
    .summary = "binomial trees across the racks, then inside them",
    .formula =
        "ceil(log2 h) + ceil(log2 g) rounds of n bytes, (h-1) n between racks",
    .source =
        "Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
};
