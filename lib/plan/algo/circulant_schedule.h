/* SPDX-License-Identifier: MIT
 *
 * Broadcast of k blocks on the circulant graph in the optimal number of
 * rounds, k - 1 + ceil(log2 p), for any p: who hears which block from whom in
 * which round. Read in time order it is a broadcast; read backwards, every hop
 * turned round, a reduction.
 */
#ifndef GW__CIRCULANT_SCHEDULE_H
#define GW__CIRCULANT_SCHEDULE_H

#include "circulant.h"

/* k - 1 + ceil(log2 p), with k = args->segments or its default; 0 for one
 * rank. */
unsigned gw__circulant_rounds(const struct gw_algo_args *args);

struct gw__hop {
    unsigned src, dst, chunk;
};

/* What the rank `place` behind the root hears in `round` (counted from 0).
 * Fills src, dst and chunk of *hop, or returns false when it hears nothing. */
bool gw__circulant_hop(const struct gw_algo_args *args, unsigned round,
                       unsigned place, struct gw__hop *hop);

#endif
