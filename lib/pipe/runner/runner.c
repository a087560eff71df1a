/* SPDX-License-Identifier: MIT
 *
 * Execution of one stage. It runs the passes of its schedule in order: waits
 * for the input of a pass, computes, and sends the output. For each micro-batch
 * and virtual stage it stores:
 *
 *      F        activation in, kept        -> activation out, sent
 *      B or I   gradient in                -> gradient out, sent
 *      B or W   both dropped
 *
 * The time of a pass is that of the work alone. Messages make progress between
 * passes and while the stage waits; libzmq's threads transfer them in between.
 * Continue with runner_flow.c.
 */
#include "runner.h"

#include <assert.h>
#include <stdlib.h>

/* ---- creation ---- */

static enum gw_err check_ranks(const struct gw_pipe *pipe, struct gw_error *why)
{
    unsigned ranks = gw_comm_size(pipe->comm);
    for (unsigned s = 0; s < pipe->stages; s++) {
        if (pipe->ranks[s] >= ranks)
            return gw_fail(
                why, GW_EINVAL,
                "stage %u needs rank %u, but there are only %u ranks", s,
                pipe->ranks[s], ranks);
        if ((pipe->ranks[s] == gw_comm_rank(pipe->comm)) != (s == pipe->stage))
            return gw_fail(why, GW_EINVAL,
                           "rank %u is stage %u, but rank %u runs it as stage "
                           "%u",
                           pipe->ranks[s], s, gw_comm_rank(pipe->comm),
                           pipe->stage);
    }
    return GW_OK;
}

/* The size of this stage's largest message. */
static size_t largest_message(const struct gw_pipe *pipe)
{
    size_t largest = 0;
    for (unsigned c = 0; c < pipe->schedule->chunks; c++) {
        unsigned at = gw_schedule_virtual(pipe->schedule, pipe->stage, c);
        unsigned first = at > 0 ? at - 1 : at;
        unsigned end = at < pipe->last_virtual ? at + 1 : at;
        for (unsigned after = first; after < end; after++)
            for (unsigned m = 0; m < 2 * pipe->micros; m++) {
                size_t elements =
                    gw__elements_of(pipe, after, m / 2, m % 2 != 0);
                largest = elements > largest ? elements : largest;
            }
    }
    return largest;
}

static enum gw_err allocate_pipe(struct gw_pipe *pipe, struct gw_error *why)
{
    size_t states = (size_t)pipe->schedule->chunks * pipe->micros;
    pipe->ranks = calloc(pipe->stages, sizeof *pipe->ranks);
    pipe->micro_states = calloc(states, sizeof *pipe->micro_states);
    pipe->times = calloc(pipe->pass_count + 1, sizeof *pipe->times);
    if (!pipe->ranks || !pipe->micro_states || !pipe->times)
        return gw_fail(why, GW_ENOMEM, "a stage of %zu passes",
                       pipe->pass_count);
    const unsigned *ranks = pipe->config.ranks;
    for (unsigned s = 0; s < pipe->stages; s++)
        pipe->ranks[s] = ranks ? ranks[s] : s;
    return GW_OK;
}

enum gw_err gw_pipe_new(const struct gw_pipe_config *config,
                        struct gw_pipe **made, struct gw_error *why)
{
    const struct gw_schedule *schedule = config->schedule;
    *made = NULL;
    if (config->stage >= schedule->stages)
        return gw_fail(why, GW_EINVAL,
                       "stage %u: the schedule has %u stages, numbered from 0",
                       config->stage, schedule->stages);
    struct gw_pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe)
        return gw_fail(why, GW_ENOMEM, "a stage");
    pipe->config = *config;
    pipe->schedule = schedule;
    pipe->comm = config->comm;
    pipe->stage = config->stage;
    pipe->stages = schedule->stages;
    pipe->micros = schedule->micros;
    pipe->last_virtual = schedule->stages * schedule->chunks - 1;
    pipe->passes = schedule->passes + schedule->begin[config->stage];
    pipe->pass_count =
        schedule->begin[config->stage + 1] - schedule->begin[config->stage];
    enum gw_err err = allocate_pipe(pipe, why);
    pipe->config.ranks = NULL; /* owned by the caller; copied */
    if (!err)
        err = check_ranks(pipe, why);
    if (!err) {
        pipe->buffers.elements = largest_message(pipe);
        err = gw__flows_init(pipe, why);
    }
    if (err)
        gw_pipe_destroy(&pipe);
    *made = pipe;
    return err;
}

void gw_pipe_destroy(struct gw_pipe **made)
{
    struct gw_pipe *pipe = *made;
    if (!pipe)
        return;
    gw__flows_fini(pipe);
    gw__message_buffers_fini(&pipe->buffers);
    free(pipe->ranks);
    free(pipe->micro_states);
    free(pipe->times);
    free(pipe);
    *made = NULL;
}

/* ---- passes ---- */

/* Waits for the input of a pass. */
static enum gw_err get_ready(struct gw_pipe *pipe, const struct gw_pass *pass,
                             struct gw_pass_time *time, struct gw_error *why)
{
    uint32_t stage;
    uint64_t ready_ns = gw_now_ns();
    time->ready_us = (double)(ready_ns - pipe->zero_ns) / 1000;
    time->waited_for = GW_NONE;
    enum gw_err err = gw__flows_poll(pipe, why);
    if (err || gw__flows_ready(pipe, pass, &stage))
        return err;
    time->waited_for = stage;
    err = gw__flows_await(pipe, pass, why);
    if (!err)
        gw__pipe_emit_waited(pipe, pass, stage, ready_ns, gw_now_ns());
    return err;
}

