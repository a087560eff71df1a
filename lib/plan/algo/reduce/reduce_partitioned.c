/* SPDX-License-Identifier: MIT
 *
 * Reduce, partitioned: every rank is responsible for one of p parts; it sums
 * that part for all ranks and sends the sum to the root. A direct
 * reduce-scatter and a direct gather.
 *
 *     2 rounds, n bytes per rank: (p-1)/p n in the first, n/p in the second,
 *     in which the root only receives; (p-1)/p n bytes reduced per rank
 *
 * The reduction work is shared evenly and minimal. Chan et al. 2007 (long
 * vectors: reduce-scatter, then gather), with both halves sent directly.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_step(b);
    for (unsigned d = 1; d < p; d++)
        for (unsigned i = 0; i < p; i++)
            gw_builder_add(b, i, (i + d) % p, (i + d) % p, GW_ADD);
    gw_builder_step(b);
    for (unsigned d = 1; d < p; d++) {
        unsigned master = gw__from_root(args, d);
        gw_builder_add(b, master, args->root, master, GW_REPLACE);
    }
}

const struct gw_algo gw__algo_reduce_partitioned = {
    .name = "partitioned",
    .collective = GW_REDUCE,
    .summary = "each rank sums one part and sends it to the root",
    .formula = "2 rounds, n bytes per rank ((p-1)/p n from the root)",
    .source = "Chan et al. 2007 (reduce-scatter, then gather)",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
    .direct = true,
};
