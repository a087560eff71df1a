/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The effect of events on a pipeline's state (pipe_state.h). A recording may
 * contain anything: every number is checked before it is an index. Queries are
 * in pipe_totals.c.
 *
 * A pass belongs to the step in its event. The stages of a step may be reported
 * out of order, so a late event still finds the step before the current one. A
 * stage that introduces itself again starts its lane again: its process was
 * replaced, and the step is repeated.
 */
#include "pipe_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pipe_init(struct pipe *pipe)
{
    memset(pipe, 0, sizeof *pipe);
    for (unsigned s = 0; s < PIPE_STAGES; s++)
        pipe->ranks[s] = GW_NONE;
}

void pipe_fini(struct pipe *pipe)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned s = 0; s < PIPE_STAGES; s++)
            free(pipe->steps[i].lanes[s].passes);
    pipe_init(pipe);
}

/* ---- stages ---- */

static void clear_lane(struct pipe_lane *lane)
{
    struct pipe_pass *passes = lane->passes;
    unsigned room = lane->room;
    *lane = (struct pipe_lane){.passes = passes, .room = room};
}

static void clear_step(struct pipe_step *step)
{
    for (unsigned s = 0; s < PIPE_STAGES; s++)
        clear_lane(&step->lanes[s]);
    step->used = step->complete = step->partial = step->redone = false;
    step->end_ns = 0;
}

static bool same_shape(const struct pipe *pipe, const struct gw_event *e)
{
    return pipe->here && pipe->stages == e->step && pipe->micros == e->op &&
           pipe->chunks == e->chunk;
}

static void begin_pipeline(struct pipe *pipe, const struct gw_event *e,
                           struct event_log *log)
{
    char predicted[16] = "";
    pipe_fini(pipe);
    pipe->here = true;
    pipe->stages = e->step;
    pipe->micros = e->op;
    pipe->chunks = e->chunk;
    pipe->predicted_ns = e->value > 0 ? (uint64_t)e->value : 0;
    format_ns(pipe->predicted_ns, predicted);
    event_log_write(log, e->time_ns, WEIGHT_INFO,
                    "a pipeline of %u stages, %u micro-batches%s%s",
                    pipe->stages, pipe->micros,
                    pipe->predicted_ns ? ": predicted step time " : "",
                    pipe->predicted_ns ? predicted : "");
}

static void on_stage(struct pipe *pipe, const struct gw_event *e,
                     struct event_log *log)
{
    if (e->step == 0 || e->step > PIPE_STAGES || e->peer >= e->step ||
        e->op == 0 || e->op > GW_MICROS_MAX || e->chunk == 0 ||
        e->chunk > GW_STAGE_CHUNKS_MAX || e->rank == GW_NONE)
        return;
    if (!same_shape(pipe, e))
        begin_pipeline(pipe, e, log);
    if (e->rank > pipe->ranks[e->peer]) /* a replica; GW_NONE is the largest */
        return;
    pipe->ranks[e->peer] = e->rank;
    struct pipe_step *current = &pipe->steps[pipe->current];
    if (!current->used || current->complete)
        return;
    if (current->lanes[e->peer].count > 0 && !current->redone) {
        current->redone = true;
        event_log_write(log, e->time_ns, WEIGHT_WARN,
                        "step %" PRIu32 " is repeated", current->step);
    }
    clear_lane(&current->lanes[e->peer]);
}

/* PIPE_STAGES: not one of the followed ones. */
static unsigned stage_of(const struct pipe *pipe, uint32_t rank)
{
    for (unsigned s = 0; s < pipe->stages; s++)
        if (pipe->ranks[s] == rank)
            return s;
    return PIPE_STAGES;
}

/* ---- steps ---- */

static void begin_step(struct pipe *pipe, uint32_t number)
{
    struct pipe_step *step = &pipe->steps[pipe->current];
    if (step->used) {
        pipe->current = 1 - pipe->current;
        step = &pipe->steps[pipe->current];
    }
    clear_step(step);
    step->used = true;
    step->step = number;
}

/* The step of a pass that begins. A step older than the two that are kept, or
 * one that was complete, begins again: that is another run. */
static struct pipe_step *step_to_begin(struct pipe *pipe, uint32_t number)
{
    struct pipe_step *current = &pipe->steps[pipe->current];
    struct pipe_step *before = &pipe->steps[1 - pipe->current];
    if (current->used && !current->complete && current->step == number)
        return current;
    if (before->used && !before->complete && before->step == number)
        return before;
    if (current->used && number <= current->step) {
        clear_step(current);
        clear_step(before);
    }
    begin_step(pipe, number);
    return &pipe->steps[pipe->current];
}

/* NULL: not a followed step. A step whose begin was missed is followed from now
 * on, but not measured. */
static struct pipe_step *step_to_end(struct pipe *pipe, uint32_t number)
{
    const struct pipe_step *current = &pipe->steps[pipe->current];
    for (unsigned i = 0; i < 2; i++)
        if (pipe->steps[i].used && !pipe->steps[i].complete &&
            pipe->steps[i].step == number)
            return &pipe->steps[i];
    if (current->used && number <= current->step)
        return NULL;
    begin_step(pipe, number);
    pipe->steps[pipe->current].partial = true;
    return &pipe->steps[pipe->current];
}

/* ---- passes ---- */

