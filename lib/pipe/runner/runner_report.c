/* SPDX-License-Identifier: MIT
 *
 * A stage's events, and the pass in which an error occurred. The stage with the
 * cause reports it to all; other stages repeat the text unchanged, so that it
 * names the correct stage and pass.
 */
#include "pipe/schedule/schedule.h"
#include "runner.h"

#include <stdio.h>

void gw__pipe_emit_stage(struct gw_pipe *pipe)
{
    const struct gw_event event = {
        .time_ns = gw_now_ns(),
        .value = (int64_t)(pipe->config.predicted_us * 1000),
        .kind = GW_EV_STAGE,
        .rank = pipe->ranks[pipe->stage],
        .peer = pipe->stage,
        .op = pipe->micros,
        .step = pipe->stages,
        .chunk = pipe->schedule->chunks,
    };
    if (!pipe->stage_sent)
        gw_emit(pipe->config.events, &event);
    pipe->stage_sent = true;
}

void gw__pipe_emit_waited(const struct gw_pipe *pipe,
                          const struct gw_pass *pass, uint32_t stage,
                          uint64_t begin_ns, uint64_t end_ns)
{
    const struct gw_event event = {
        .time_ns = end_ns,
        .value = (int64_t)(end_ns - begin_ns),
        .kind = GW_EV_WAIT,
        .rank = pipe->ranks[pipe->stage],
        .peer = pipe->ranks[stage],
        .op = pass->micro,
        .step = pipe->step,
        .chunk = pass->chunk,
    };
    gw_emit(pipe->config.events, &event);
}

void gw__pipe_emit_pass(const struct gw_pipe *pipe, enum gw_event_kind kind,
                        const struct gw_pass *pass, uint32_t stage,
                        uint64_t time_ns)
{
    const struct gw_event event = {
        .time_ns = time_ns,
        .bytes = kind == GW_EV_PASS_END ? pipe->held : 0,
        .value = pass->kind,
        .kind = (uint32_t)kind,
        .rank = pipe->ranks[pipe->stage],
        .peer = stage,
        .op = pass->micro,
        .step = pipe->step,
        .chunk = pass->chunk,
    };
    gw_emit(pipe->config.events, &event);
}

/* Prepends the position: "stage 1, step 7, F3: TEXT". */
static void wrap(const struct gw_pipe *pipe, const struct gw_pass *pass,
                 struct gw_error *why)
{
    char text[GW__PASS_TEXT];
    const char *name =
        pass ? gw__pass_text(pipe->schedule, *pass, text) : "its end";
    gw_wrap(why, why->code, "stage %u, step %u, %s", pipe->stage, pipe->step,
            name);
}

/* Does the text name the pass and its stage? */
static bool names_pass(const struct gw_error *error)
{
    unsigned stage, step;
    return sscanf(error->text, "stage %u, step %u, ", &stage, &step) == 2;
}

enum gw_err gw__pipe_report_lost(const struct gw_pipe *pipe,
                                 const struct gw_pass *pass,
                                 struct gw_error *why)
{
    struct gw_error error = *gw_comm_error(pipe->comm);
    if (!names_pass(&error))
        wrap(pipe, pass, &error);
    if (why)
        *why = error;
    return error.code;
}

enum gw_err gw__pipe_report_failed(const struct gw_pipe *pipe,
                                   const struct gw_pass *pass,
                                   struct gw_error *why)
{
    wrap(pipe, pass, why);
    gw_comm_abort(pipe->comm, why->code, why->text);
    return why->code;
}
