/* SPDX-License-Identifier: MIT
 *
 * All-reduce, recursive doubling: in round i ranks 2^i apart exchange their
 * partial sums, so that after it groups of 2^(i+1) agree.
 *
 *     p = 2^k:    log2 p rounds, n log2 p bytes per rank
 *     any other:  floor(log2 p) + 2 rounds; a keeper with a partner sends n
 *                 bytes more, the partner n in all
 *
 * The fewest rounds, but each carries the whole vector: for short vectors. Both
 * sides of an exchange compute a + b from the same a and b, and addition
 * commutes, so all ranks end with the same bits. Folding is in butterfly.h.
 */
#include "plan/algo/butterfly.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__rank_fold fold = gw__rank_fold_of(args->ranks);
    gw_builder_ports(b, 1);
    gw__rank_fold_in(b, &fold, 1);
    for (unsigned bit = 1; bit < fold.keepers; bit *= 2) {
        gw_builder_step(b);
        for (unsigned v = 0; v < fold.keepers; v++)
            gw_builder_add(b, gw__rank_fold_place(&fold, v),
                           gw__rank_fold_place(&fold, v ^ bit), 0, GW_ADD);
    }
    gw__rank_fold_out(b, &fold, 1);
}

const struct gw_algo gw__algo_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .collective = GW_ALLREDUCE,
    .summary = "ranks 1, 2, 4, ... apart exchange whole sums",
    .formula =
        "log2 p rounds, n log2 p bytes per rank"
        " (p not 2^k: as for the next smaller 2^k, plus 2 rounds and n bytes)",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.5",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__one_chunk,
};