static struct pipe_pass *add_pass(struct pipe_lane *lane)
{
    if (lane->count == lane->room && lane->room < PIPE_PASSES) {
        unsigned room = lane->room ? 2 * lane->room : 64;
        struct pipe_pass *passes = realloc(lane->passes, room * sizeof *passes);
        if (passes) {
            lane->passes = passes;
            lane->room = room;
        }
    }
    if (lane->count == lane->room) {
        lane->truncated = true;
        return NULL;
    }
    return &lane->passes[lane->count++];
}

static bool is_same(const struct pipe_pass *pass, const struct gw_event *e)
{
    return pass->micro == e->op && pass->chunk == e->chunk &&
           pass->kind == (uint32_t)e->value;
}

static void on_begin(struct pipe *pipe, unsigned stage,
                     const struct gw_event *e)
{
    struct pipe_step *step = step_to_begin(pipe, e->step);
    struct pipe_lane *lane = &step->lanes[stage];
    struct pipe_pass *before =
        lane->count > 0 ? &lane->passes[lane->count - 1] : NULL;
    if (before && before->end_ns == PIPE_NEVER) { /* its end was not reported */
        before->end_ns = e->time_ns;
        step->partial = true;
    }
    if (before && e->time_ns > before->end_ns && !lane->truncated)
        lane->wait_ns += e->time_ns - before->end_ns;
    struct pipe_pass *pass = add_pass(lane);
    if (pass)
        *pass = (struct pipe_pass){.begin_ns = e->time_ns,
                                   .end_ns = PIPE_NEVER,
                                   .micro = e->op,
                                   .chunk = e->chunk,
                                   .peer = e->peer,
                                   .kind = (uint32_t)e->value};
}

/* Steps in a row share a line, so that they do not displace the rest. */
static void report_step(struct pipe *pipe, const struct pipe_step *step,
                        uint64_t took_ns, struct event_log *log)
{
    double predicted, bubble = pipe_bubble(pipe, step, &predicted);
    char took[16], number[40];
    if (pipe->reported.steps > 0 && pipe->reported.written == log->written) {
        log->written--;
    } else {
        memset(&pipe->reported, 0, sizeof pipe->reported);
        pipe->reported.first = step->step;
    }
    pipe->reported.steps++;
    pipe->reported.took_ns += took_ns;
    pipe->reported.bubble += bubble;
    format_ns(pipe->reported.took_ns / pipe->reported.steps, took);
    if (pipe->reported.steps > 1)
        snprintf(number, sizeof number, "s %" PRIu32 " to %" PRIu32,
                 pipe->reported.first, step->step);
    else
        snprintf(number, sizeof number, " %" PRIu32, step->step);
    event_log_write(log, step->end_ns, WEIGHT_INFO,
                    "step%s: %s%s, bubble %.1f %%", number, took,
                    pipe->reported.steps > 1 ? " each" : "",
                    100 * pipe->reported.bubble / (double)pipe->reported.steps);
    pipe->reported.written = log->written;
}

static void finish_step(struct pipe *pipe, struct pipe_step *step,
                        struct event_log *log)
{
    for (unsigned s = 0; s < pipe->stages; s++)
        if (!pipe_lane_done(pipe, &step->lanes[s]))
            return;
    step->complete = true;
    if (step->partial)
        return;
    uint64_t took_ns = pipe_took_ns(pipe, step, step->end_ns);
    pipe->history_ns[pipe->finished++ % PIPE_HISTORY] = took_ns;
    report_step(pipe, step, took_ns, log);
}

static void on_end(struct pipe *pipe, unsigned stage, const struct gw_event *e,
                   struct event_log *log)
{
    struct pipe_step *step = step_to_end(pipe, e->step);
    if (!step)
        return;
    struct pipe_lane *lane = &step->lanes[stage];
    struct pipe_pass *pass =
        lane->count > 0 ? &lane->passes[lane->count - 1] : NULL;
    if (pass && pass->end_ns == PIPE_NEVER && is_same(pass, e)) {
        pass->end_ns =
            e->time_ns > pass->begin_ns ? e->time_ns : pass->begin_ns;
        lane->busy_ns += pass->end_ns - pass->begin_ns;
    } else if (!lane->truncated) {
        step->partial = true;
    }
    step->end_ns = e->time_ns > step->end_ns ? e->time_ns : step->end_ns;
    lane->done[e->value]++;
    lane->held = e->bytes;
    lane->peak = e->bytes > lane->peak ? e->bytes : lane->peak;
    step->partial |= lane->truncated;
    if (pipe_lane_done(pipe, lane))
        finish_step(pipe, step, log);
}

void pipe_event(struct pipe *pipe, const struct gw_event *e,
                struct event_log *log)
{
    if (e->kind == GW_EV_STAGE)
        on_stage(pipe, e, log);
    if (e->kind != GW_EV_PASS_BEGIN && e->kind != GW_EV_PASS_END)
        return;
    unsigned stage = stage_of(pipe, e->rank);
    if (stage == PIPE_STAGES || e->value < 0 || e->value >= GW_PASS_KINDS ||
        e->op >= pipe->micros || e->chunk >= pipe->chunks)
        return;
    if (e->kind == GW_EV_PASS_BEGIN)
        on_begin(pipe, stage, e);
    else
        on_end(pipe, stage, e, log);
}
