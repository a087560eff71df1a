/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The life of a stage. All stages meet before each step, so that a step is
 * measured by itself and no stage is ahead of the others' saved states.
 */
#include "common/command.h"
#include "run.h"

#include <stdio.h>
#include <string.h>

/* ---- the tap ---- */

static void fail_if_notified(struct run_tap *tap, uint32_t step)
{
    const struct run_spec *spec = tap->spec;
    const struct gw_schedule *s = spec->schedule;
    size_t middle = (s->begin[tap->stage + 1] - s->begin[tap->stage]) / 2;
    for (unsigned i = 0; i < spec->faults.count; i++) {
        const struct rank_fault *fault = &spec->faults.faults[i];
        if (fault->rank == tap->stage && fault->step == step &&
            tap->passes == middle && run_safe_fires(spec->safe, i))
            fault_make(fault);
    }
}

static void emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct run_tap *tap = (struct run_tap *)sink;
    const struct gw_schedule *s = tap->spec->schedule;
    size_t a_step = s->begin[tap->stage + 1] - s->begin[tap->stage];
    gw_emit(tap->to, event);
    if (event->kind == GW_EV_PASS_BEGIN) {
        fail_if_notified(tap, event->step);
        tap->passes++;
    } else if (event->kind == GW_EV_PASS_END) {
        if (tap->passes == a_step)
            tap->passes = 0;
        run_safe_count(tap->spec->safe, tap->stage, ++tap->done);
    }
}

static void close_nothing(struct gw_sink *sink)
{
    (void)sink;
}

void run_tap_init(struct run_tap *tap, struct run_spec *spec, unsigned stage,
                  struct reporter *report)
{
    const struct gw_schedule *s = spec->schedule;
    *tap = (struct run_tap){
        .sink = {.emit = emit, .close = close_nothing},
        .to = report_events(report),
        .spec = spec,
        .stage = stage,
        .done = (uint64_t)spec->first_step *
                (s->begin[stage + 1] - s->begin[stage]),
    };
    run_safe_count(spec->safe, stage, tap->done);
}

/* ---- synthetic work ---- */

static enum gw_err await_all(struct gw_comm *comm, struct gw_error *why)
{
    if (gw_barrier(comm))
        return gw_fail(why, gw_comm_error(comm)->code, "%s",
                       gw_comm_error(comm)->text);
    return GW_OK;
}

/* Steps are measured one by one: none is shorter because the one before was
 * late. */
static enum gw_err work_steps(const struct run_spec *spec, struct gw_comm *comm,
                              struct gw_pipe *pipe,
                              struct gw_synthetic *synthetic,
                              struct gw_error *why)
{
    unsigned stage = gw_comm_rank(comm);
    enum gw_err err = GW_OK;
    for (unsigned step = spec->first_step; step < spec->steps && !err; step++) {
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        err = await_all(comm, why);
        synthetic->late_ns = 0;
        if (!err)
            err = gw_pipe_step(pipe, step, why);
        if (!err && spec->elastic)
            err = run_safe_keep(spec->safe, stage, step, NULL, 0, why);
    }
    return err;
}

/* A replacement continues from the state that its predecessor has saved. */
static enum gw_err resume_stage(const struct run_spec *spec, unsigned stage,
                                struct gw_error *why)
{
    const void *state;
    size_t bytes;
    if (spec->first_step == 0)
        return GW_OK;
    return run_safe_get(spec->safe, stage, spec->first_step - 1, &state, &bytes,
                        why);
}

static enum gw_err run_stages(struct run_spec *spec, struct gw_comm *comm,
                              struct reporter *report, struct gw_error *why)
{
    unsigned stage = gw_comm_rank(comm);
    struct run_tap tap;
    struct gw_pipe *pipe;
    struct gw_synthetic synthetic = spec->work;
    synthetic.forward_us *= spec->slow[stage];
    synthetic.input_us *= spec->slow[stage];
    synthetic.weight_us *= spec->slow[stage];
    run_tap_init(&tap, spec, stage, report);
    const struct gw_pipe_config config = {
        .comm = comm,
        .stage = stage,
        .schedule = spec->schedule,
        .work = gw_synthetic_work(),
        .context = &synthetic,
        .events = &tap.sink,
        .predicted_us = spec->predicted_us,
    };
    enum gw_err err = resume_stage(spec, stage, why);
    if (!err)
        err = gw_pipe_new(&config, &pipe, why);
    if (err)
        return err;
    err = work_steps(spec, comm, pipe, &synthetic, why);
    gw_pipe_destroy(&pipe);
    return err;
}

/* The supervisor adds the name of the stage, as do the runner's sentences. */
static void speak_once(unsigned stage, struct gw_error *why)
{
    char own[32];
    size_t length = (size_t)snprintf(own, sizeof own, "stage %u, ", stage);
    if (strncmp(why->text, own, length) == 0)
        memmove(why->text, why->text + length, strlen(why->text + length) + 1);
}

enum gw_err run_stage(struct gw_comm *comm, struct reporter *report,
                      void *context, struct gw_error *why)
{
    struct run_spec *spec = ((struct run *)context)->spec;
    enum gw_err err = spec->net ? run_train(comm, report, spec, why)
                                : run_stages(spec, comm, report, why);
    if (err)
        speak_once(gw_comm_rank(comm), why);
    return err;
}
