/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The run for Perfetto (ui.perfetto.dev) and chrome://tracing, in the "Trace
 * Event Format" of Chromium: one process, and two threads per stage, the
 * prediction above the measurement. A predicted step begins where the measured
 * one did. Times are in microseconds since the beginning of the run.
 *
 * The document is complete after any run: an unfinished step has its finished
 * passes.
 */
#include "run.h"

#include <stdio.h>

enum lane { PREDICTED, MEASURED, LANES };

static const char *const lane_names[LANES] = {"predicted", "measured"};

struct trace {
    FILE *file;
    const struct gw_schedule *schedule;
    bool begun; /* a record has been written */
};

static FILE *next(struct trace *t)
{
    fputs(t->begun ? ",\n" : "\n", t->file);
    t->begun = true;
    return t->file;
}

static unsigned thread_of(unsigned stage, enum lane lane)
{
    return stage * LANES + lane + 1;
}

static void name_lanes(struct trace *t)
{
    fprintf(next(t),
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":"
            "{\"name\":\"pipeline\"}}");
    for (unsigned s = 0; s < t->schedule->stages; s++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            unsigned thread = thread_of(s, (enum lane)lane);
            fprintf(next(t),
                    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":"
                    "%u,\"args\":{\"name\":\"stage %u %s\"}}",
                    thread, s, lane_names[lane]);
            fprintf(next(t),
                    "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,"
                    "\"tid\":%u,\"args\":{\"sort_index\":%u}}",
                    thread, thread);
        }
}

/* The place of a pass in the picture. */
struct place {
    unsigned stage, step;
    enum lane lane;
    double begin_us; /* of the step */
};

static void put_pass(struct trace *t, const struct place *place,
                     const struct gw_pass *pass,
                     const struct gw_pass_time *time)
{
    fprintf(next(t), "{\"ph\":\"X\",\"name\":\"%c%u",
            gw_pass_symbol((enum gw_pass_kind)pass->kind), pass->micro);
    if (t->schedule->chunks > 1)
        fprintf(t->file, ".%u", pass->chunk);
    fprintf(t->file,
            "\",\"cat\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"step\":%u,\"micro\":%u,\"virtual_stage\":%u",
            lane_names[place->lane], thread_of(place->stage, place->lane),
            place->begin_us + time->begin_us, time->end_us - time->begin_us,
            place->step, pass->micro, pass->chunk);
    if (time->waited_for != GW_NONE)
        fprintf(t->file, ",\"waited_for\":%u", time->waited_for);
    fputs("}}", t->file);
}

static void put_step(struct trace *t, enum lane lane, unsigned step,
                     const struct gw_timeline *timeline, double begin_us)
{
    const struct gw_schedule *s = t->schedule;
    struct place place = {.step = step, .lane = lane, .begin_us = begin_us};
    for (; place.stage < s->stages; place.stage++)
        for (size_t i = s->begin[place.stage]; i < s->begin[place.stage + 1];
             i++) {
            const struct gw_pass_time *time = &timeline->times[i];
            if (time->end_us > time->begin_us)
                put_pass(t, &place, &s->passes[i], time);
        }
}

enum gw_err run_trace_write(const char *path, const struct run *run,
                            struct gw_error *why)
{
    const struct gw_timeline *predicted = run->prediction.timeline;
    struct trace t = {.file = fopen(path, "w"),
                      .schedule = run->spec->schedule};
    if (!t.file)
        return gw_fail_errno(why, "--trace %.200s", path);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", t.file);
    name_lanes(&t);
    for (unsigned i = 0; i < run->record.step_count; i++) {
        const struct run_step *step = &run->record.steps[i];
        if (!step->timeline)
            continue;
        if (predicted)
            put_step(&t, PREDICTED, i, predicted, step->begin_us);
        put_step(&t, MEASURED, i, step->timeline, step->begin_us);
    }
    fputs("\n]}\n", t.file);
    bool failed = ferror(t.file) != 0;
    if (fclose(t.file) != 0 || failed)
        return gw_fail_errno(why, "write to --trace %.200s", path);
    return GW_OK;
}
