/* SPDX-License-Identifier: MIT
 *
 * Scan by distances that double: in round i each rank sends its sum to the rank
 * 2^i after it.
 *
 *     ceil(log2 p) rounds, n bytes per rank and round
 *
 * After round i a rank has the sum of the last 2^(i+1) ranks up to itself.
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__prefix_hillis_steele(b, 0, args->ranks);
}

const struct gw_algo gw__algo_scan_hillis_steele = {
    .name = "hillis_steele",
    .collective = GW_SCAN,
    .summary = "each rank sends its sum 1, 2, 4, ... ranks further",
    .formula = "ceil(log2 p) rounds, n ceil(log2 p) bytes per rank",
    .source = "Hillis, Steele 1986, CACM 29(12); Kogge, Stone 1973",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
