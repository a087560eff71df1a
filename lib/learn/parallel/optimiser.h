/* SPDX-License-Identifier: MIT
 *
 * One step of an optimiser over a stretch of parameters. Every element is
 * changed by its own gradient and its own state alone, so however an array is
 * cut, each piece comes out as it would in the whole, bit by bit.
 */
#ifndef GW__OPTIMISER_H
#define GW__OPTIMISER_H

#include <gradwire/parallel.h>

struct gw__optimiser {
    enum gw_optimiser kind;
    double rate, momentum;
};

/* `state` holds gw_optimiser_words(kind) arrays of `count`, zero at first;
 * `step` counts from 1. False: a value is not finite any more. */
bool gw__optimiser_step(const struct gw__optimiser *optimiser, uint64_t step,
                        float *values, const float *gradient, float *state,
                        size_t count);

#endif
