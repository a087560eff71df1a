/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See sim_events.h. Each stage introduces itself at time 0, then sends events
 * for the beginning and the end of each pass. Where one pass ends as another
 * begins, the end comes first, as it would in a run.
 */
#include "sim_events.h"

#include <stdlib.h>

/* An event and its place among those of the same time. */
struct timed_event {
    struct gw_event event;
    enum { OF_STAGE, OF_END, OF_BEGIN } tie_order;
    size_t index;
};

static uint64_t in_ns(double us)
{
    return (uint64_t)(us * 1e3 + 0.5);
}

static struct gw_event of_stage(const struct gw_schedule *schedule,
                                const struct gw_timeline *timeline,
                                unsigned stage)
{
    return (struct gw_event){
        .kind = GW_EV_STAGE,
        .rank = stage,
        .peer = stage,
        .step = schedule->stages,
        .chunk = schedule->chunks,
        .op = schedule->micros,
        .value = (int64_t)in_ns(timeline->time_us),
    };
}

/* How many activations the stage holds after the pass. */
static unsigned held_after(const struct gw_pass *pass, unsigned held)
{
    if (pass->kind == GW_FORWARD)
        return held + 1;
    return pass->kind == GW_BACKWARD_INPUT || held == 0 ? held : held - 1;
}

/* Begin and end. A pass that takes no time ends after it began. */
static void report_pass(const struct gw_schedule *schedule,
                        const struct gw_timeline *timeline, unsigned stage,
                        size_t pass, unsigned held, struct timed_event *events)
{
    const struct gw_pass *what = &schedule->passes[pass];
    const struct gw_pass_time *time = &timeline->times[pass];
    events[0].tie_order = OF_BEGIN;
    events[0].event = (struct gw_event){
        .time_ns = in_ns(time->begin_us),
        .kind = GW_EV_PASS_BEGIN,
        .rank = stage,
        .peer = time->waited_for,
        .op = what->micro,
        .chunk = what->chunk,
        .value = what->kind,
    };
    events[1] = events[0];
    events[1].event.kind = GW_EV_PASS_END;
    events[1].event.time_ns = in_ns(time->end_us);
    events[1].event.bytes = held;
    if (events[1].event.time_ns > events[0].event.time_ns)
        events[1].tie_order = OF_END;
}

static void report_all(const struct gw_schedule *schedule,
                       const struct gw_timeline *timeline,
                       struct timed_event *events)
{
    struct timed_event *next = events;
    for (unsigned s = 0; s < schedule->stages; s++) {
        unsigned held = 0;
        next->tie_order = OF_STAGE;
        next++->event = of_stage(schedule, timeline, s);
        for (size_t i = schedule->begin[s]; i < schedule->begin[s + 1]; i++) {
            held = held_after(&schedule->passes[i], held);
            report_pass(schedule, timeline, s, i, held, next);
            next += 2;
        }
    }
    for (struct timed_event *t = events; t < next; t++)
        t->index = (size_t)(t - events);
}

static int earlier(const void *a, const void *b)
{
    const struct timed_event *x = a, *y = b;
    if (x->event.time_ns != y->event.time_ns)
        return x->event.time_ns < y->event.time_ns ? -1 : 1;
    if (x->tie_order != y->tie_order)
        return x->tie_order < y->tie_order ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static enum gw_err write_all(const char *path, const struct timed_event *events,
                             size_t count, struct gw_error *why)
{
    struct gw_sink *sink = NULL;
    FILE *file = fopen(path, "w");
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    enum gw_err err = gw_sink_jsonl(file, 0, &sink, why);
    for (size_t i = 0; i < count && !err; i++)
        gw_emit(sink, &events[i].event);
    gw_sink_close(&sink);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!err && failed)
        err = gw_fail_errno(why, "write to %.200s", path);
    return err;
}

enum gw_err sim_events_write(const char *path,
                             const struct gw_schedule *schedule,
                             const struct gw_timeline *timeline,
                             struct gw_error *why)
{
    const double most_us = 9e15; /* still fits into an int64_t in nanoseconds */
    size_t count = schedule->stages + 2 * schedule->pass_count;
    if (!(timeline->time_us < most_us))
        return gw_fail(why, GW_EINVAL,
                       "%.200s: a step of %g us is too long for events", path,
                       timeline->time_us);
    struct timed_event *events = calloc(count, sizeof *events);
    if (!events)
        return gw_fail(why, GW_ENOMEM, "%zu events", count);
    report_all(schedule, timeline, events);
    qsort(events, count, sizeof *events, earlier);
    enum gw_err err = write_all(path, events, count, why);
    free(events);
    return err;
}
