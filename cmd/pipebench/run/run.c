/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench run: a schedule on real processes, one per stage, with synthetic
 * work or with a real network; prints the measurement and the prediction. This
 * file reads the options and joins the parts; see run.h.
 */
#include "run.h"

#include "common/key.h"
#include "common/recorder.h"
#include "pipebench/pipebench.h"
#include "pipebench/schedule_source.h"
#include "run/until.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_DEFAULT = 5, STEPS_MAX = 1000000 };

static struct schedule_source source = SCHEDULE_UNSET;
static struct options {
    const char *work, *slow, *wire, *fail, *trace, *events, *name;
    const char *optimiser;
    unsigned steps, restarts, epochs;
    uint64_t message_bytes;
    bool live, elastic;
} options = {
    .wire = "shm",
    .optimiser = "momentum",
    .restarts = 3,
};
static struct run_net net_options = {
    .batch = 64, .rate = (double)NAN, .momentum = 0.9};

static const struct option_spec specs[] = {
    SCHEDULE_SOURCE_OPTIONS(source),
    {"work", 0, OPTION_TEXT, &options.work, "HOW:TIME",
     "Time of a micro-batch on a stage, sleep:5ms or spin:5ms: one time for "
     "each of forward, input and weight gradient; or sleep:F,B or "
     "sleep:F,I,W. Default: sleep:5ms.",
     NULL},
    {"size", 'b', OPTION_BYTES, &options.message_bytes, "SIZE",
     "Bytes of a message, forward or backward. Default: 0.", NULL},
    {"slow", 0, OPTION_TEXT, &options.slow, "STAGE:FACTOR[,...]",
     "Make a stage slower by this factor.", NULL},
    {"wire", 'w', OPTION_CHOICE, &options.wire, "WIRE",
     "Transport: shm, ipc or tcp.", "shm|ipc|tcp"},
    KEY_OPTION,
    {"steps", 0, OPTION_UNSIGNED, &options.steps, "N",
     "Steps to measure, after one warm-up step; with --net all steps. "
     "Default: 5.",
     NULL},
    {"net", 0, OPTION_TEXT, &net_options.path, "FILE.net",
     "Train this network, instead of --work.", NULL},
    {"data", 0, OPTION_TEXT, &net_options.data_path, "FILE",
     "--net: training rows, as LibSVM text.", NULL},
    {"test", 't', OPTION_TEXT, &net_options.test_path, "FILE",
     "--net: test rows for the trained network.", NULL},
    {"batch", 0, OPTION_UNSIGNED, &net_options.batch, "ROWS",
     "--net: rows per step.", NULL},
    {"epochs", 'E', OPTION_UNSIGNED, &options.epochs, "N",
     "--net: passes over the data, instead of --steps. Default: 20.", NULL},
    {"lr", 0, OPTION_REAL, &net_options.rate, "RATE",
     "--net: learning rate. Default: 0.2; with adam 0.003.", NULL},
    {"optimiser", 0, OPTION_CHOICE, &options.optimiser, "NAME",
     "--net: optimiser: sgd, momentum or adam.", "sgd|momentum|adam"},
    {"momentum", 0, OPTION_REAL, &net_options.momentum, "M",
     "--net: share of the last step's velocity that is kept.", NULL},
    UNTIL_OPTION(net_options.until_text),
    {"watch", 0, OPTION_FLAG, &options.live, NULL,
     "Draw the passes during the run.", NULL},
    {"trace", 0, OPTION_TEXT, &options.trace, "FILE.json",
     "Write a Chrome trace with predicted and measured times, for Perfetto.",
     NULL},
    {"events", 0, OPTION_TEXT, &options.events, "FILE.jsonl",
     "Write all events to FILE.", NULL},
    {"name", 0, OPTION_TEXT, &options.name, "NAME",
     "Name of the run, for ringtop NAME.", NULL},
    {"elastic", 0, OPTION_FLAG, &options.elastic, NULL,
     "When a stage is lost, replace it and continue from the last completed "
     "step.",
     NULL},
    {"restarts", 0, OPTION_UNSIGNED, &options.restarts, "N",
     "--elastic: maximum number of losses.", NULL},
    {"fail", 0, OPTION_TEXT, &options.fail, "STAGE@STEP:HOW[,...]",
     "For experiments: kill or stop the stage in the middle of this step.",
     NULL},
    {0},
};

