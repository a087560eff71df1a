/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trials of `fit`: two sizes for fitting the costs, then the best size of
 * the formula and some near it; and their evaluation.
 */
#ifndef FIT_TRIALS_H
#define FIT_TRIALS_H

#include "size_trial.h"

enum { FIT_TRIALS_MAX = 8 };

enum fit_role { FIT_FITTED, FIT_BEST, FIT_AROUND };

struct fit_trial {
    struct size_trial trial; /* predicted_us is from the fit */
    enum fit_role role;
    bool timed; /* time_us is known: measured or given */
};

struct fit_trials {
    struct gw_pipe_fit fit;
    unsigned best_size; /* the predicted best divisor of the batch */
    unsigned count;     /* upwards by size */
    struct fit_trial list[FIT_TRIALS_MAX];
};

/* From two sizes with their times: the costs, the predicted best size, and the
 * sizes around it, by factors of about 2 and 4. GW_EINVAL, GW_EWRONG: as
 * gw_pipe_fit. */
GW_MUST_CHECK enum gw_err fit_trials_plan(const struct size_bench *bench,
                                          const struct size_trial pair[2],
                                          struct fit_trials *trials,
                                          struct gw_error *why);

/* The difference between formula and measurement. */
struct fit_verdict {
    const struct fit_trial *best; /* the fastest that was measured */
    const struct fit_trial *predicted;
    double size_factor; /* between the best size and the formula's; >= 1 */
    double over;        /* time at the predicted size / best - 1 */
    double noise;       /* the differences between the steps of these two sizes,
                           as a share of the best time */
};
/* All trials are timed. */
void fit_evaluate(const struct fit_trials *trials, struct fit_verdict *verdict);
/* GW_OK: within a factor of 2 and 5 %. GW_EWRONG: not. GW_EUNSURE: not, but the
 * steps of one size differ by as much. The sentence names the reason. */
GW_MUST_CHECK enum gw_err fit_accept(const struct fit_trials *trials,
                                     const struct fit_verdict *verdict,
                                     struct gw_error *why);

#endif
