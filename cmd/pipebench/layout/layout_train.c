/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout --run: reads the data, forks a rank for each place of the
 * mesh, and with --compare runs the same steps in one process before. Then the
 * losses must be equal, except for the effect of another order of additions.
 */
#include "common/command.h"
#include "layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stopped rank is found within the second that a run may take to end. */
enum { SILENCE_MS = 700 };

/* ---- data ---- */

static enum gw_err load_test(struct layout_run *run, struct gw_error *why)
{
    const char *path = run->options->test;
    enum gw_index_base base = run->train->index_base ? GW_BASE_1 : GW_BASE_0;
    size_t ignored;
    if (!path)
        return GW_OK;
    enum gw_err err = gw_libsvm_load(path, base, &run->test, why);
    if (err)
        return err;
    err = gw_dataset_match(run->test, run->train, &ignored, why);
    return err ? gw_wrap(why, err, "%s", path) : GW_OK;
}

/* Does the network take such rows, and do they fill a batch? */
static enum gw_err check_data(const struct layout_run *run,
                              struct gw_error *why)
{
    const struct gw_network *network = run->layout->network;
    const struct gw_dataset *data = run->train;
    if (data->features > network->inputs)
        return gw_fail(why, GW_EDATA,
                       "%s: the rows have %zu features, but the network %s "
                       "has %u inputs",
                       run->options->data, data->features, network->name,
                       network->inputs);
    if (data->class_count > network->classes)
        return gw_fail(why, GW_EDATA,
                       "%s: the rows have %u labels, but the network %s has "
                       "%u classes",
                       run->options->data, data->class_count, network->name,
                       network->classes);
    if (data->rows < run->layout->options.batch)
        return gw_fail(
            why, GW_EDATA,
            "%s: %zu rows do not fill a batch of %u; use a smaller --batch",
            run->options->data, data->rows, run->layout->options.batch);
    return GW_OK;
}

static void scale_dataset(struct layout_run *run)
{
    float largest = gw_dataset_largest(run->train);
    float factor = 1 / largest;
    if (strcmp(run->options->scale, "none") == 0 || !isfinite(factor))
        return;
    gw_dataset_scale(run->train, factor);
    if (run->test)
        gw_dataset_scale(run->test, factor);
}

static enum gw_err load_data(struct layout_run *run, struct gw_error *why)
{
    progress("reading %s", run->options->data);
    enum gw_err err =
        gw_libsvm_load(run->options->data, GW_BASE_AUTO, &run->train, why);
    if (!err)
        err = load_test(run, why);
    if (!err)
        err = check_data(run, why);
    if (!err)
        scale_dataset(run);
    return err;
}

/* ---- ranks ---- */

static enum gw_err launch_training(struct layout_run *run, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = gw_mesh_size(&run->layout->options.mesh),
        .wire = run->options->wire,
        .timeout_ns = common.timeout_ns,
        .silence_ms = SILENCE_MS,
        .rank_main = layout_rank,
        .context = run,
        .on_report = layout_on_report,
    };
    return launch_run(&launch, why);
}

static enum gw_err check_losses(const struct layout_results *results,
                                struct gw_error *why)
{
    if (!results->parted)
        return GW_OK;
    return gw_fail(why, GW_EWRONG,
                   "the losses differ from those of one process from step %u "
                   "on, by up to %.2g of them; the limit is %g",
                   results->parted, results->largest_difference,
                   LAYOUT_DIFFERENCE_MAX);
}

/* `job` with results of its own; `expected` NULL: no comparison. */
static enum gw_err run_mesh(struct layout_run *run, const double *expected,
                            struct gw_error *why)
{
    struct layout_results results = {.expected = expected};
    results.losses = calloc(run->options->steps, sizeof *results.losses);
    if (!results.losses)
        return gw_fail(why, GW_ENOMEM, "the losses");
    run->results = &results;
    enum gw_err err = layout_report_begin(run, why);
    if (!err) {
        err = launch_training(run, why);
        if (!err && results.wrong.code) {
            *why = results.wrong;
            err = why->code;
        }
        if (!err)
            err = check_losses(&results, why);
        layout_report_end(run, err ? why : NULL);
    }
    free(results.losses);
    run->results = NULL;
    return err;
}

/* The losses of one process, over the same batches. */
static enum gw_err run_alone(const struct layout_run *run, double *losses,
                             struct gw_error *why)
{
    struct layout_results results = {.losses = losses};
    struct layout_run alone = *run;
    struct gw_layout *layout = NULL;
    struct gw_schedule *schedule = NULL;
    const struct gw_layout_options options = {
        .mesh = {1, 1, 1},
        .batch = run->layout->options.batch,
        .optimiser_words = run->layout->options.optimiser_words,
    };
    progress("one process, to compare with");
    enum gw_err err =
        gw_layout_new(run->layout->network, &options, &layout, why);
    if (!err)
        err = gw_schedule_make("gpipe", 1, 1, 0, &schedule, why);
    alone.layout = layout;
    alone.schedule = schedule;
    alone.results = &results;
    alone.test = NULL;
    if (!err)
        err = launch_training(&alone, why);
    gw_schedule_destroy(&schedule);
    gw_layout_destroy(&layout);
    return err ? gw_wrap(why, err, "one process") : GW_OK;
}

static enum gw_err run_both(struct layout_run *run, struct gw_error *why)
{
    double *losses = calloc(run->options->steps, sizeof *losses);
    if (!losses)
        return gw_fail(why, GW_ENOMEM, "the losses");
    enum gw_err err = run_alone(run, losses, why);
    if (!err)
        err = run_mesh(run, losses, why);
    free(losses);
    return err;
}

enum gw_err layout_train(const struct layout_options *options,
                         const struct gw_layout *layout,
                         const struct gw_schedule *schedule,
                         struct gw_error *why)
{
    struct layout_run run = {
        .options = options, .layout = layout, .schedule = schedule};
    enum gw_err err = load_data(&run, why);
    if (!err)
        err =
            options->compare ? run_both(&run, why) : run_mesh(&run, NULL, why);
    gw_dataset_destroy(&run.train);
    gw_dataset_destroy(&run.test);
    return err;
}
