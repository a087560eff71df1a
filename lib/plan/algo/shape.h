/* SPDX-License-Identifier: MIT
 *
 * The `.valid` and `.chunks` functions that most algorithms share: they serve
 * any number of ranks, and their plans have one chunk, one per rank, or one per
 * pipeline segment.
 */
#ifndef GW__SHAPE_H
#define GW__SHAPE_H

#include "algo.h"

/* `.valid` of an algorithm for every p >= 1. */
bool gw__any_ranks(unsigned ranks);
/* `.chunks`, in this order: 1, p, p * p, and args->segments (8 if that is
 * 0). */
unsigned gw__one_chunk(const struct gw_algo_args *args);
unsigned gw__chunk_a_rank(const struct gw_algo_args *args);
unsigned gw__chunk_a_pair(const struct gw_algo_args *args);
unsigned gw__chunk_a_segment(const struct gw_algo_args *args);

/* The rank `distance` places after the root, wrapping around: trees and chains
 * are drawn from a root that is place 0. distance < ranks. */
unsigned gw__from_root(const struct gw_algo_args *args, unsigned distance);

#endif