/* ---- from options to a job ---- */

static enum gw_err check_run_options(struct gw_error *why)
{
    const struct options *o = &options;
    if (o->restarts > RUN_RECOVERIES_MAX)
        return gw_fail(why, GW_EINVAL, "--restarts must be at most %d",
                       RUN_RECOVERIES_MAX);
    if (net_options.path && (o->work || o->slow || o->message_bytes))
        return gw_fail(
            why, GW_EINVAL,
            "--net does real work; remove --work, --slow and --size");
    if (!net_options.path && (net_options.data_path || net_options.test_path ||
                              o->epochs || net_options.until_text))
        return gw_fail(why, GW_EINVAL,
                       "--data, --test, --epochs and --until need --net");
    if (o->epochs && o->steps)
        return gw_fail(why, GW_EINVAL,
                       "use either --epochs or --steps, not both");
    if (o->message_bytes > (UINT64_C(1) << 32))
        return gw_fail(why, GW_EINVAL, "--size must be at most 4G");
    return until_parse(net_options.until_text, &net_options.until, why);
}

/* The number of steps, including the one that warms up. */
static enum gw_err count_steps(struct run_spec *spec, struct gw_error *why)
{
    uint64_t steps = options.steps;
    enum { EPOCHS_DEFAULT = 20 };
    unsigned epochs = options.epochs ? options.epochs : EPOCHS_DEFAULT;
    if (spec->net && steps == 0)
        steps = (uint64_t)epochs * spec->net->batches;
    if (!spec->net)
        steps = (steps ? steps : STEPS_DEFAULT) + 1;
    if (steps > STEPS_MAX)
        return gw_fail(why, GW_EINVAL, "%s makes more than %d steps",
                       options.epochs ? "--epochs" : "--steps", STEPS_MAX);
    spec->steps = (unsigned)steps;
    return GW_OK;
}

static enum gw_err read_work(struct run_spec *spec, struct gw_error *why)
{
    const struct gw_schedule *s = spec->schedule;
    if (run_parse_work(options.work ? options.work : "sleep:5ms", s->chunks,
                       &spec->work, why))
        return why->code;
    spec->work.message_elements =
        (size_t)((options.message_bytes + sizeof(float) - 1) / sizeof(float));
    return options.slow
               ? run_parse_slow(options.slow, s->stages, spec->slow, why)
               : GW_OK;
}

static enum gw_err read_net(struct run_spec *spec, struct gw_error *why)
{
    if (gw_optimiser_parse(options.optimiser, &net_options.optimiser, why))
        return why->code;
    if (isnan(net_options.rate))
        net_options.rate = net_options.optimiser == GW_ADAM ? 0.003 : 0.2;
    spec->net = &net_options;
    return run_net_load(spec->net, spec->schedule, why);
}

static enum gw_err spec_init(struct run_spec *spec, struct gw_error *why)
{
    unsigned stages = spec->schedule->stages;
    spec->slow = malloc(stages * sizeof *spec->slow);
    if (!spec->slow)
        return gw_fail(why, GW_ENOMEM, "%u stages", stages);
    for (unsigned s = 0; s < stages; s++)
        spec->slow[s] = 1;
    enum gw_err err =
        net_options.path ? read_net(spec, why) : read_work(spec, why);
    if (!err)
        err = count_steps(spec, why);
    if (!err && options.fail)
        err = faults_parse(options.fail, &(struct fault_words){"stage", "step"},
                           stages, spec->steps, &spec->faults, why);
    return err ? err : run_safe_new(stages, &spec->safe, why);
}

static void spec_fini(struct run_spec *spec)
{
    run_safe_destroy(&spec->safe);
    if (spec->net)
        run_net_fini(spec->net);
    free(spec->slow);
}

