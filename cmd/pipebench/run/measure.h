/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A schedule run for real with synthetic work, without any output: what
 * `compare --run`, `sweep` and `fit` measure by. `run` has more to say and to
 * show about one.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <gradwire/gradwire.h>

struct measure {
    const struct gw_schedule *schedule; /* checked */
    struct gw_synthetic work;           /* one micro-batch through one piece */
    const double *slow; /* a stage each: so many times as long; NULL: alike */
    const char *wire;   /* NULL: shm */
    unsigned steps;     /* at least 1; one more goes before them, to warm up */
    /* Take the fastest step, not the median: what disturbs a step makes it
     * longer. */
    bool fastest;
};

/* Starts a rank a stage, works off the schedule, ends them. The timeline is
 * that of the step whose time is the median (or least); all stages' passes are
 * on one clock, whose zero is where the first of them began the step.
 * `times_us` (may be NULL) receives the time of each step. The caller destroys
 * the timeline. */
GW_MUST_CHECK enum gw_err measure_steps(const struct measure *measure,
                                        struct gw_timeline **timeline,
                                        double *times_us, struct gw_error *why);

#endif
