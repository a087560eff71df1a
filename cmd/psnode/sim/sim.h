/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode sim: the servers' own clock in virtual time
 * (lib/ps/clock/clock_sim.h), with workers whose times are random. The parts:
 *
 *   sim.c         options, and one simulation per mode
 *   sim_times.c   the times of items: distributions, and slow workers
 *   sim_learn.c   a model: gradients from the parameters of that time
 *   sim_rows.c    the output
 */
#ifndef PSNODE_SIM_H
#define PSNODE_SIM_H

#include "common/output.h"
#include "psnode/train/train.h"

#include <ps/clock/clock_sim.h>

/* ---- sim_times.c ---- */

enum sim_law { SIM_FIXED, SIM_UNIFORM, SIM_EXP, SIM_NORMAL, SIM_PARETO };

/* FIXED: a. UNIFORM: from a to b. EXP: mean a. NORMAL: mean a, deviation b, not
 * below 0. PARETO: at least a, P(> t) = (a/t)^b. */
struct sim_time {
    enum sim_law law;
    double a_ns, b; /* b in nanoseconds; for PARETO a number */
};

/* Workers first to last take `times` as long, for items that begin in
 * [from_ns, until_ns). */
struct sim_slow {
    unsigned first, last;
    double times;
    uint64_t from_ns, until_ns;
};

enum { SIM_SLOW_MAX = 64 };

struct sim_times {
    struct sim_time compute;
    struct sim_slow slow[SIM_SLOW_MAX];
    unsigned slow_count;
    uint64_t seed;
    struct gw_rng rngs[GW_PS_NODES]; /* of each worker */
};

/* "fixed:1s", "uniform:500ms,2s", "exp:1s", "normal:1s,100ms",
 * "pareto:500ms,2.5" (more than 1, or there is no mean). */
GW_MUST_CHECK enum gw_err
sim_time_parse(const char *text, struct sim_time *time, struct gw_error *why);
/* "0:3", "0-3:2.5", "2:8@100s-300s", several separated by commas; NULL: none.
 * If several apply at a time, the factors multiply. */
GW_MUST_CHECK enum gw_err sim_slow_parse(const char *text, unsigned workers,
                                         struct sim_times *times,
                                         struct gw_error *why);
/* Each worker has its own random numbers, so that modes are compared with the
 * same times. */
void sim_times_begin(struct sim_times *times, uint64_t seed);
/* For struct gw__clock_sim; the context is a struct sim_times. */
uint64_t sim_times_draw(struct sim_times *times, unsigned worker,
                        uint64_t now_ns);

/* ---- sim_learn.c ---- */

struct sim_point {
    double seconds, loss;
    uint64_t items; /* closed by then */
};
enum { SIM_POINTS_MAX = 1024 };

struct sim_learn;

/* A model that is trained from scratch, evaluated `points` times. The task must
 * outlive it. */
GW_MUST_CHECK enum gw_err
sim_learn_new(const struct gw_task *task, unsigned parts, uint64_t rounds,
              unsigned points, struct sim_learn **learn, struct gw_error *why);
void sim_learn_destroy(struct sim_learn **learn);
/* Callbacks of struct gw__clock_sim. */
GW_MUST_CHECK enum gw_err sim_learn_granted(struct sim_learn *learn,
                                            unsigned worker,
                                            const struct gw_ps_work *work,
                                            struct gw_error *why);
GW_MUST_CHECK enum gw_err
sim_learn_closed(struct sim_learn *learn, const struct gw__round_commit *commit,
                 uint64_t now_ns, struct gw_error *why);
/* The loss of the test set (of the train set, if there is none) over time. */
const struct sim_point *sim_learn_points(const struct sim_learn *learn,
                                         unsigned *count);

/* ---- sim_rows.c ---- */

enum sim_by { SIM_BY_MODE, SIM_BY_WORKER, SIM_BY_STALENESS, SIM_BY_TIME };

struct sim_outcome {
    const char *mode;
    const struct gw__clock_sim_result *clock_result;
    unsigned workers;
    uint64_t rounds;
    const struct sim_point *points;
    unsigned point_count;
    double target; /* a loss, or NaN */
};

GW_MUST_CHECK enum gw_err sim_rows_begin(enum sim_by by, bool learns,
                                         bool policy, struct output **output,
                                         struct gw_error *why);
void sim_rows_put(struct output *output, enum sim_by by,
                  const struct sim_outcome *outcome);

#endif
