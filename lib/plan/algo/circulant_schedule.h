/* SPDX-License-Identifier: MIT
 *
 * Broadcast of k blocks on the circulant graph, for any p, in the optimal
 * number of rounds: k - 1 + ceil(log2 p). The schedule gives receiver, sender
 * and block of each round. Read in time order it is a broadcast. Read
 * backwards, with every hop reversed, it is a reduction.
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

/* The hop into the rank `place` places after the root in `round` (counted from
 * 0). Fills src, dst and chunk of *hop, or returns false if that rank receives
 * nothing. */
bool gw__circulant_hop(const struct gw_algo_args *args, unsigned round,
                       unsigned place, struct gw__hop *hop);

#endif
