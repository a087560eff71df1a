/* SPDX-License-Identifier: MIT
 *
 * Folding, halving and doubling; see butterfly.h.
 */
#include "butterfly.h"

#include <plan/stream.h>

bool gw__power_of_two(unsigned ranks)
{
    return ranks > 0 && (ranks & (ranks - 1)) == 0;
}

struct gw__rank_fold gw__rank_fold_of(unsigned ranks)
{
    unsigned keepers = 1;
    while (2 * keepers <= ranks)
        keepers *= 2;
    return (struct gw__rank_fold){keepers, ranks - keepers};
}

unsigned gw__rank_fold_place(const struct gw__rank_fold *fold, unsigned v)
{
    return v + (v < fold->extra ? v : fold->extra);
}

void gw__rank_fold_in(struct gw_builder *b, const struct gw__rank_fold *fold,
                      unsigned chunks)
{
    gw_builder_step(b);
    for (unsigned v = 0; v < fold->extra; v++) {
        unsigned keeper = gw__rank_fold_place(fold, v);
        gw__builder_run(b, &(struct gw__run){.src = keeper + 1,
                                             .dst = keeper,
                                             .stride = 1,
                                             .count = chunks,
                                             .action = GW_ADD});
    }
}

void gw__rank_fold_out(struct gw_builder *b, const struct gw__rank_fold *fold,
                       unsigned chunks)
{
    gw_builder_step(b);
    for (unsigned v = 0; v < fold->extra; v++) {
        unsigned keeper = gw__rank_fold_place(fold, v);
        gw__builder_run(b, &(struct gw__run){.src = keeper,
                                             .dst = keeper + 1,
                                             .stride = 1,
                                             .count = chunks,
                                             .action = GW_REPLACE});
    }
}

/* A step in which keepers `half` apart exchange: each sends the blocks of the
 * `half` keepers around its peer (reducing) or around itself (gathering). */
static void exchange(struct gw_builder *b, const struct gw__rank_fold *fold,
                     const struct gw__rank_fold *blocks, unsigned half,
                     enum gw_action action)
{
    gw_builder_step(b);
    for (unsigned v = 0; v < fold->keepers; v++) {
        unsigned peer = v ^ half;
        unsigned low = (action == GW_ADD ? peer : v) & ~(half - 1);
        unsigned first = gw__rank_fold_place(blocks, low);
        gw__builder_run(
            b, &(struct gw__run){
                   .src = gw__rank_fold_place(fold, v),
                   .dst = gw__rank_fold_place(fold, peer),
                   .chunk = first,
                   .stride = 1,
                   .count = gw__rank_fold_place(blocks, low + half) - first,
                   .action = action});
    }
}

void gw__butterfly_reduce_scatter(struct gw_builder *b,
                                  const struct gw__rank_fold *fold,
                                  const struct gw__rank_fold *blocks)
{
    for (unsigned half = fold->keepers / 2; half > 0; half /= 2)
        exchange(b, fold, blocks, half, GW_ADD);
}

void gw__butterfly_allgather(struct gw_builder *b,
                             const struct gw__rank_fold *fold,
                             const struct gw__rank_fold *blocks)
{
    for (unsigned half = 1; half < fold->keepers; half *= 2)
        exchange(b, fold, blocks, half, GW_REPLACE);
}
