/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The arithmetic of `fit` (fit_trials.h); nothing here measures.
 */
#include "fit_trials.h"

#include <math.h>
#include <stdlib.h>

static const double size_factor_most = 2, over_most = 0.05;

/* The divisor of the batch with the least predicted time. */
static unsigned predicted_best(const struct size_bench *bench,
                               const struct gw_pipe_fit *fit)
{
    const struct size_options *o = bench->options;
    unsigned best = o->batch;
    double best_us = gw_pipe_fit_us(fit, o->stages, o->batch, best);
    for (unsigned size = o->batch - 1; size > 0; size--) {
        if (o->batch % size || o->batch / size > GW_MICROS_MAX)
            continue;
        double us = gw_pipe_fit_us(fit, o->stages, o->batch, size);
        if (us < best_us) {
            best = size;
            best_us = us;
        }
    }
    return best;
}

/* The nearest divisor of the batch, as a ratio. */
static unsigned nearest(const struct size_bench *bench, double wanted)
{
    unsigned batch = bench->options->batch, best = batch;
    for (unsigned size = batch; size > 0; size--)
        if (batch % size == 0 && batch / size <= GW_MICROS_MAX &&
            fabs(log(size / wanted)) < fabs(log(best / wanted)))
            best = size;
    return best;
}

/* Adds a size unless it is there already. */
static void add_trial(struct fit_trials *trials, const struct size_bench *bench,
                      struct size_trial trial, enum fit_role role, bool timed)
{
    const struct size_options *o = bench->options;
    for (unsigned i = 0; i < trials->count; i++)
        if (trials->list[i].trial.size == trial.size)
            return;
    trial.micros = o->batch / trial.size;
    trial.predicted_us =
        gw_pipe_fit_us(&trials->fit, o->stages, o->batch, trial.size);
    trials->list[trials->count++] =
        (struct fit_trial){.trial = trial, .role = role, .timed = timed};
}

static int by_size(const void *a, const void *b)
{
    const struct fit_trial *x = a, *y = b;
    return (x->trial.size > y->trial.size) - (x->trial.size < y->trial.size);
}

enum gw_err fit_trials_plan(const struct size_bench *bench,
                            const struct size_trial pair[2],
                            struct fit_trials *trials, struct gw_error *why)
{
    static const double around[] = {0.25, 0.5, 2, 4};
    const unsigned sizes[2] = {pair[0].size, pair[1].size};
    const double times_us[2] = {pair[0].time_us, pair[1].time_us};
    const struct size_options *o = bench->options;
    *trials = (struct fit_trials){.count = 0};
    if (gw_pipe_fit(o->stages, o->batch, sizes, times_us, &trials->fit, why))
        return why->code;
    trials->best_size = predicted_best(bench, &trials->fit);
    for (unsigned i = 0; i < 2; i++)
        add_trial(trials, bench, pair[i], FIT_FITTED, true);
    add_trial(trials, bench, (struct size_trial){.size = trials->best_size},
              FIT_BEST, false);
    for (unsigned i = 0; i < sizeof around / sizeof *around; i++) {
        unsigned size = nearest(bench, around[i] * trials->best_size);
        add_trial(trials, bench, (struct size_trial){.size = size}, FIT_AROUND,
                  false);
    }
    qsort(trials->list, trials->count, sizeof *trials->list, by_size);
    return GW_OK;
}

void fit_evaluate(const struct fit_trials *trials, struct fit_verdict *verdict)
{
    *verdict = (struct fit_verdict){.best = trials->list};
    for (unsigned i = 0; i < trials->count; i++) {
        const struct fit_trial *t = &trials->list[i];
        if (t->trial.time_us < verdict->best->trial.time_us)
            verdict->best = t;
        if (t->trial.size == trials->best_size)
            verdict->predicted = t;
    }
    const struct size_trial *best = &verdict->best->trial;
    const struct size_trial *predicted = &verdict->predicted->trial;
    double factor = best->size / trials->fit.best_size;
    verdict->size_factor = factor >= 1 ? factor : 1 / factor;
    verdict->over = predicted->time_us / best->time_us - 1;
    verdict->noise = (best->spread_us + predicted->spread_us) / best->time_us;
}

enum gw_err fit_accept(const struct fit_trials *trials,
                       const struct fit_verdict *verdict, struct gw_error *why)
{
    const double slack = 1 + 1e-9;
    bool size_is_right = verdict->size_factor <= size_factor_most * slack;
    bool time_is_right = verdict->over <= over_most * slack;
    if (size_is_right && time_is_right)
        return GW_OK;
    bool unsure = verdict->over <= verdict->noise;
    const char *warning = unsure ? "; the steps of one size vary by the same "
                                   "amount (use more --steps)"
                                 : "";
    enum gw_err code = unsure ? GW_EUNSURE : GW_EWRONG;
    if (!size_is_right)
        return gw_fail(why, code,
                       "micro-batches of %u were the fastest, a factor of %.1f "
                       "from the %.1f of the formula%s",
                       verdict->best->trial.size, verdict->size_factor,
                       trials->fit.best_size, warning);
    return gw_fail(why, code,
                   "a step with the predicted micro-batches of %u took %.1f %% "
                   "longer than the fastest, with %u%s",
                   trials->best_size, 100 * verdict->over,
                   verdict->best->trial.size, warning);
}
