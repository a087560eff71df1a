/* SPDX-License-Identifier: MIT
 *
 * Random sequences that belong to an object, independent of the order of
 * processing: one sequence for each (seed, purpose, index). So samples are the
 * same however a batch is divided, and a rank draws only the numbers it needs.
 */
#ifndef GW__RANDOM_H
#define GW__RANDOM_H

#include <gradwire/base.h>

#include <math.h>

/* The finaliser of splitmix64: similar inputs give unrelated outputs. */
static inline uint64_t gw__mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* A hash of the pair. */
static inline uint64_t gw__mix_in(uint64_t seed, uint64_t what)
{
    return gw__mix(seed + 0x9e3779b97f4a7c15U * (what + 1));
}

/* Normal with mean 0 and standard deviation 1 (Box and Muller 1958). */
static inline double gw__gaussian(struct gw_rng *rng)
{
    double radius = sqrt(-2 * log(1 - gw_rng_unit(rng)));
    return radius * cos(2 * M_PI * gw_rng_unit(rng));
}

#endif
