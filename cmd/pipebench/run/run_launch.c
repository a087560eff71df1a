/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts the stages and receives their reports. When one is lost, all of them
 * end. With --elastic they are started again, each with the state that it (or
 * its predecessor) has saved after the newest step that all have:
 *
 *     step   ... 4   5   6 x          x: a stage is lost
 *     kept       *   *                6 is begun again after 5
 *
 * Completed work of step 6 is repeated. No row counts twice, and all sums are
 * the same as without the loss.
 */
#include "run.h"

#include "common/command.h"
#include "common/recorder.h"

#include <stdio.h>
#include <string.h>

enum { SILENCE_MS = 500 };

static void add_loss(void *context, unsigned rank, const void *data,
                     size_t bytes)
{
    struct run *run = context;
    struct run_loss loss;
    (void)rank;
    if (bytes != sizeof loss)
        return;
    memcpy(&loss, data, sizeof loss);
    if (loss.finished) {
        run->record.final_loss = loss.loss;
        run->record.final_accuracy = loss.accuracy;
        run->record.until = loss.until;
    } else if (loss.step < run->record.step_count) {
        run->record.loss[loss.step] = loss.loss;
        progress("step %u of %u: loss %.4f", loss.step + 1,
                 run->record.step_count, loss.loss);
    }
}

static void on_event(void *context, const struct gw_event *event)
{
    struct run *run = context;
    run_record_event(&run->record, event);
    if (run->recorder)
        recorder_add(run->recorder, event);
    publish_run_event(run->publisher, event);
    if (run->live)
        run_live_draw(run->live, event);
}

/* A link has room for a few slices, and nothing moves on it while its ends
 * compute, so a message has at most as many slices as are in transfer at once.
 * 0: the wire's default. */
static size_t slice_bytes(const struct run_spec *spec)
{
    enum { SLICES = 4, ALIGNMENT = 64 };
    const size_t usual = 512 << 10, most = 64 << 20;
    size_t bytes = spec->work.message_elements * sizeof(float);
    size_t slice = (bytes / SLICES + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (spec->net || bytes <= usual)
        return 0;
    return slice < most ? slice : most;
}

static enum gw_err launch_stages(struct run *run, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = run->spec->schedule->stages,
        .rank_name = "stage",
        .wire = run->spec->wire,
        .timeout_ns = common.timeout_ns,
        .silence_ms = SILENCE_MS,
        .slice_bytes = slice_bytes(run->spec),
        .events = run->recorder != NULL,
        .rank_main = run_stage,
        .context = run,
        .on_report = add_loss,
        .on_event = on_event,
    };
    return launch_run(&launch, why);
}

/* ---- continuing ---- */

/* A stage was lost; any other error would only occur again. */
static bool may_go_on(const struct run *run, enum gw_err code)
{
    return run->spec->elastic && (code == GW_ELOST || code == GW_ETIMEOUT);
}

/* Passes done after the steps before `step`. */
static uint64_t passes_after(const struct run *run, unsigned step)
{
    const struct gw_schedule *s = run->spec->schedule;
    uint64_t passes = 0;
    for (unsigned stage = 0; stage < s->stages; stage++) {
        uint64_t kept =
            (uint64_t)step * (s->begin[stage + 1] - s->begin[stage]);
        uint64_t done = run_safe_passes(run->spec->safe, stage);
        passes += done > kept ? done - kept : 0;
    }
    return passes;
}

static void add_recovery(struct run *run, unsigned step, const char *sentence)
{
    struct run_recovery *r = &run->recoveries[run->recovery_count++];
    char finished[40] = "no step was completed";
    double at_s = (double)(gw_now_ns() - run->record.zero_ns) * 1e-9;
    snprintf(r->name, sizeof r->name, "recovery_%u", run->recovery_count);
    r->passes = passes_after(run, step);
    if (step > 0)
        snprintf(finished, sizeof finished, "the last completed step is %u",
                 step - 1);
    snprintf(r->text, sizeof r->text,
             "%.*s in step %u, after %.2f s; %s; %llu passes are redone",
             (int)strcspn(sentence, ";"), sentence, step, at_s, finished,
             (unsigned long long)r->passes);
    progress("%s", r->text);
}

/* Continues from the newest step that all stages have saved. */
static void go_back(struct run *run, const char *sentence)
{
    unsigned newest;
    bool kept = run_safe_newest(run->spec->safe, &newest);
    run->spec->first_step = kept ? newest + 1 : 0;
    add_recovery(run, run->spec->first_step, sentence);
    run_record_forget(&run->record, run->spec->first_step);
}

enum gw_err run_launch(struct run *run, struct gw_error *why)
{
    enum gw_err err = launch_stages(run, why);
    while (err && may_go_on(run, err)) {
        if (run->recovery_count == run->spec->restarts_max)
            return gw_wrap(why, err, "gave up after %u restart%s",
                           run->recovery_count,
                           run->recovery_count == 1 ? "" : "s");
        go_back(run, why->text);
        err = launch_stages(run, why);
    }
    progress("%s", "");
    return err;
}
