/* SPDX-License-Identifier: MIT
 *
 * The binomial tree of broadcast, reduce, gather and scatter. Places are
 * counted from the root, which is 0. The parent of a place is the place without
 * its lowest bit, so that a subtree is a contiguous range of places. Away from
 * the root the widest hops come first, towards it the narrowest:
 *
 *     0 - 4 - 6 - 7
 *     |   `-- 5
 *     +-- 2 - 3
 *     `-- 1
 */
#ifndef GW__BINOMIAL_H
#define GW__BINOMIAL_H

#include <gradwire/plan.h>

/* The widest hop: the largest power of two below `ranks`, 0 for one rank. */
unsigned gw__binomial_widest(unsigned ranks);

/* The number of places in the subtree of `place`: it is [place, place +
 * result). */
unsigned gw__binomial_subtree(unsigned ranks, unsigned place);

/* The four walks along the tree, ceil(log2 p) steps each. Broadcast and reduce
 * move chunks 0 .. chunks-1 together. */
void gw__binomial_broadcast(struct gw_builder *builder,
                            const struct gw_algo_args *args, unsigned chunks);
void gw__binomial_reduce(struct gw_builder *builder,
                         const struct gw_algo_args *args, unsigned chunks);
/* Chunk r from rank r to the root. */
void gw__binomial_gather(struct gw_builder *builder,
                         const struct gw_algo_args *args);
/* The root distributes one chunk per rank, chunk r to rank r. Afterwards each
 * place holds the chunks of its whole subtree. */
void gw__binomial_scatter(struct gw_builder *builder,
                          const struct gw_algo_args *args);

#endif
