/* SPDX-License-Identifier: MIT
 *
 * Butterfly exchanges, for which any number of ranks is folded to a power of
 * two. Partners are ranks whose numbers differ in one bit, so their number must
 * be a power of two. For any other p, let 2^k be the largest power of two below
 * it. 2^k ranks are keepers and take part. The first p - 2^k keepers each have
 * a partner, the next rank, which hands in its values before the exchange and
 * receives the result after it.
 *
 *     p = 6:  rank    0<1  2<3  4  5
 *             keeper  0    1    2  3
 *
 * So keeper v is rank v + min(v, extra), and the blocks for which it is
 * responsible begin at the same number.
 */
#ifndef GW__BUTTERFLY_H
#define GW__BUTTERFLY_H

#include <gradwire/plan.h>

struct gw__rank_fold {
    unsigned keepers; /* 2^k */
    unsigned extra;   /* the first so many have a partner; < keepers */
};

/* `.valid` of an algorithm that does not fold. */
bool gw__power_of_two(unsigned ranks);

struct gw__rank_fold gw__rank_fold_of(unsigned ranks);
/* The rank of keeper v, and the first block of it and its partner; p for
 * v = keepers. */
unsigned gw__rank_fold_place(const struct gw__rank_fold *fold, unsigned v);

/* A step in which partners add all `chunks` into their keepers' values, and
 * one in which keepers hand them the results. Nothing for a power of two. */
void gw__rank_fold_in(struct gw_builder *builder,
                      const struct gw__rank_fold *fold, unsigned chunks);
void gw__rank_fold_out(struct gw_builder *builder,
                       const struct gw__rank_fold *fold, unsigned chunks);

/* Keepers exchange halves of the blocks that they still hold, then halves of
 * those, far to near. Keeper v ends with the sum of its blocks: from
 * place(blocks, v) to before place(blocks, v + 1). */
void gw__butterfly_reduce_scatter(struct gw_builder *builder,
                                  const struct gw__rank_fold *fold,
                                  const struct gw__rank_fold *blocks);
/* The reverse: keepers begin with their own blocks and end with all, near to
 * far. */
void gw__butterfly_allgather(struct gw_builder *builder,
                             const struct gw__rank_fold *fold,
                             const struct gw__rank_fold *blocks);

#endif
