/* SPDX-License-Identifier: MIT
 *
 * Two levels: ranks in racks (or hosts) whose inner links are faster than the
 * links between them. Ranks 0 .. g-1 are the first rack, the next g the second;
 * if g does not divide p, the last rack is short.
 *
 * Rank j of each rack is in column j. The blocks of a column are those of its
 * ranks, one in each rack. A short rack lacks some columns; its member k looks
 * after column k and after k + rest, k + 2 rest, ...
 */
#ifndef GW__RACKS_H
#define GW__RACKS_H

#include <plan/stream.h>

struct gw__racks {
    unsigned group; /* g: ranks of a full rack */
    unsigned full;  /* h: how many of those */
    unsigned rest;  /* ranks of the short rack, or 0 */
};

/* args->group sets g; by default it is the largest divisor of p up to sqrt(p),
 * and for a prime p there is one rack of all. */
struct gw__racks gw__racks_split(const struct gw_algo_args *args);
unsigned gw__racks_count(const struct gw__racks *racks);
/* Of rack `rack`, counted from 0. */
unsigned gw__racks_size(const struct gw__racks *racks, unsigned rack);

/* Adds to the current step the blocks base + r, for all ranks r of the columns
 * that `member` looks after in a rack of so many members, ascending. Of *run,
 * src, dst and action are used. */
void gw__racks_columns(struct gw_builder *builder,
                       const struct gw__racks *racks, const struct gw__run *run,
                       unsigned base, unsigned member, unsigned members);

/* Rings in all racks, and rings across the racks, one in each column: all of
 * their rounds, a step each. What goes around is the columns of a member, inside,
 * and its block, across: with GW_ADD their sums end at the member, with
 * GW_REPLACE they begin there. Rings that are shorter than others end before. */
void gw__racks_inside(struct gw_builder *builder, const struct gw__racks *racks,
                      enum gw_action action);
void gw__racks_across(struct gw_builder *builder, const struct gw__racks *racks,
                      enum gw_action action);
/* A step between the members of a short rack that look after columns which it
 * lacks, and the first rack: with GW_ADD they hand their sums in, with
 * GW_REPLACE they receive the blocks. */
void gw__racks_lacking(struct gw_builder *builder,
                       const struct gw__racks *racks, enum gw_action action);

/* The edges of a binomial tree with hops of `span`: across from the root's rack
 * to the others, inside from one member of each rack to its other members: the
 * root, or where it is not, the first. GW_REPLACE goes away from the root,
 * GW_ADD towards it. */
void gw__racks_tree_across(struct gw_builder *builder,
                           const struct gw__racks *racks, unsigned root,
                           unsigned span, enum gw_action action);
void gw__racks_tree_inside(struct gw_builder *builder,
                           const struct gw__racks *racks, unsigned root,
                           unsigned span, enum gw_action action);

#endif
