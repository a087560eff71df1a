/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench fit: from the times of two micro-batch sizes to the best one. Two
 * steps give the fixed cost and the cost of a sample (gw_pipe_fit), these the
 * best size. Steps at that size and near it then show the error of the formula.
 * With --times the times are given, and the command ends with the prediction.
 */
#include "pipebench.h"

#include "common/output.h"
#include "common/text/items.h"
#include "fit_trials.h"

#include <base/whole.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_CELLS = 24 };

static struct size_options size_options = SIZE_DEFAULTS;
static const char *sizes_text = "4,64", *times_text;

static const struct option_spec options[] = {
    {"sizes", 0, OPTION_TEXT, &sizes_text, "SIZE,SIZE",
     "Micro-batch sizes to measure for the fit.", NULL},
    {"times", 0, OPTION_TEXT, &times_text, "SIZE=TIME,SIZE=TIME",
     "Two known step times instead of a measurement: \"8=123ms,64=150ms\".",
     NULL},
    {"schedule", 's', OPTION_CHOICE, &size_options.schedule, "NAME",
     "Schedule with the time (m+p-1)(F+b).", "1f1b|gpipe"},
    SIZE_OPTIONS(size_options),
    {0},
};

/* The last one is for people only. */
static const struct field fields[] = {
    {"micro", "size", FIELD_INTEGER, 0, false},
    {"micros", NULL, FIELD_INTEGER, 0, false},
    {"predicted_us", "predicted us", FIELD_REAL, 1, false},
    {"time_us", "time us", FIELD_REAL, 1, false},
    {"off_percent", "% off", FIELD_REAL, 1, false},
    {"spread_us", "spread us", FIELD_REAL, 1, true},
    {"role", NULL, FIELD_TEXT, 0, false},
    {"curve", NULL, FIELD_TEXT, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static enum gw_err odd_times(struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL,
                   "--times must be two sizes with their times, such as "
                   "8=123ms,64=150ms, not \"%.60s\"",
                   times_text);
}

/* "8=123ms,64=150ms" */
static enum gw_err read_times(const struct size_bench *bench,
                              struct size_trial pair[2], struct gw_error *why)
{
    char item[48];
    const char *rest = times_text;
    uint64_t size, ns;
    for (unsigned i = 0; i < 2; i++) {
        const char *at = item;
        if (!items_next(&rest, item, sizeof item) ||
            !gw__whole_read(&at, UINT32_MAX, &size) || *at++ != '=')
            return odd_times(why);
        if (gw_parse_duration(at, &ns, why) ||
            size_check(bench, (unsigned)size, why))
            return gw_wrap(why, GW_EINVAL, "--times");
        pair[i].size = (unsigned)size;
        pair[i].time_us = (double)ns * 1e-3;
    }
    return rest ? odd_times(why) : GW_OK;
}

static enum gw_err try_size(const struct size_bench *bench, unsigned size,
                            struct size_trial *trial, struct gw_error *why)
{
    progress("micro-batches of %u", size);
    if (interrupted)
        return gw_fail(why, GW_EINTR, "interrupted");
    return size_try(bench, size, trial, why);
}

static enum gw_err measure_pair(const struct size_bench *bench,
                                struct size_trial pair[2], struct gw_error *why)
{
    unsigned sizes[2], count;
    if (size_list(bench, "--sizes", sizes_text, 2, sizes, &count, why))
        return why->code;
    if (count != 2)
        return gw_fail(why, GW_EINVAL,
                       "--sizes must be two different sizes, not \"%.60s\"",
                       sizes_text);
    for (unsigned i = 0; i < 2; i++)
        if (try_size(bench, sizes[i], &pair[i], why))
            return why->code;
    return GW_OK;
}

/* Each keeps the prediction of the fit. */
static enum gw_err measure_rest(const struct size_bench *bench,
                                struct fit_trials *trials, struct gw_error *why)
{
    for (unsigned i = 0; i < trials->count; i++) {
        struct fit_trial *t = &trials->list[i];
        double predicted_us = t->trial.predicted_us;
        if (t->timed)
            continue;
        if (try_size(bench, t->trial.size, &t->trial, why))
            return why->code;
        t->trial.predicted_us = predicted_us;
        t->timed = true;
    }
    return GW_OK;
}

/* ---- the output ---- */

static void trial_row(struct output *output, const struct fit_trial *t,
                      double whole_us, const struct fit_verdict *verdict)
{
    static const char *const roles[] = {[FIT_FITTED] = "fitted",
                                        [FIT_BEST] = "predicted best",
                                        [FIT_AROUND] = "around it"};
    char curve[8 * BAR_CELLS];
    const struct size_trial *trial = &t->trial;
    double time_us = t->timed ? trial->time_us : (double)NAN;
    double shown_us = t->timed ? time_us : trial->predicted_us;
    char *bar = size_bar(shown_us / whole_us, BAR_CELLS);
    snprintf(curve, sizeof curve, "%s%s", bar ? bar : "",
             verdict && verdict->best == t ? " best" : "");
    free(bar);
    output_row(output, (union value[FIELD_COUNT]){
                           {.integer = trial->size},
                           {.integer = trial->micros},
                           {.real = trial->predicted_us},
                           {.real = time_us},
                           {.real = 100 * (time_us / trial->predicted_us - 1)},
                           {.real = t->timed ? trial->spread_us : (double)NAN},
                           {.text = roles[t->role]},
                           {.text = curve},
                       });
}

static double most_us(const struct fit_trials *trials)
{
    double most = 0;
    for (unsigned i = 0; i < trials->count; i++) {
        const struct fit_trial *t = &trials->list[i];
        most = fmax(most, t->timed ? t->trial.time_us : t->trial.predicted_us);
    }
    return most;
}

static void note_conditions(struct output *output,
                            const struct fit_trials *trials)
{
    bool has_times = times_text != NULL;
    const struct size_options *o = &size_options;
    output_note_text(output, "schedule", o->schedule);
    output_note_integer(output, "stages", o->stages);
    output_note_integer(output, "batch", o->batch);
    output_note_text(output, "work", has_times ? NULL : o->work);
    output_note_text(output, "times",
                     has_times     ? "given"
                     : o->simulate ? "simulated"
                                   : "measured");
    if (trials->count == 0)
        return;
    output_note_real(output, "fixed_us", trials->fit.fixed_us);
    output_note_real(output, "sample_us", trials->fit.sample_us);
    output_note_real(output, "best_size", trials->fit.best_size);
    output_note_real(output, "best_us", trials->fit.best_us);
}

/* `verdict` NULL: none; there was no measurement, or not of all sizes. */
static enum gw_err report_fit(const struct fit_trials *trials,
                              const struct fit_verdict *verdict,
                              const struct gw_error *error,
                              struct gw_error *why)
{
    struct output *output;
    bool table = strcmp(common.output, "table") == 0;
    if (output_begin("pipebench fit", common.output, fields,
                     table ? FIELD_COUNT : FIELD_COUNT - 1, &output, why))
        return why->code;
    note_conditions(output, trials);
    output_collect(output);
    for (unsigned i = 0; i < trials->count; i++)
        trial_row(output, &trials->list[i], most_us(trials), verdict);
    if (trials->count > 0)
        output_note_integer(output, "predicted_micro", trials->best_size);
    if (verdict) {
        output_note_integer(output, "best_micro", verdict->best->trial.size);
        output_note_real(output, "size_factor", verdict->size_factor);
        output_note_real(output, "over_best_percent", 100 * verdict->over);
    }
    output_end(&output, error, error && error->code == GW_EINTR);
    return GW_OK;
}

/* Fits, and measures the predicted sizes, unless times were given. */
static enum gw_err fit(const struct size_bench *bench,
                       struct fit_trials *trials, struct fit_verdict *verdict,
                       bool *has_verdict, struct gw_error *why)
{
    struct size_trial pair[2] = {{.size = 0}};
    enum gw_err err = times_text ? read_times(bench, pair, why)
                                 : measure_pair(bench, pair, why);
    if (err)
        return err;
    err = fit_trials_plan(bench, pair, trials, why);
    if (err == GW_EWRONG && !times_text)
        return gw_wrap(why, why->code = GW_EUNSURE, "inconclusive");
    if (err || times_text)
        return err;
    if (measure_rest(bench, trials, why))
        return why->code;
    fit_evaluate(trials, verdict);
    *has_verdict = true;
    return fit_accept(trials, verdict, why);
}

static int run_fit(int operand_count, char **operands)
{
    struct gw_error why, unprinted;
    struct size_bench bench;
    struct fit_trials trials = {.count = 0};
    struct fit_verdict verdict;
    bool has_verdict = false;
    (void)operand_count;
    (void)operands;
    if (size_bench_init(&bench, &size_options, &why))
        return complain(&why);
    enum gw_err err = fit(&bench, &trials, &verdict, &has_verdict, &why);
    progress("%s", "");
    if (err && err != GW_EINTR && trials.count == 0)
        return complain(&why);
    if (report_fit(&trials, has_verdict ? &verdict : NULL, err ? &why : NULL,
                   &unprinted) &&
        !err)
        return complain(&unprinted);
    return err ? complain(&why) : 0;
}

const struct command command_fit = {
    .name = "fit",
    .help = "predict the best micro-batch size from two measured ones, and "
            "check the prediction",
    .examples = "pipebench fit\n"
                "pipebench fit --work sleep:2ms+1ms --batch 128 --sizes 2,32\n"
                "pipebench fit --stages 8 --batch 1024 --times "
                "8=1.8s,128=2.2s\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 0,
    .run = run_fit,
};
