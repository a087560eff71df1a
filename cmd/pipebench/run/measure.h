/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A schedule run for real with synthetic work, without any output: the
 * measurement of `compare --run`, `sweep` and `fit`. `run` shows more of a
 * single one.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <gradwire/gradwire.h>

struct measure {
    const struct gw_schedule *schedule; /* checked */
    struct gw_synthetic work;           /* one micro-batch through one piece */
    const double *slow; /* one factor per stage; NULL: all equal */
    const char *wire;   /* NULL: shm */
    unsigned steps;     /* at least 1, after one more to warm up */
    /* Take the fastest step, not the median: disturbances only lengthen a step.
     */
    bool fastest;
};

/* Starts one rank per stage, executes the schedule, ends them. The timeline is
 * that of the step whose time is the median (or least). All passes are on one
 * clock, which is zero when the first stage begins the step. `times_us` (may be
 * NULL) receives the time of each step. The caller destroys the timeline. */
GW_MUST_CHECK enum gw_err measure_steps(const struct measure *measure,
                                        struct gw_timeline **timeline,
                                        double *times_us, struct gw_error *why);

#endif