/* ---- around the run ---- */

static enum gw_err prepare_run(struct run *run, struct gw_error *why)
{
    struct run_spec *spec = run->spec;
    enum gw_err err = GW_OK;
    if (!spec->net)
        err = run_predict(spec, &run->prediction, why);
    if (err)
        return err;
    if (run->prediction.timeline)
        spec->predicted_us = run->prediction.timeline->time_us;
    err = run_record_init(&run->record, spec, why);
    if (!err && options.trace) /* can the file be written? */
        err = run_trace_write(options.trace, run, why);
    if (!err)
        err = run_publish(run, options.name, why);
    if (!err && options.live)
        err = run_live_new(run, &run->live, why);
    return err;
}

/* A real network is compared with the sum of its passes. */
static enum gw_err predict_late(struct run *run, struct gw_error *why)
{
    double least_us, most_us;
    const struct run_step *median =
        run_record_median(&run->record, &least_us, &most_us);
    if (!run->spec->net || !median)
        return GW_OK;
    return run_predict_from(run->spec, median->timeline, &run->prediction, why);
}

static enum gw_err write_files(struct run *run, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (options.trace)
        err = run_trace_write(options.trace, run, why);
    if (!err && run->recorder)
        err = recorder_write(run->recorder, why);
    return err;
}

static int finish_run(struct run *run, enum gw_err err, struct gw_error *why)
{
    struct gw_error later = {.code = GW_OK};
    if (predict_late(run, &later) || write_files(run, &later)) {
        if (!err)
            *why = later;
        err = err ? err : later.code;
    }
    if (run_report(run, err ? why : NULL, &later) && !err) {
        *why = later;
        err = later.code;
    }
    run_publish_end(run, err ? why : NULL);
    return err ? complain(why) : 0;
}

static int execute_run(struct run_spec *spec)
{
    struct recorder recorder = {.jsonl = options.events};
    struct gw_error why = {.code = GW_OK};
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return complain_with(GW_ENOMEM, "no memory for a run");
    run->spec = spec;
    run->recorder = recorder_wanted(&recorder) ? &recorder : NULL;
    int status;
    if (prepare_run(run, &why)) {
        run_publish_end(run, &why);
        status = complain(&why);
    } else {
        enum gw_err err = run_launch(run, &why);
        run_live_destroy(&run->live); /* its legend goes before the rows */
        status = finish_run(run, err, &why);
    }
    run_live_destroy(&run->live);
    run_prediction_fini(&run->prediction);
    run_record_fini(&run->record);
    recorder_fini(&recorder);
    free(run);
    return status;
}

static int run_pipeline(int operand_count, char **operands)
{
    struct gw_error why = {.code = GW_OK};
    struct gw_schedule *schedule;
    if (check_run_options(&why) ||
        schedule_get(operand_count ? operands[0] : NULL, &source, &schedule,
                     &why))
        return complain(&why);
    struct run_spec spec = {
        .schedule = schedule,
        .wire = options.wire,
        .elastic = options.elastic,
        .restarts_max = options.restarts,
    };
    int status = spec_init(&spec, &why) ? complain(&why) : execute_run(&spec);
    spec_fini(&spec);
    gw_schedule_destroy(&schedule);
    return status;
}

static const struct option_group groups[] = {
    {"schedule", "Pipeline"},
    {"net", "Training of a network"},
    {"watch", "Output"},
    {"elastic", "Failures"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .operands = "[FILE.pipe]",
    .help =
        "run a schedule with real processes, and compare with the prediction",
    .examples =
        "pipebench run --schedule 1f1b --stages 4 --micro 16 --work sleep:5ms\n"
        "pipebench run -s zb-h1 -m 8 --watch --trace trace.json\n"
        "pipebench run --elastic --fail 2@3:kill\n"
        "pipebench run --net digits.net --data digits.libsvm -n 2 -m 4\n",
    .options = specs,
    .groups = groups,
    .operands_min = 0,
    .operands_max = 1,
    .run = run_pipeline,
};
