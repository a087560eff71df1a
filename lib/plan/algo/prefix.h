/* SPDX-License-Identifier: MIT
 *
 * Prefix sums: rank r ends with the sum of ranks 0 to r. A rank has one value
 * per chunk, so these are the networks of parallel prefix circuits, whose wires
 * are the ranks.
 *
 * An exclusive scan is a shift by one rank, after which rank r has the input of
 * rank r-1, and an inclusive scan of ranks 1 to p-1.
 */
#ifndef GW__PREFIX_H
#define GW__PREFIX_H

#include "algo.h"

/* One step: rank r replaces its value of all chunks by that of rank r-1. */
void gw__prefix_shift(struct gw_builder *b, unsigned ranks, unsigned chunks);
/* Each of these scans the values of ranks `first` to ranks-1. */
/* A chain: a rank adds its value to that of the rank before it, segment by
 * segment. */
void gw__prefix_chain(struct gw_builder *b, unsigned first, unsigned ranks,
                      unsigned segments);
/* In round i each rank sends its sum 2^i ranks further. */
void gw__prefix_hillis_steele(struct gw_builder *b, unsigned first,
                              unsigned ranks);
/* In round i the last rank of the lower half of each group of 2^(i+1) ranks
 * sends its sum to the upper half. */
void gw__prefix_recursive_doubling(struct gw_builder *b, unsigned first,
                                   unsigned ranks);

#endif
