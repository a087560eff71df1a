/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The passes of all stages, sorted from their events: one timeline per step.
 * Events of one stage come in its order, those of different stages in any, and
 * a stage may be a step ahead; so each step has its own count of missing
 * passes.
 *
 * A step begins with the first pass of any stage. Timelines need memory, so if
 * there are very many steps, only the first ones keep theirs.
 */
#include "run.h"

#include <math.h>
#include <stdlib.h>

enum { PASSES_KEPT_MAX = 1 << 22 };

enum gw_err run_record_init(struct run_record *r, const struct run_spec *spec,
                            struct gw_error *why)
{
    size_t kept = PASSES_KEPT_MAX / (spec->schedule->pass_count + 1) + 2;
    *r = (struct run_record){
        .schedule = spec->schedule,
        .zero_ns = gw_now_ns(),
        .step_count = spec->steps,
        .steps_kept = kept < spec->steps ? (unsigned)kept : spec->steps,
        .steps = calloc(spec->steps, sizeof *r->steps),
        .loss = calloc(spec->steps, sizeof *r->loss),
        .final_loss = (double)NAN,
        .final_accuracy = (double)NAN,
    };
    if (!r->steps || !r->loss) {
        run_record_fini(r);
        *r = (struct run_record){.steps = NULL}; /* without steps */
        return gw_fail(why, GW_ENOMEM, "%u steps", spec->steps);
    }
    for (unsigned i = 0; i < spec->steps; i++)
        r->loss[i] = (double)NAN;
    return GW_OK;
}

static void drop_step(struct run_step *step)
{
    gw_timeline_destroy(&step->timeline);
    free(step->done);
    free(step->peak);
    *step = (struct run_step){.timeline = NULL};
}

void run_record_fini(struct run_record *r)
{
    for (unsigned i = 0; r->steps && i < r->step_count; i++)
        drop_step(&r->steps[i]);
    free(r->steps);
    free(r->loss);
    r->steps = NULL;
    r->loss = NULL;
}

/* ---- a step ---- */

static bool open_step(struct run_record *r, struct run_step *step,
                      double begin_us)
{
    const struct gw_schedule *schedule = r->schedule;
    step->done = calloc(schedule->stages, sizeof *step->done);
    step->peak = calloc(schedule->stages, sizeof *step->peak);
    if (!step->done || !step->peak ||
        gw_timeline_new(schedule, &step->timeline, NULL)) {
        drop_step(step);
        return false;
    }
    step->left = schedule->pass_count;
    step->begin_us = begin_us;
    return true;
}

/* The current pass of the stage, if the event is about it. */
static struct gw_pass_time *pass_of(const struct run_record *r,
                                    const struct run_step *step,
                                    const struct gw_event *event)
{
    const struct gw_schedule *s = r->schedule;
    size_t i = s->begin[event->rank] + step->done[event->rank];
    if (i >= s->begin[event->rank + 1])
        return NULL;
    const struct gw_pass *pass = &s->passes[i];
    bool same = pass->micro == event->op && pass->chunk == event->chunk &&
                pass->kind == event->value;
    return same ? &step->timeline->times[i] : NULL;
}

/* A stage is ready for a pass when the one before has ended. */
static void set_ready(const struct gw_schedule *s, struct gw_timeline *t)
{
    for (unsigned stage = 0; stage < s->stages; stage++)
        for (size_t i = s->begin[stage]; i < s->begin[stage + 1]; i++)
            t->times[i].ready_us =
                i == s->begin[stage] ? 0 : t->times[i - 1].end_us;
}

/* Shifts the step after an earlier beginning has been reported. */
static void shift(struct run_step *step, double us)
{
    step->begin_us -= us;
    for (size_t i = 0; i < step->timeline->pass_count; i++) {
        struct gw_pass_time *time = &step->timeline->times[i];
        time->begin_us += us;
        time->end_us += us;
    }
}

static void on_begin(struct run_record *r, struct run_step *step,
                     const struct gw_event *event, double at_us)
{
    if (at_us < step->begin_us)
        shift(step, step->begin_us - at_us);
    struct gw_pass_time *time = pass_of(r, step, event);
    if (!time)
        return;
    time->begin_us = time->end_us = at_us - step->begin_us;
    time->waited_for = event->peer;
}

static void finish_step(struct run_record *r, struct run_step *step)
{
    struct gw_timeline *t = step->timeline;
    set_ready(r->schedule, t);
    gw_timeline_complete(t, r->schedule);
    t->peak_activations = 0;
    for (unsigned s = 0; s < t->stages; s++) {
        /* From the counts, not from the schedule. */
        t->stage[s].peak_activations = step->peak[s];
        if (step->peak[s] > t->peak_activations)
            t->peak_activations = step->peak[s];
    }
    step->time_us = t->time_us;
    r->steps_done++;
}

static void on_end(struct run_record *r, struct run_step *step,
                   const struct gw_event *event, double at_us)
{
    struct gw_pass_time *time = pass_of(r, step, event);
    unsigned stage = event->rank;
    if (!time)
        return;
    time->end_us = at_us - step->begin_us;
    if (event->bytes > step->peak[stage])
        step->peak[stage] = (unsigned)event->bytes;
    step->done[stage]++;
    if (--step->left > 0)
        return;
    finish_step(r, step);
    if (event->step >= r->steps_kept)
        gw_timeline_destroy(&step->timeline);
}

void run_record_event(struct run_record *r, const struct gw_event *event)
{
    bool begins = event->kind == GW_EV_PASS_BEGIN;
    if (event->kind == GW_EV_LOSS && event->step < r->step_count)
        return;
    if ((!begins && event->kind != GW_EV_PASS_END) ||
        event->step >= r->step_count || event->rank >= r->schedule->stages)
        return;
    struct run_step *step = &r->steps[event->step];
    double at_us = (double)(event->time_ns - r->zero_ns) / 1000;
    if (step->time_us > 0)
        return; /* the run is over */
    if (!step->timeline && !open_step(r, step, at_us))
        return;
    if (event->step > r->newest)
        r->newest = event->step;
    if (begins)
        on_begin(r, step, event, at_us);
    else
        on_end(r, step, event, at_us);
}

void run_record_forget(struct run_record *r, unsigned step)
{
    for (unsigned i = step; i < r->step_count; i++) {
        r->steps_done -= r->steps[i].time_us > 0;
        drop_step(&r->steps[i]);
        r->loss[i] = (double)NAN;
    }
    r->newest = step;
}

/* ---- the median ---- */

static int by_time(const void *a, const void *b)
{
    const struct run_step *x = *(const struct run_step *const *)a;
    const struct run_step *y = *(const struct run_step *const *)b;
    return (x->time_us > y->time_us) - (x->time_us < y->time_us);
}

const struct run_step *run_record_median(const struct run_record *r,
                                         double *least_us, double *most_us)
{
    const struct run_step *median = NULL;
    const struct run_step **kept = malloc(r->step_count * sizeof(void *));
    unsigned count = 0;
    *least_us = *most_us = (double)NAN;
    for (unsigned i = 0; kept && i < r->step_count; i++)
        if (r->steps[i].timeline && r->steps[i].time_us > 0 &&
            (i > 0 || r->steps_done == 1))
            kept[count++] = &r->steps[i];
    if (count > 0) {
        qsort((void *)kept, count, sizeof(void *), by_time);
        median = kept[(count - 1) / 2];
        *least_us = kept[0]->time_us;
        *most_us = kept[count - 1]->time_us;
    }
    free((void *)kept);
    return median;
}
