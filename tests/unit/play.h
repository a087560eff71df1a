/* SPDX-License-Identifier: MIT
 *
 * Rehearsals of the clock (lib/ps/clock/clock_sim.h) for tests: one after the other,
 * with times as psnode sim takes them.
 */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

#include "psnode/sim/sim.h"

extern struct sim_times play_drawn;
extern struct gw__clock_sim_result play_result; /* of the newest one */

/* With as many parts as workers, and the times of play_times. */
struct gw__clock_sim play_how(unsigned workers, const char *mode,
                              uint64_t rounds);
void play_times(unsigned workers, const char *law, const char *slow);
/* Must succeed. */
void play_run(const struct gw__clock_sim *rehearsal, uint64_t seed);
double play_round_s(const struct gw__clock_sim *rehearsal);
/* Fails when it is farther than a share of what is wanted. */
void play_near(double is, double wanted, double share, const char *what);

#endif
