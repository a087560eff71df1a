/* SPDX-License-Identifier: MIT
 *
 * Reduce-scatter in two levels, for racks: a ring inside each rack, in which a
 * block is a column, then rings across the racks, each among the ranks of one
 * column.
 *
 *     (g-1) + (h-1) rounds, (p-1)/p n bytes per rank, (p-g)/p n out of each rack
 *
 * With h racks of g ranks: as few bytes as a ring of all ranks, in far fewer
 * rounds. If g does not divide p, the short rack hands in the sums of the
 * columns that it lacks between the two: 1 round more. The first half of
 * BlueConnect's all-reduce.
 */
#include "plan/algo/racks.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    if (racks.rest == 0)
        gw_builder_ports(b, 1);
    gw__racks_inside(b, &racks, GW_ADD);
    gw__racks_lacking(b, &racks, GW_ADD);
    gw__racks_across(b, &racks, GW_ADD);
}

const struct gw_algo gw__algo_reduce_scatter_hierarchical = {
    .name = "hierarchical",
    .collective = GW_REDUCE_SCATTER,
    .summary = "rings inside the racks, then across them",
    .formula = "(g-1) + (h-1) rounds, (p-1)/p n bytes per rank, (p-g)/p n out "
               "of a rack",
    .source = "BlueConnect: Cho et al., MLSys 2019",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
};
