/* SPDX-License-Identifier: MIT
 *
 * Butterflies exchange between ranks whose numbers differ in one bit, so they
 * want a power of two. Any other p is folded: let 2^k be the largest power of
 * two below it. So many ranks are keepers and take part; the first p - 2^k of
 * them have a partner, the rank after them, that hands in its values before and
 * is handed the result after.
 *
 *     p = 6:  rank    0<1  2<3  4  5
 *             keeper  0    1    2  3
 *
 * So keeper v is rank v + min(v, extra), and that is also where the blocks of
 * the ranks that it answers for begin.
 */
#ifndef GW__BUTTERFLY_H
#define GW__BUTTERFLY_H

#include <gradwire/plan.h>

struct gw__reduce {
    unsigned keepers; /* 2^k */
    unsigned extra;   /* so many of them have a partner; < keepers */
};

/* `.valid` of an algorithm that does not fold. */
bool gw__power_of_two(unsigned ranks);

struct gw__reduce gw__reduce_of(unsigned ranks);
/* The rank of keeper v, and the first block of it and its partner; p for
 * v = keepers. */
unsigned gw__reduce_place(const struct gw__reduce *fold, unsigned v);

/* A step in which partners add all `chunks` into their keepers' values, and
 * one in which keepers hand them the results. Nothing for a power of two. */
void gw__reduce_in(struct gw_builder *builder, const struct gw__reduce *fold,
                   unsigned chunks);
void gw__reduce_out(struct gw_builder *builder, const struct gw__reduce *fold,
                    unsigned chunks);

/* Keepers exchange the halves of what they still hold, then halves of those,
 * far to near; keeper v ends with the sum of its blocks, those from
 * place(blocks, v) to before place(blocks, v + 1). */
void gw__butterfly_reduce_scatter(struct gw_builder *builder,
                                  const struct gw__reduce *fold,
                                  const struct gw__reduce *blocks);
/* The same backwards: from their own blocks to all, near to far. */
void gw__butterfly_allgather(struct gw_builder *builder,
                             const struct gw__reduce *fold,
                             const struct gw__reduce *blocks);

#endif
