/* SPDX-License-Identifier: MIT
 *
 * All-gather in two levels, for racks: rings across the racks, each among the
 * ranks of one column, then a ring inside each rack, in which a block is a
 * column.
 *
 *     (h-1) + (g-1) rounds, (p-1)/p n bytes per rank, (p-g)/p n into each rack
 *
 * With h racks of g ranks: as few bytes as a ring of all ranks, in far fewer
 * rounds. If g does not divide p, the short rack receives the columns that it
 * lacks between the two: 1 round more. The second half of BlueConnect's
 * all-reduce.
 */
#include "plan/algo/racks.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    if (racks.rest == 0)
        gw_builder_ports(b, 1);
    gw__racks_across(b, &racks, GW_REPLACE);
    gw__racks_lacking(b, &racks, GW_REPLACE);
    gw__racks_inside(b, &racks, GW_REPLACE);
}

const struct gw_algo gw__algo_allgather_hierarchical = {
    .name = "hierarchical",
    .collective = GW_ALLGATHER,
    .summary = "rings across the racks, then inside them",
    .formula =
        "(h-1) + (g-1) rounds, (p-1)/p n bytes per rank, (p-g)/p n into a rack",
    .source = "BlueConnect: Cho et al., MLSys 2019",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
};
