/* SPDX-License-Identifier: MIT
 *
 * A step of a layout in virtual time, in three parts. First each operator: its
 * computation, its conversions, its gathered parameters. Each call is timed on
 * the topology (layout_axis.c) and added to the passes of its virtual stage.
 * Then the schedule is simulated with these passes. Last is the end of the
 * step, with the reduction of gradients. gw_layout_simulate documents the model
 * and its limits.
 */
#include "layout_time.h"

#include <gradwire/event.h>

#include <assert.h>
#include <stdlib.h>

/* ---- operators ---- */

/* The elements in the collective's call: a block of the tensor if each rank has
 * a block. */
static uint64_t operand_bytes(const struct gw_conversion *conversion,
                              uint64_t tensor_bytes, unsigned ranks)
{
    switch (conversion->collective) {
    case GW_ALLREDUCE:
        return tensor_bytes;
    case GW_ALLTOALL:
        return tensor_bytes / ranks / ranks;
    default:
        return tensor_bytes / ranks;
    }
}

static enum gw_err add_conversion(struct gw__timing *t, unsigned i,
                                  unsigned stage,
                                  const struct gw_conversion *conversion,
                                  double *pass_us, struct gw_error *why)
{
    const struct gw_layout *layout = t->layout;
    double us = 0;
    if (!conversion->needed || conversion->collective == GW_COLLECTIVES)
        return GW_OK;
    uint64_t bytes =
        operand_bytes(conversion,
                      gw__share_bytes(layout, GW_REPLICATED,
                                      layout->network->operators[i].in),
                      layout->options.mesh.tensor);
    enum gw_err err = gw__timing_call(
        t,
        (struct gw__axis_call){.axis = GW__AXIS_TENSOR,
                               .collective = conversion->collective,
                               .stage = stage,
                               .stages = 1,
                               .bytes = &bytes},
        (struct gw_layout_call){
            .kind = conversion == &layout->op_layouts[i].forward ? "forward"
                                                                 : "backward",
            .stage = stage,
            .index = i,
            .calls = layout->options.micros},
        &us, why);
    *pass_us += us;
    return err;
}

static enum gw_err add_message(struct gw__timing *t, unsigned i, bool forward,
                               double *us, struct gw_error *why)
{
    const struct gw_layout *layout = t->layout;
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    uint64_t bytes = gw__share_bytes(
        layout, forward ? op_layout->in : op_layout[-1].grad_out,
        layout->network->operators[i].in);
    unsigned from = gw__timing_stage(t, forward ? i - 1 : i);
    unsigned to = gw__timing_stage(t, forward ? i : i - 1);
    return gw__timing_call(
        t,
        (struct gw__axis_call){.axis = GW__AXIS_PIPE,
                               .stage = from,
                               .stages = 1,
                               .peer = to,
                               .bytes = &bytes},
        (struct gw_layout_call){.kind = forward ? "activation" : "gradient",
                                .stage = from,
                                .index = i,
                                .calls = layout->options.micros},
        us, why);
}

/* The tensor between operator i and the previous one. The stage that computes
 * the tensor converts it. */
static enum gw_err add_border(struct gw__timing *t, unsigned i,
                              struct gw_error *why)
{
    const struct gw_operator_layout *op_layout = &t->layout->op_layouts[i];
    unsigned from = op_layout[-1].virtual_stage, to = op_layout->virtual_stage;
    double forward = 0, backward = 0;
    enum gw_err err = add_conversion(t, i, gw__timing_stage(t, i - 1),
                                     &op_layout->forward, &forward, why);
    if (!err)
        err = add_conversion(t, i, gw__timing_stage(t, i), &op_layout->backward,
                             &backward, why);
    t->virtual_stage.forward[from] += forward;
    t->tensor[from] += forward;
    t->virtual_stage.input[to] += backward;
    t->tensor[to] += backward;
    if (err || gw__timing_stage(t, i - 1) == gw__timing_stage(t, i))
        return err;
    err = add_message(t, i, true, &t->virtual_stage.activation[from], why);
    return err ? err
               : add_message(t, i, false, &t->virtual_stage.gradient[to], why);
}

