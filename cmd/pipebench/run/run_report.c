/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of a run: the rows of report.h, for the step whose time is the
 * median; before and after them the parameters, the trained model and the
 * losses of stages.
 */
#include "run.h"

#include "common/command.h"
#include "pipebench/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void note_work(const struct run *run, struct output *output)
{
    const struct run_spec *spec = run->spec;
    output_note_text(output, "wire", spec->wire);
    /* Without the one that warms up. */
    unsigned done = run->record.steps_done;
    output_note_integer(output, "steps",
                        spec->net || done == 0 ? done : done - 1);
    if (run->publisher)
        output_note_text(output, "run", publish_run_name(run->publisher));
    if (spec->net) {
        output_note_text(output, "network", spec->net->path);
        output_note_integer(output, "batch", spec->net->batch);
        output_note_integer(output, "seed", (int64_t)common.seed);
    } else {
        output_note_text(output, "work", spec->work.spin ? "spin" : "sleep");
        output_note_integer(
            output, "message_bytes",
            (int64_t)(spec->work.message_elements * sizeof(float)));
    }
}

static void note_times(const struct run *run, const struct run_step *median,
                       double least_us, double most_us, struct output *output)
{
    const struct run_prediction *p = &run->prediction;
    double predicted_us = p->priced     ? p->price.time_us
                          : p->timeline ? p->timeline->time_us
                                        : (double)NAN;
    if (!median)
        return;
    output_note_real(output, "time_predicted_us", predicted_us);
    output_note_real(output, "time_of_predicted",
                     median->time_us / predicted_us);
    output_note_real(output, "time_least_us", least_us);
    output_note_real(output, "time_most_us", most_us);
}

static void note_recoveries(const struct run *run, struct output *output)
{
    uint64_t passes = 0;
    if (!run->spec->elastic)
        return;
    output_note_integer(output, "recoveries", run->recovery_count);
    for (unsigned i = 0; i < run->recovery_count; i++) {
        const struct run_recovery *recovery = &run->recoveries[i];
        output_note_text(output, recovery->name, recovery->text);
        passes += recovery->passes;
    }
    output_note_integer(output, "passes_redone", (int64_t)passes);
}

/* "2.30 1.10 0.62": the mean of each epoch, or of each tenth if there are more.
 */
static void note_curve(const struct run *run, struct output *output)
{
    enum { POINTS_MAX = 10 };
    const struct run_record *record = &run->record;
    char text[POINTS_MAX * 16] = "";
    unsigned steps = record->step_count, a_point = run->spec->net->batches;
    if (steps / a_point >= POINTS_MAX || steps < a_point)
        a_point = (steps + POINTS_MAX - 1) / POINTS_MAX;
    for (unsigned first = 0; first < steps; first += a_point) {
        double sum = 0;
        unsigned count = 0;
        for (unsigned i = first; i < first + a_point && i < steps; i++)
            if (!isnan(record->loss[i])) {
                sum += record->loss[i];
                count++;
            }
        size_t used = strlen(text);
        if (count > 0)
            snprintf(text + used, sizeof text - used, "%s%.4f", used ? " " : "",
                     sum / count);
    }
    output_note_text(output, "losses", text);
}

static void note_learnt(const struct run *run, struct output *output)
{
    const struct run_record *record = &run->record;
    const struct run_net *net = run->spec->net;
    double last = (double)NAN;
    if (!net)
        return;
    for (unsigned i = 0; i < record->step_count; i++)
        if (!isnan(record->loss[i]))
            last = record->loss[i];
    note_curve(run, output);
    output_note_real(output, "loss_first", record->loss[0]);
    output_note_real(output, "loss_last", last);
    if (isnan(record->final_loss))
        return;
    output_note_text(output, "ended", record->until ? "until" : "steps");
    output_note_real(output, net->test ? "test_loss" : "train_loss",
                     record->final_loss);
    output_note_real(output, net->test ? "test_accuracy" : "train_accuracy",
                     record->final_accuracy);
}

enum gw_err run_report(const struct run *run, const struct gw_error *error,
                       struct gw_error *why)
{
    struct output *output;
    double least_us, most_us;
    const struct run_step *median =
        run_record_median(&run->record, &least_us, &most_us);
    const struct report report = {
        .title = "pipebench run",
        .measured = true,
        .schedule = run->spec->schedule,
        .timeline = median ? median->timeline : NULL,
        .price = run->prediction.priced ? &run->prediction.price : NULL,
        .simulated = run->prediction.timeline,
    };
    if (report_begin(&report, &output, why))
        return why->code;
    note_work(run, output);
    note_times(run, median, least_us, most_us, output);
    note_recoveries(run, output);
    note_learnt(run, output);
    report_rows(&report, output);
    output_end(&output, error, error && error->code == GW_EINTR);
    return GW_OK;
}
