/* SPDX-License-Identifier: MIT
 *
 * Phi-accrual: how surprising a silence is. From Hayashibara, Défago, Yared,
 * Katayama, "The phi accrual failure detector" (SRDS 2004), §4: the intervals
 * between the last beats are taken for normally distributed with their mean and
 * variance, and after a silence of t
 *
 *     phi(t) = -log10 P(an interval is longer than t)
 *
 * so phi 1 is a mistake in ten, phi 8 one in a hundred million, if intervals
 * were what they are taken for. They are not quite, so, as in Akka's version:
 * the standard deviation has a floor (beats that come like clockwork teach no
 * impatience), and a pause is always allowed on top of the mean.
 *
 * Departures: one long interval among many short ones says more than their
 * deviation, for on a busy machine such intervals come again: the longest is
 * taken for at most three deviations away; other traffic is a sign of life that
 * ends a silence, but only beats enter the window, or a burst of data would
 * make the next ordinary gap look long; and `shift` takes out a time in which
 * the observer itself did not run.
 */
#ifndef GW__CLUSTER_PHI_H
#define GW__CLUSTER_PHI_H

#include <gradwire/base.h>

enum { GW__PHI_WINDOW = 64 };

struct gw__phi_rule {
    uint64_t expected_ns;  /* the interval until others have been seen */
    uint64_t deviation_ns; /* the least standard deviation */
    uint64_t pause_ns;     /* allowed on top of the mean */
};

struct gw__phi {
    struct gw__phi_rule rule;
    uint64_t intervals[GW__PHI_WINDOW];
    unsigned count; /* of them, at most GW__PHI_WINDOW */
    unsigned next;
    uint64_t beat_ns;  /* the last beat; 0: none yet */
    uint64_t alive_ns; /* the last sign of life */
};

/* As if a sign of life had come now. */
void gw__phi_begin(struct gw__phi *phi, const struct gw__phi_rule *rule,
                   uint64_t now_ns);
void gw__phi_beat(struct gw__phi *phi, uint64_t now_ns);
void gw__phi_alive(struct gw__phi *phi, uint64_t now_ns);
/* The observer did not run for `ns` before `now_ns`: nobody was silent then. */
void gw__phi_shift(struct gw__phi *phi, uint64_t ns, uint64_t now_ns);
uint64_t gw__phi_silence(const struct gw__phi *phi, uint64_t now_ns);
/* The intervals, the newest last; returns how many. */
unsigned gw__phi_intervals(const struct gw__phi *phi,
                           uint64_t out[GW__PHI_WINDOW]);
double gw__phi_now(const struct gw__phi *phi, uint64_t now_ns);
/* Of a silence before any interval was seen. */
double gw__phi_by_rule(const struct gw__phi_rule *rule, uint64_t silence_ns);

/* -log10 of the chance that a standard normal variable exceeds z: right for
 * every z, also where the chance itself is too small for a double. */
double gw__phi_tail(double z);

#endif
