/* SPDX-License-Identifier: MIT
 *
 * Gradients that add up without error. f32 has 24 bits: multiples of 2^-22
 * whose sums stay below 4 are added exactly, in whatever order and in whatever
 * groups. So a gradient that each sample rounds to such a multiple gives the
 * same bits for any number of parts, ranks and servers, and for any algorithm
 * of all-reduce. A sample's entries are at most 3 in magnitude: larger ones are
 * clipped.
 */
#ifndef GW__EXACT_H
#define GW__EXACT_H

/* Rows of a batch, so that what rounding adds stays below 1. */
enum { GW__EXACT_ROWS_MAX = 1 << 16 };

/* One sample's entry of a mean over 1 / share samples. A NaN stays a NaN: fmin
 * would drop it. The large number leaves no bits for what is finer than the
 * grid, so adding it rounds as nearbyint does, but in vectors, too. */
static inline float gw__exact_share(double entry, double share)
{
    const double most = 3, grid = 1.0 / (1 << 22), large = 0x1.8p52;
    double bound = entry > most ? most : entry < -most ? -most : entry;
    double count = (bound * share / grid + large) - large;
    return (float)(count * grid) + 0.0f;
}

#endif
