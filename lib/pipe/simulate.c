/* SPDX-License-Identifier: MIT
 *
 * One step in virtual time. A pass begins when its stage has reached it and its
 * message has arrived. A message is sent when its pass ends, and takes its time
 * while both stages continue. The walk through the schedule (traversal.c)
 * visits the sender's pass before the receiver's, so both times are known.
 */
#include "traversal.h"

#include <stdlib.h>

struct simulation {
    const struct gw_schedule *schedule;
    const struct gw_pipe_costs *costs;
    struct gw_timeline *timeline;
    double *clock_us;   /* end of each stage's last pass */
    double *sent_us[2]; /* departure of each message: gradients, activations */
};

static double cost(const double *each_us, double all_us, unsigned virtual_stage)
{
    return each_us ? each_us[virtual_stage] : all_us;
}

static double pass_us(const struct gw_pipe_costs *costs, unsigned virtual_stage,
                      enum gw_pass_kind kind)
{
    double input = cost(costs->input_each_us, costs->input_us, virtual_stage);
    double weight =
        cost(costs->weight_each_us, costs->weight_us, virtual_stage);
    switch (kind) {
    case GW_FORWARD:
        return cost(costs->forward_each_us, costs->forward_us, virtual_stage);
    case GW_BACKWARD:
        return input + weight;
    case GW_BACKWARD_INPUT:
        return input;
    default:
        return weight;
    }
}

/* The duration of a message; 0 within a stage. */
static double message_us(const struct simulation *sim,
                         const struct gw__message *message)
{
    const struct gw_pipe_costs *costs = sim->costs;
    if (gw__stage_of(sim->schedule, message->from) ==
        gw__stage_of(sim->schedule, message->to))
        return 0;
    return cost(message->forward ? costs->activation_each_us
                                 : costs->gradient_each_us,
                costs->message_us +
                    costs->us_per_byte * (double)costs->activation_bytes,
                message->from);
}

static void run_pass(void *context, unsigned stage, size_t index,
                     const struct gw__message *needs,
                     const struct gw__message *sends)
{
    struct simulation *sim = context;
    const struct gw_schedule *schedule = sim->schedule;
    struct gw_pass pass = schedule->passes[index];
    struct gw_pass_time *time = &sim->timeline->times[index];
    unsigned virtual_stage = gw_schedule_virtual(schedule, stage, pass.chunk);
    time->ready_us = time->begin_us = sim->clock_us[stage];
    if (needs->there) {
        size_t slot = gw__message_slot(schedule, needs);
        double there_us =
            sim->sent_us[needs->forward][slot] + message_us(sim, needs);
        if (there_us > time->ready_us) {
            time->begin_us = there_us;
            time->waited_for = gw__stage_of(schedule, needs->from);
        }
    }
    time->end_us = time->begin_us + pass_us(sim->costs, virtual_stage,
                                            (enum gw_pass_kind)pass.kind);
    sim->clock_us[stage] = time->end_us;
    if (sends->there)
        sim->sent_us[sends->forward][gw__message_slot(schedule, sends)] =
            time->end_us;
}

/* Walks through all passes. GW_EPLAN: a deadlock. */
static enum gw_err run_schedule(struct simulation *sim, struct gw_error *why)
{
    const struct gw_schedule *schedule = sim->schedule;
    struct gw__pipe_traversal traversal = {
        .schedule = schedule, .pass = run_pass, .context = sim};
    enum gw_err err = gw__pipe_traversal_new(&traversal, why);
    if (err)
        return err;
    gw__pipe_traversal_run(&traversal);
    bool over = traversal.done == schedule->pass_count;
    gw__pipe_traversal_fini(&traversal);
    if (over)
        return GW_OK;
    err = gw_schedule_check(schedule, why); /* its error text is more precise */
    return err ? err
               : gw_fail(why, GW_EINTERNAL, "the simulation did not complete");
}

static enum gw_err simulate(struct simulation *sim, struct gw_error *why)
{
    const struct gw_schedule *schedule = sim->schedule;
    size_t slots =
        (size_t)schedule->stages * schedule->chunks * schedule->micros;
    enum gw_err err;
    sim->clock_us = calloc(schedule->stages, sizeof *sim->clock_us);
    sim->sent_us[0] = calloc(slots, sizeof *sim->sent_us[0]);
    sim->sent_us[1] = calloc(slots, sizeof *sim->sent_us[1]);
    if (sim->clock_us && sim->sent_us[0] && sim->sent_us[1])
        err = run_schedule(sim, why);
    else
        err = gw_fail(why, GW_ENOMEM, "simulating %zu passes",
                      schedule->pass_count);
    free(sim->clock_us);
    free(sim->sent_us[0]);
    free(sim->sent_us[1]);
    return err;
}

enum gw_err gw_pipe_simulate(const struct gw_schedule *schedule,
                             const struct gw_pipe_costs *costs,
                             struct gw_timeline **timeline,
                             struct gw_error *why)
{
    struct simulation sim = {.schedule = schedule, .costs = costs};
    *timeline = NULL;
    enum gw_err err = gw__schedule_check_range(schedule, why);
    if (!err)
        err = gw_timeline_new(schedule, &sim.timeline, why);
    if (!err)
        err = simulate(&sim, why);
    if (err) {
        gw_timeline_destroy(&sim.timeline);
        return err;
    }
    gw_timeline_complete(sim.timeline, schedule);
    sim.timeline->bytes = sim.timeline->messages * costs->activation_bytes;
    *timeline = sim.timeline;
    return GW_OK;
}