static enum gw_err forward(struct gw_pipe *pipe, const struct gw_pass *pass,
                           struct gw__micro_state *state, float *out,
                           struct gw_error *why)
{
    const struct gw_stage_work *work = pipe->config.work;
    if (!work->forward)
        return GW_OK;
    return work->forward(pipe->config.context, pass->chunk, pass->micro,
                         state->in, out, why);
}

static enum gw_err backward(struct gw_pipe *pipe, const struct gw_pass *pass,
                            struct gw__micro_state *state, float *grad_in,
                            struct gw_error *why)
{
    const struct gw_stage_work *work = pipe->config.work;
    if (!work->backward)
        return GW_OK;
    return work->backward(pipe->config.context, pass->chunk, pass->micro,
                          (enum gw_pass_kind)pass->kind, state->grad_out,
                          grad_in, why);
}

static void hold(struct gw_pipe *pipe, struct gw__micro_state *state)
{
    state->held = true;
    pipe->held++;
    if (pipe->held > pipe->peak)
        pipe->peak = pipe->held;
}

static void drop_micro_state(struct gw_pipe *pipe,
                             struct gw__micro_state *state)
{
    pipe->held -= state->held;
    state->held = false;
    gw__message_buffer_release(&pipe->buffers, state->in);
    gw__message_buffer_release(&pipe->buffers, state->grad_out);
    state->in = state->grad_out = NULL;
}

/* Runs the work; stores and sends its result. `result` is NULL if it is not
 * needed. */
static enum gw_err compute_pass(struct gw_pipe *pipe,
                                const struct gw_pass *pass,
                                struct gw_pass_time *time, float *result,
                                struct gw_error *why)
{
    struct gw__micro_state *state =
        gw__micro_state_of(pipe, pass->chunk, pass->micro);
    bool is_forward = pass->kind == GW_FORWARD;
    uint64_t begin_ns = gw_now_ns();
    gw__pipe_emit_pass(pipe, GW_EV_PASS_BEGIN, pass, time->waited_for,
                       begin_ns);
    enum gw_err err = is_forward ? forward(pipe, pass, state, result, why)
                                 : backward(pipe, pass, state, result, why);
    uint64_t end_ns = gw_now_ns();
    if (err)
        return err;
    time->begin_us = (double)(begin_ns - pipe->zero_ns) / 1000;
    time->end_us = (double)(end_ns - pipe->zero_ns) / 1000;
    if (is_forward)
        hold(pipe, state);
    else if (pass->kind != GW_BACKWARD_INPUT)
        drop_micro_state(pipe, state);
    return GW_OK;
}

static enum gw_err run_pass(struct gw_pipe *pipe, const struct gw_pass *pass,
                            struct gw_pass_time *time, struct gw_error *why)
{
    float *result = NULL;
    unsigned to;
    enum gw_err err = get_ready(pipe, pass, time, why);
    bool wanted = gw__result_of(pipe, pipe->stage, pass, &to);
    if (!err && wanted)
        err = gw__message_buffer_acquire(&pipe->buffers, &result, why);
    if (!err)
        err = compute_pass(pipe, pass, time, result, why);
    if (err)
        return err;
    if (wanted)
        err = gw__flows_send(pipe, to, pass->micro, pass->kind != GW_FORWARD,
                             result);
    gw__pipe_emit_pass(pipe, GW_EV_PASS_END, pass, time->waited_for,
                       pipe->zero_ns + (uint64_t)(time->end_us * 1000));
    return err;
}

/* ---- steps ---- */

static void begin_step(struct gw_pipe *pipe, unsigned step)
{
    gw__pipe_emit_stage(pipe);
    gw__flows_begin(pipe);
    pipe->step = step;
    pipe->held = pipe->peak = 0;
    pipe->zero_ns = gw_now_ns();
}

/* Errors of the communicator are, or will be, known to all. Other errors belong
 * to this stage and must be reported. */
static enum gw_err fail(struct gw_pipe *pipe, const struct gw_pass *pass,
                        enum gw_err err, struct gw_error *own,
                        struct gw_error *why)
{
    if (gw_comm_error(pipe->comm)->code) {
        err = gw__pipe_report_lost(pipe, pass, why);
    } else {
        own->code = err;
        err = gw__pipe_report_failed(pipe, pass, own);
        if (why)
            *why = *own;
    }
    gw__flows_abandon(pipe);
    return err;
}

enum gw_err gw_pipe_step(struct gw_pipe *pipe, unsigned step,
                         struct gw_error *why)
{
    struct gw_error own = {.code = GW_OK};
    if (gw_comm_error(pipe->comm)->code) {
        pipe->step = step;
        return gw__pipe_report_lost(pipe, pipe->passes, why);
    }
    begin_step(pipe, step);
    for (size_t i = 0; i < pipe->pass_count; i++) {
        const struct gw_pass *pass = &pipe->passes[i];
        enum gw_err err = run_pass(pipe, pass, &pipe->times[i], &own);
        if (err)
            return fail(pipe, pass, err, &own, why);
    }
    enum gw_err err = gw__flows_end(pipe);
    return err ? fail(pipe, NULL, err, &own, why) : GW_OK;
}

const struct gw_pass_time *gw_pipe_times(const struct gw_pipe *pipe,
                                         uint64_t *zero_ns)
{
    *zero_ns = pipe->zero_ns;
    return pipe->times;
}

unsigned gw_pipe_peak(const struct gw_pipe *pipe)
{
    return pipe->peak;
}