/* Sharded: the operator's parameters are gathered for each forward pass and for
 * each gradient of the input. */
static enum gw_err add_gather(struct gw__timing *t, unsigned i,
                              struct gw_error *why)
{
    const struct gw_layout *layout = t->layout;
    const struct gw_layout_options *options = &layout->options;
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    uint64_t block =
        sizeof(float) * gw_layout_block(layout, op_layout->parameters_local);
    double us = 0;
    if (options->mode != GW_DATA_SHARDED || options->shard_group == 1 ||
        block == 0)
        return GW_OK;
    enum gw_err err =
        gw__timing_call(t,
                        (struct gw__axis_call){.axis = GW__AXIS_DATA,
                                               .collective = GW_ALLGATHER,
                                               .stage = gw__timing_stage(t, i),
                                               .stages = 1,
                                               .bytes = &block},
                        (struct gw_layout_call){.kind = "gather",
                                                .stage = gw__timing_stage(t, i),
                                                .index = i,
                                                .calls = 2 * options->micros},
                        &us, why);
    t->virtual_stage.forward[op_layout->virtual_stage] += us;
    t->virtual_stage.input[op_layout->virtual_stage] += us;
    t->data[op_layout->virtual_stage] += 2 * us;
    return err;
}

static void add_work(struct gw__timing *t, unsigned i)
{
    const struct gw_layout *layout = t->layout;
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    double rate = gw__timer_costs(t->timer)->work_per_us;
    unsigned ranks =
        op_layout->split == GW_SPLIT_NONE ? 1 : layout->options.mesh.tensor;
    double work = (double)gw_operator_work(&layout->network->operators[i]) *
                  layout->rows / ranks;
    double us = rate > 0 ? work / rate : 0;
    t->virtual_stage.forward[op_layout->virtual_stage] += us;
    t->virtual_stage.input[op_layout->virtual_stage] += i > 0 ? us : 0;
    t->virtual_stage.weight[op_layout->virtual_stage] += us;
    t->compute[op_layout->virtual_stage] += i > 0 ? 3 * us : 2 * us;
}

static enum gw_err add_operators(struct gw__timing *t, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    assert(t->all && t->virtual_stage.forward);
    for (unsigned i = 0; i < t->layout->operator_count && !err; i++) {
        if (i > 0)
            err = add_border(t, i, why);
        if (!err)
            err = add_gather(t, i, why);
        add_work(t, i);
    }
    return err;
}

/* ---- the whole step ---- */

static void find_held(struct gw__timing *t)
{
    for (unsigned p = 0; p < t->layout->options.mesh.pipe; p++) {
        struct gw_layout_price price;
        gw_layout_price(t->layout, p, &price);
        uint64_t held = price.parameter_bytes + price.gradient_bytes +
                        price.optimiser_bytes + price.gathered_bytes +
                        gw_layout_peak_bytes(t->layout, t->schedule, p);
        if (held > t->time->held_bytes) {
            t->time->held_bytes = held;
            t->time->held_stage = p;
        }
    }
}

