/* SPDX-License-Identifier: MIT
 *
 * Simulations of the clock (lib/ps/clock/clock_sim.h) for tests. They run one
 * after the other, with times in the items of psnode sim.
 */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

#include "psnode/sim/sim.h"

extern struct sim_times play_drawn;
extern struct gw__clock_sim_result play_result; /* of the latest run */

/* As many parts as workers, and the times in play_times. */
struct gw__clock_sim play_how(unsigned workers, const char *mode,
                              uint64_t rounds);
void play_times(unsigned workers, const char *law, const char *slow);
/* Runs the simulation, which must succeed. */
void play_run(const struct gw__clock_sim *clock, uint64_t seed);
double play_round_s(const struct gw__clock_sim *clock);
/* Fails if `is` differs from `wanted` by more than `share` of it. */
void play_expect_close(double is, double wanted, double share,
                       const char *what);

#endif
