/* SPDX-License-Identifier: MIT
 *
 * Phi-accrual: a measure of how surprising a silence is. From Hayashibara,
 * Défago, Yared, Katayama, "The phi accrual failure detector" (SRDS 2004), §4:
 * the intervals between the last beats are assumed to be normally distributed
 * with their mean and variance. After a silence of t
 *
 *     phi(t) = -log10 P(an interval is longer than t)
 *
 * so phi 1 is a mistake in ten, phi 8 one in a hundred million, if that
 * assumption holds. It does not quite hold. So, as in Akka's version, the
 * standard deviation has a floor (regular beats must not make the observer
 * impatient), and a pause is always allowed in addition to the mean.
 *
 * Departures: one long interval among many short ones matters more than their
 * deviation, because on a busy machine such intervals come again. The longest
 * interval is assumed to be at most three deviations from the mean. Other
 * traffic is a sign of life that ends a silence, but only beats enter the
 * window; otherwise a burst of data would make the next normal gap look long.
 * `shift` excludes a time in which the observer itself did not run.
 */
#ifndef GW__CLUSTER_PHI_H
#define GW__CLUSTER_PHI_H

#include <gradwire/base.h>

enum { GW__PHI_WINDOW = 64 };

struct gw__phi_config {
    uint64_t expected_ns;  /* the interval before any has been observed */
    uint64_t deviation_ns; /* minimum of the standard deviation */
    uint64_t pause_ns;     /* allowed in addition to the mean */
};

struct gw__phi {
    struct gw__phi_config config;
    uint64_t intervals[GW__PHI_WINDOW];
    unsigned count; /* of intervals, at most GW__PHI_WINDOW */
    unsigned next;
    uint64_t beat_ns;  /* the last beat; 0: none yet */
    uint64_t alive_ns; /* the last sign of life */
};

/* Begins as if a sign of life had arrived now. */
void gw__phi_begin(struct gw__phi *phi, const struct gw__phi_config *config,
                   uint64_t now_ns);
void gw__phi_beat(struct gw__phi *phi, uint64_t now_ns);
void gw__phi_alive(struct gw__phi *phi, uint64_t now_ns);
/* The observer did not run for `ns` before `now_ns`; that time is not
 * silence. */
void gw__phi_shift(struct gw__phi *phi, uint64_t ns, uint64_t now_ns);
uint64_t gw__phi_silence(const struct gw__phi *phi, uint64_t now_ns);
/* Writes the intervals, newest last; returns their number. */
unsigned gw__phi_intervals(const struct gw__phi *phi,
                           uint64_t out[GW__PHI_WINDOW]);
double gw__phi_now(const struct gw__phi *phi, uint64_t now_ns);
/* phi of a silence before any interval was observed. */
double gw__phi_by_config(const struct gw__phi_config *config,
                         uint64_t silence_ns);

/* -log10 of the probability that a standard normal variable exceeds z: correct
 * for every z, even if the probability itself is too small for a double. */
double gw__phi_tail(double z);

#endif
