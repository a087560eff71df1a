/* SPDX-License-Identifier: MIT
 *
 * Exclusive scan by recursive doubling: a shift by one rank, then
 * scan_recursive_doubling.c from rank 1 on.
 *
 *     1 + ceil(log2 (p-1)) rounds, in the last one p/2 n bytes from one rank
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw__prefix_shift(b, args->ranks, 1);
    gw__prefix_recursive_doubling(b, 1, args->ranks);
}

const struct gw_algo gw__algo_exscan_recursive_doubling = {
    .name = "recursive_doubling",
    .collective = GW_EXSCAN,
    .summary = "a shift by one rank, then groups of 1, 2, 4, ... ranks merge",
    .formula =
        "1 + ceil(log2 (p-1)) rounds, (p-1) n bytes from the busiest rank",
    .source = "Sklansky 1960; Ladner, Fischer 1980, JACM 27(4)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
