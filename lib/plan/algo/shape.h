/* SPDX-License-Identifier: MIT
 *
 * What most algorithms have in common: they serve any number of ranks, and
 * their plans have one chunk, one a rank, or one a pipeline segment.
 */
#ifndef GW__SHAPE_H
#define GW__SHAPE_H

#include "algo.h"

/* `.valid` of an algorithm for every p >= 1. */
bool gw__any_ranks(unsigned ranks);
/* `.chunks`: 1; p; p * p; args->segments, or 8 when that is 0. */
unsigned gw__one_chunk(const struct gw_algo_args *args);
unsigned gw__chunk_a_rank(const struct gw_algo_args *args);
unsigned gw__chunk_a_pair(const struct gw_algo_args *args);
unsigned gw__chunk_a_segment(const struct gw_algo_args *args);

/* The rank that lies `distance` behind the root, wrapping around: trees and
 * chains are drawn from a root that is 0. distance < ranks. */
unsigned gw__from_root(const struct gw_algo_args *args, unsigned distance);

#endif
