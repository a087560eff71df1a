/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench sweep: how large should a micro-batch be? One step over the same
 * batch at several sizes, with the predicted and the measured time. Small
 * micro-batches pay the fixed cost of a pass too often, large ones leave the
 * pipeline empty for too long: the curve is a U, and the formula of
 * gradwire-pipe(3) gives its minimum.
 */
#include "pipebench.h"

#include "common/output.h"
#include "size_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 64, BAR_CELLS = 24 };

static struct size_options size_options = SIZE_DEFAULTS;
static const char *sizes_text = "1,2,4,8,16,32,64";

static const struct option_spec options[] = {
    {"micro", 'm', OPTION_TEXT, &sizes_text, "SIZE[,...]",
     "Samples per micro-batch; each size must divide the batch.", NULL},
    {"schedule", 's', OPTION_TEXT, &size_options.schedule, "NAME",
     "Schedule: gpipe, 1f1b, interleaved or zb-h1.", SCHEDULE_WORDS},
    SIZE_OPTIONS(size_options),
    {0},
};

/* The last one is for people only. */
static const struct field fields[] = {
    {"micro", "size", FIELD_INTEGER, 0, false},
    {"micros", NULL, FIELD_INTEGER, 0, false},
    {"predicted_us", "predicted us", FIELD_REAL, 1, false},
    {"time_us", "time us", FIELD_REAL, 1, false},
    {"spread_us", "spread us", FIELD_REAL, 1, true},
    {"bubble", NULL, FIELD_REAL, 4, false},
    {"best", NULL, FIELD_BOOL, 0, true},
    {"curve", NULL, FIELD_TEXT, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct sweep {
    struct size_bench bench;
    unsigned sizes[SIZES_MAX];
    unsigned size_count, count; /* planned, done */
    struct size_trial trials[SIZES_MAX];
};

static enum gw_err try_all(struct sweep *sweep, struct gw_error *why)
{
    for (unsigned i = 0; i < sweep->size_count; i++) {
        progress("micro-batches of %u (%u of %u)", sweep->sizes[i], i + 1,
                 sweep->size_count);
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (size_try(&sweep->bench, sweep->sizes[i], &sweep->trials[i], why))
            return why->code;
        sweep->count++;
    }
    return GW_OK;
}

static const struct size_trial *best_of(const struct sweep *sweep)
{
    const struct size_trial *best = &sweep->trials[0];
    for (unsigned i = 1; i < sweep->count; i++)
        if (sweep->trials[i].time_us < best->time_us)
            best = &sweep->trials[i];
    return best;
}

static double most_us(const struct sweep *sweep)
{
    double most = 0;
    for (unsigned i = 0; i < sweep->count; i++)
        most = fmax(most, sweep->trials[i].time_us);
    return most;
}

static void trial_row(struct output *output, const struct size_trial *trial,
                      double whole_us, bool best)
{
    char curve[8 * BAR_CELLS];
    char *bar = size_bar(trial->time_us / whole_us, BAR_CELLS);
    snprintf(curve, sizeof curve, "%s%s", bar ? bar : "", best ? " best" : "");
    free(bar);
    output_row(output, (union value[FIELD_COUNT]){
                           {.integer = trial->size},
                           {.integer = trial->micros},
                           {.real = trial->predicted_us},
                           {.real = trial->time_us},
                           {.real = trial->spread_us},
                           {.real = trial->bubble},
                           {.boolean = best},
                           {.text = curve},
                       });
}

/* The minimum of the formula, for the given costs. Schedules other than gpipe
 * and 1f1b have other formulas. */
static void note_formula(struct output *output, const struct size_bench *bench)
{
    const struct size_options *o = bench->options;
    double each_us = bench->sample_us * (o->stages - 1);
    double size =
        each_us > 0 ? sqrt(bench->fixed_us * o->batch / each_us) : o->batch;
    const struct gw_pipe_fit fit = {.fixed_us = bench->fixed_us,
                                    .sample_us = bench->sample_us};
    size = fmin(fmax(size, 1), o->batch);
    if (strcmp(o->schedule, "gpipe") != 0 && strcmp(o->schedule, "1f1b") != 0)
        return;
    output_note_real(output, "formula_micro", size);
    output_note_real(output, "formula_us",
                     gw_pipe_fit_us(&fit, o->stages, o->batch, size));
}

static enum gw_err report_sweep(const struct sweep *sweep,
                                const struct gw_error *error,
                                struct gw_error *why)
{
    struct output *output;
    bool table = strcmp(common.output, "table") == 0;
    const struct size_options *o = sweep->bench.options;
    if (output_begin("pipebench sweep", common.output, fields,
                     table ? FIELD_COUNT : FIELD_COUNT - 1, &output, why))
        return why->code;
    output_note_text(output, "schedule", o->schedule);
    output_note_integer(output, "stages", o->stages);
    output_note_integer(output, "batch", o->batch);
    output_note_text(output, "work", o->work);
    output_note_text(output, "times", o->simulate ? "simulated" : "measured");
    output_collect(output);
    for (unsigned i = 0; i < sweep->count; i++)
        trial_row(output, &sweep->trials[i], most_us(sweep),
                  best_of(sweep) == &sweep->trials[i]);
    note_formula(output, &sweep->bench);
    if (sweep->count > 0)
        output_note_integer(output, "best_micro", best_of(sweep)->size);
    output_end(&output, error, error && error->code == GW_EINTR);
    return GW_OK;
}

static int run_sweep(int operand_count, char **operands)
{
    struct gw_error why, unprinted;
    static struct sweep sweep;
    (void)operand_count;
    (void)operands;
    sweep = (struct sweep){.count = 0};
    if (size_bench_init(&sweep.bench, &size_options, &why) ||
        size_list(&sweep.bench, "--micro", sizes_text, SIZES_MAX, sweep.sizes,
                  &sweep.size_count, &why))
        return complain(&why);
    enum gw_err err = try_all(&sweep, &why);
    progress("%s", "");
    if (report_sweep(&sweep, err ? &why : NULL, &unprinted) && !err)
        return complain(&unprinted);
    return err ? complain(&why) : 0;
}

const struct command command_sweep = {
    .name = "sweep",
    .help = "measure a step at several micro-batch sizes: the U-shaped curve",
    .examples = "pipebench sweep --micro 1,2,4,8,16,32 --batch 256\n"
                "pipebench sweep --work sleep:2ms+20us --batch 1024 --micro "
                "32,64,128,256,512\n"
                "pipebench sweep --sim --stages 8 --batch 1024 -o json\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 0,
    .run = run_sweep,
};
