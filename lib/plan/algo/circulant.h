/* SPDX-License-Identifier: MIT
 *
 * The skips of the circulant graph on p ranks: halving p again and again, each
 * time rounded up, until 1. Rank r is joined to r + skip (mod p) for each of
 * them. This graph lets an algorithm of ceil(log2 p) rounds fit any p (Träff,
 * arXiv 2410.14234, section 2; arXiv 2407.18004, section 2).
 */
#ifndef GW__CIRCULANT_H
#define GW__CIRCULANT_H

#include <plan/stream.h>

/* ceil(log2 GW__STREAM_RANKS_MAX), and one more for p itself. */
enum { GW__CIRCULANT_MAX = 18 };

/* Fills skips[0..q], ascending, skips[0] = 1 and skips[q] = ranks, and returns
 * q = ceil(log2 ranks). */
unsigned gw__circulant_skips(unsigned ranks, unsigned skips[GW__CIRCULANT_MAX]);

#endif