/* Simulates the passes, then the end of the step. */
static enum gw_err run_timing(struct gw__timing *t, struct gw_error *why)
{
    const struct gw_layout_options *options = &t->layout->options;
    struct gw_layout_time *time = t->time;
    struct gw_timeline *timeline = NULL;
    double end_tensor = 0, end_data = 0;
    const struct gw_pipe_costs costs = {
        .forward_each_us = t->virtual_stage.forward,
        .input_each_us = t->virtual_stage.input,
        .weight_each_us = t->virtual_stage.weight,
        .activation_each_us = t->virtual_stage.activation,
        .gradient_each_us = t->virtual_stage.gradient,
    };
    enum gw_err err = gw__timing_end(t, &end_tensor, &end_data, why);
    if (!err)
        err = gw_pipe_simulate(t->schedule, &costs, &timeline, why);
    if (err)
        return err;
    for (unsigned p = 1; p < options->mesh.pipe; p++)
        if (timeline->stage[p].busy_us > timeline->stage[time->stage].busy_us)
            time->stage = p;
    for (unsigned k = time->stage; k < t->layout->virtual_stages;
         k += options->mesh.pipe) {
        time->compute_us += options->micros * t->compute[k];
        time->tensor_us += options->micros * t->tensor[k];
        time->data_us += options->micros * t->data[k];
    }
    time->idle_us = timeline->time_us - timeline->stage[time->stage].busy_us;
    time->tensor_us += end_tensor;
    time->data_us += end_data;
    time->step_us = timeline->time_us + end_tensor + end_data;
    gw_timeline_destroy(&timeline);
    return GW_OK;
}

static enum gw_err allocate_timing(struct gw__timing *t, struct gw_error *why)
{
    size_t virtual_stages = t->layout->virtual_stages;
    double **arrays[] = {&t->virtual_stage.forward,
                         &t->virtual_stage.input,
                         &t->virtual_stage.weight,
                         &t->virtual_stage.activation,
                         &t->virtual_stage.gradient,
                         &t->compute,
                         &t->tensor,
                         &t->data};
    enum { ARRAY_COUNT = sizeof arrays / sizeof *arrays };
    t->all = calloc(ARRAY_COUNT * virtual_stages, sizeof *t->all);
    t->blocks = calloc(virtual_stages, sizeof *t->blocks);
    t->time = calloc(1, sizeof *t->time);
    for (size_t i = 0; t->all && i < ARRAY_COUNT; i++)
        *arrays[i] = t->all + i * virtual_stages;
    if (t->time) {
        t->time->links = gw__timer_links(t->timer);
        t->time->link_bytes =
            calloc(t->time->links + 1, sizeof *t->time->link_bytes);
    }
    return t->all && t->blocks && t->time && t->time->link_bytes
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "timing a layout");
}

static enum gw_err check_timing(const struct gw__timing *t,
                                struct gw_error *why)
{
    const struct gw_layout_options *options = &t->layout->options;
    const struct gw_schedule *schedule = t->schedule;
    unsigned ranks = gw_mesh_size(&options->mesh);
    if (ranks > gw__timer_ranks(t->timer))
        return gw_fail(why, GW_EINVAL,
                       "the mesh has %u ranks, but the topology has %u", ranks,
                       gw__timer_ranks(t->timer));
    if (schedule->stages != options->mesh.pipe ||
        schedule->micros != options->micros ||
        schedule->chunks != options->chunks)
        return gw_fail(why, GW_EINVAL,
                       "schedule %s has %u stages, %u micro-batches and %u "
                       "chunks per stage; the layout has %u, %u and %u",
                       schedule->name, schedule->stages, schedule->micros,
                       schedule->chunks, options->mesh.pipe, options->micros,
                       options->chunks);
    return GW_OK;
}

enum gw_err gw_layout_simulate(struct gw_layout_timer *timer,
                               const struct gw_layout *layout,
                               const struct gw_schedule *schedule,
                               enum gw_mesh_order order,
                               struct gw_layout_time **time,
                               struct gw_error *why)
{
    struct gw__timing t = {
        .timer = timer, .layout = layout, .schedule = schedule, .order = order};
    enum gw_err err = check_timing(&t, why);
    *time = NULL;
    if (!err)
        err = allocate_timing(&t, why);
    if (!err)
        err = add_operators(&t, why);
    if (!err)
        err = run_timing(&t, why);
    if (err)
        gw_layout_time_destroy(&t.time);
    else
        find_held(&t);
    free(t.all);
    free(t.blocks);
    *time = t.time;
    return err;
}

void gw_layout_time_destroy(struct gw_layout_time **time)
{
    if (!*time)
        return;
    free((*time)->calls);
    free((*time)->link_bytes);
    free(*time);
    *time = NULL;
}
