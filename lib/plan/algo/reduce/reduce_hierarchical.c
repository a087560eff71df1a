/* SPDX-License-Identifier: MIT
 *
 * Reduce in two levels, for racks: up a binomial tree inside each rack, then up
 * one tree over the racks to the root.
 *
 *     ceil(log2 g) + ceil(log2 h) rounds of n bytes, (h-1) n between racks
 *
 * With h racks of g ranks each rack sends one sum, of all its ranks. The
 * two-level broadcast backwards.
 */
#include "plan/algo/racks.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    unsigned count = gw__racks_count(&racks);
    gw_builder_ports(b, 1);
    for (unsigned span = 1; span < racks.group; span *= 2) {
        gw_builder_step(b);
        gw__racks_tree_inside(b, &racks, args->root, span, GW_ADD);
    }
    for (unsigned span = 1; span < count; span *= 2) {
        gw_builder_step(b);
        gw__racks_tree_across(b, &racks, args->root, span, GW_ADD);
    }
}

const struct gw_algo gw__algo_reduce_hierarchical = {
    .name = "hierarchical",
    .collective = GW_REDUCE,
    .summary = "binomial trees inside the racks, then across them",
    .formula =
        "ceil(log2 g) + ceil(log2 h) rounds of n bytes, (h-1) n between racks",
    .source =
        "Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000",
    .valid = gw__any_ranks,
    .chunks = gw__one_chunk,
    .emit = emit,
};
