/* SPDX-License-Identifier: MIT
 *
 * Gradients that can be added without rounding errors. f32 has 24 bits, so
 * multiples of 2^-22 whose sums stay below 4 are added exactly, in any order
 * and grouping. If each sample's gradient is rounded to such multiples, the
 * result has the same bits for any number of parts, ranks and servers, and for
 * any all-reduce algorithm. A sample's entries are clipped to at most 3 in
 * magnitude.
 */
#ifndef GW__EXACT_H
#define GW__EXACT_H

/* Limits a batch, so that the total rounding stays below 1. */
enum { GW__EXACT_ROWS_MAX = 1 << 16 };

/* One sample's entry in a mean over 1 / share samples. A NaN stays a NaN (fmin
 * would drop it). Adding the large number leaves no bits below the grid, so it
 * rounds like nearbyint, but can be vectorised. */
static inline float gw__exact_share(double entry, double share)
{
    const double most = 3, grid = 1.0 / (1 << 22), large = 0x1.8p52;
    double bound = entry > most ? most : entry < -most ? -most : entry;
    double count = (bound * share / grid + large) - large;
    return (float)(count * grid) + 0.0f;
}

#endif
