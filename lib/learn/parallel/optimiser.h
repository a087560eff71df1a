/* SPDX-License-Identifier: MIT
 *
 * One step of an optimiser on a range of parameters. Each element depends only
 * on its own gradient and state. So the results are the same, bit by bit,
 * however an array is divided.
 */
#ifndef GW__OPTIMISER_H
#define GW__OPTIMISER_H

#include <gradwire/parallel.h>

struct gw__optimiser {
    enum gw_optimiser kind;
    double rate, momentum;
};

/* `state` has gw_optimiser_words(kind) arrays of `count`, initially zero;
 * `step` counts from 1. False: a value is not finite any more. */
bool gw__optimiser_step(const struct gw__optimiser *optimiser, uint64_t step,
                        float *values, const float *gradient, float *state,
                        size_t count);

#endif
