/* SPDX-License-Identifier: MIT
 *
 * Exclusive scan by distances that double: a shift by one rank, then
 * scan_hillis_steele.c from rank 1 on.
 *
 *     1 + ceil(log2 (p-1)) rounds, n bytes per rank and round
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__prefix_shift(b, args->ranks, 1);
    gw__prefix_hillis_steele(b, 1, args->ranks);
}

const struct gw_algo gw__algo_exscan_hillis_steele = {
    .name = "hillis_steele",
    .collective = GW_EXSCAN,
    .summary = "a shift by one rank, then sums go 1, 2, 4, ... ranks further",
    .formula = "1 + ceil(log2 (p-1)) rounds of n bytes per rank",
    .source = "Hillis, Steele 1986, CACM 29(12)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
