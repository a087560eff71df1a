/* SPDX-License-Identifier: MIT
 *
 * The communication at the end of a step, by all stages at once: gradients of
 * weights that are replicated along the tensor axis; gradients along the data
 * axis, within and across shard groups; with zero1 the parameters of the next
 * step.
 */
#include "layout_time.h"

#include <gradwire/event.h>

/* Computes t->blocks, the parameter bytes of each stage: a rank's blocks or
 * (tensor) those whose gradients are partial along T. False: no bytes. */
static bool sum_blocks(struct gw__timing *t, bool tensor)
{
    const struct gw_layout *layout = t->layout;
    unsigned copies = tensor ? layout->options.shard_group : 1;
    bool any = false;
    for (unsigned p = 0; p < layout->options.mesh.pipe; p++)
        t->blocks[p] = 0;
    for (unsigned i = 0; i < layout->operator_count; i++) {
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        size_t block = gw_layout_block(layout, op_layout->parameters_local);
        if (block == 0 || (tensor && !op_layout->weights_partial))
            continue;
        t->blocks[gw__timing_stage(t, i)] += sizeof(float) * block * copies;
        any = true;
    }
    return any;
}

/* Adds one call per step by all stages, in groups of `ranks`. */
static enum gw_err add_end(struct gw__timing *t, const char *kind,
                           enum gw__axis axis, enum gw_collective collective,
                           unsigned ranks, double *end_us, struct gw_error *why)
{
    double us = 0;
    if (ranks == 1 || !sum_blocks(t, axis == GW__AXIS_TENSOR))
        return GW_OK;
    enum gw_err err = gw__timing_call(
        t,
        (struct gw__axis_call){.axis = axis,
                               .collective = collective,
                               .stages = t->layout->options.mesh.pipe,
                               .bytes = t->blocks},
        (struct gw_layout_call){
            .kind = kind, .stage = GW_NONE, .index = GW_NONE, .calls = 1},
        &us, why);
    *end_us += us;
    return err;
}

enum gw_err gw__timing_end(struct gw__timing *t, double *tensor_us,
                           double *data_us, struct gw_error *why)
{
    const struct gw_layout_options *options = &t->layout->options;
    unsigned group = options->shard_group, groups = options->mesh.data / group;
    bool replicated = options->mode == GW_DATA_REPLICATED;
    enum gw_err err = add_end(t, "weights", GW__AXIS_TENSOR, GW_ALLREDUCE,
                              options->mesh.tensor, tensor_us, why);
    if (!err)
        err = add_end(t, "gradients", GW__AXIS_DATA, GW_REDUCE_SCATTER, group,
                      data_us, why);
    if (!err)
        err = add_end(t, replicated ? "gradients" : "across", GW__AXIS_ACROSS,
                      GW_ALLREDUCE, groups, data_us, why);
    if (!err && options->mode == GW_DATA_ZERO1)
        err = add_end(t, "parameters", GW__AXIS_DATA, GW_ALLGATHER, group,
                      data_us, why);
    return err;
}
