/* SPDX-License-Identifier: MIT
 *
 * Scan by recursive doubling: in round i groups of 2^i ranks, each with its own
 * prefix sums, merge in pairs. The last rank of the lower one has its total, and
 * sends it to every rank of the upper one.
 *
 *     ceil(log2 p) rounds, in the last one p/2 n bytes from one rank
 *
 * MPI libraries keep a second value per rank, the total of its group, so that
 * ranks exchange totals in pairs. A plan has one value, so that the total comes
 * from the rank that has it.
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw__prefix_recursive_doubling(b, 0, args->ranks);
}

const struct gw_algo gw__algo_scan_recursive_doubling = {
    .name = "recursive_doubling",
    .collective = GW_SCAN,
    .summary = "groups of 1, 2, 4, ... ranks merge: one total to all ranks of "
               "the next group",
    .formula = "ceil(log2 p) rounds, (p-1) n bytes from the busiest rank",
    .source = "Sklansky 1960; Ladner, Fischer 1980, JACM 27(4)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
