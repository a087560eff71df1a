/* SPDX-License-Identifier: MIT
 *
 * Two levels: ranks in racks (or hosts) whose inner links are faster than the
 * links between them. Ranks 0 .. g-1 are the first rack, the next g the second;
 * if g does not divide p, the last rack is short.
 *
 * Rank j of each rack is in column j. The blocks of a column are those of its
 * ranks, one in each rack. A short rack lacks some columns; its member k serves
 * columns k, k + rest, k + 2 rest, ...
 */
#ifndef GW__RACKS_H
#define GW__RACKS_H

#include <plan/stream.h>

struct gw__racks {
    unsigned group; /* g: ranks of a full rack */
    unsigned full;  /* h: the number of full racks */
    unsigned rest;  /* ranks of the short rack, or 0 */
};

/* args->group sets g; by default it is the largest divisor of p up to sqrt(p),
 * and for a prime p there is one rack of all. */
struct gw__racks gw__racks_split(const struct gw_algo_args *args);
unsigned gw__racks_count(const struct gw__racks *racks);
/* The size of rack `rack`, counted from 0. */
unsigned gw__racks_size(const struct gw__racks *racks, unsigned rack);

/* Adds to the current step the blocks base + r, for all ranks r of the columns
 * that `member` serves in a rack of `members` ranks, ascending. Of *run, src,
 * dst and action are used. */
void gw__racks_columns(struct gw_builder *builder,
                       const struct gw__racks *racks, const struct gw__run *run,
                       unsigned base, unsigned member, unsigned members);

/* Rings in all racks, and rings across the racks, one for each column: all of
 * their rounds, one step each. Inside a rack the blocks of the ring are the
 * columns of its members; across racks they are the members' own blocks. With
 * GW_ADD their sums end at the member, with GW_REPLACE they begin there.
 * Shorter rings end earlier than others. */
void gw__racks_inside(struct gw_builder *builder, const struct gw__racks *racks,
                      enum gw_action action);
void gw__racks_across(struct gw_builder *builder, const struct gw__racks *racks,
                      enum gw_action action);
/* A step between the first rack and the members of a short rack that serve
 * missing columns. With GW_ADD they hand their sums in; with GW_REPLACE they
 * receive the blocks. */
void gw__racks_lacking(struct gw_builder *builder,
                       const struct gw__racks *racks, enum gw_action action);

/* The edges of a binomial tree with hops of `span`. Across: from the root's
 * rack to the others. Inside: from the root, or from the first member of a rack
 * without it, to the other members. GW_REPLACE goes away from the root, GW_ADD
 * towards it. */
void gw__racks_tree_across(struct gw_builder *builder,
                           const struct gw__racks *racks, unsigned root,
                           unsigned span, enum gw_action action);
void gw__racks_tree_inside(struct gw_builder *builder,
                           const struct gw__racks *racks, unsigned root,
                           unsigned span, enum gw_action action);

#endif
