/* SPDX-License-Identifier: MIT
 *
 * Bytes sent per step and memory per rank, by formula. S: the bytes of all
 * parameters of a rank after the tensor split; D ranks along data, in G = D/g
 * groups of g that share one copy; m micro-batches.
 *
 *     replicated   2 (D-1)/D S                           all-reduce
 *     zero1        2 (g-1)/g S + 2 (G-1)/G S/g           reduce-scatter and
 *                                                        all-gather; across
 *                                                        groups all-reduce
 *     sharded      (2m + 1) (g-1)/g S + 2 (G-1)/G S/g    an all-gather for each
 *                                                        F and each B
 *
 * So one micro-batch, fully sharded, sends 3 (D-1)/D S (Rajbhandari et al.
 * 2020, section 7). Replicated is the case g = 1 of the others. A schedule that
 * splits B into I and W gathers for I only: the gradient of weights needs the
 * input and the output's gradient, but not the weights.
 *
 * S is padded for each operator to a multiple of D x T, so that blocks are
 * equal and every formula is an integer number of bytes.
 */
#include "layout_parts.h"
#include "pipe/network/network.h"
#include "pipe/schedule/schedule.h"

/* The size of a flat array of `parameters` elements with padding, so that
 * blocks, and blocks of blocks, are equal. */
static size_t padded_size(const struct gw_layout *layout, size_t parameters)
{
    size_t multiple =
        (size_t)layout->options.mesh.data * layout->options.mesh.tensor;
    return (parameters + multiple - 1) / multiple * multiple;
}

size_t gw_layout_block(const struct gw_layout *layout, size_t parameters)
{
    return padded_size(layout, parameters) / layout->options.shard_group;
}

static unsigned stage_of(const struct gw_layout *layout, unsigned virtual_stage)
{
    return virtual_stage % layout->options.mesh.pipe;
}

uint64_t gw__share_bytes(const struct gw_layout *layout,
                         enum gw_sharding sharding, unsigned features)
{
    uint64_t bytes = (uint64_t)layout->rows * features * sizeof(float);
    bool shared = sharding == GW_BY_ROW || sharding == GW_BY_FEATURE;
    return shared ? bytes / layout->options.mesh.tensor : bytes;
}

static void add_conversion(const struct gw_conversion *conversion,
                           unsigned micros, uint64_t *bytes,
                           struct gw_layout_price *price)
{
    *bytes += conversion->bytes * micros;
    price->tensor_collectives +=
        conversion->needed && conversion->collective != GW_COLLECTIVES;
}

/* The tensor between an operator and the previous one: converted by the stage
 * that computes it, then sent if the operator is on another stage. */
static void add_border(const struct gw_layout *layout, unsigned i,
                       unsigned stage, struct gw_layout_price *price)
{
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    const struct gw_operator_layout *before = &layout->op_layouts[i - 1];
    unsigned micros = layout->options.micros;
    unsigned features = layout->network->operators[i].in;
    unsigned from = stage_of(layout, before->virtual_stage);
    unsigned to = stage_of(layout, op_layout->virtual_stage);
    if (from == stage)
        add_conversion(&op_layout->forward, micros,
                       &price->tensor_forward_bytes, price);
    if (to == stage)
        add_conversion(&op_layout->backward, micros,
                       &price->tensor_backward_bytes, price);
    if (from != to && from == stage)
        price->pipe_bytes +=
            micros * gw__share_bytes(layout, op_layout->in, features);
    if (from != to && to == stage)
        price->pipe_bytes +=
            micros * gw__share_bytes(layout, before->grad_out, features);
}

static void add_weights(const struct gw_layout *layout,
                        const struct gw_operator_layout *op_layout,
                        struct gw_layout_price *price)
{
    const struct gw_layout_options *options = &layout->options;
    uint64_t tensor = options->mesh.tensor;
    uint64_t group = options->shard_group, groups = options->mesh.data / group;
    uint64_t whole =
        sizeof(float) * padded_size(layout, op_layout->parameters_local);
    uint64_t block = whole / group;
    bool sharded = options->mode == GW_DATA_SHARDED;
    uint64_t inside = sharded ? 2 * (uint64_t)options->micros + 1 : 2;
    price->data_bytes += inside * (group - 1) * block;
    price->data_bytes += 2 * (groups - 1) * (block / groups);
    if (op_layout->weights_partial)
        price->tensor_weight_bytes += 2 * (tensor - 1) * (whole / tensor);
    price->parameter_bytes += sharded ? block : whole;
    price->gradient_bytes += sharded ? block : whole;
    price->optimiser_bytes += options->optimiser_words * block;
    if (sharded && group > 1 && whole > price->gathered_bytes)
        price->gathered_bytes = whole;
}

void gw_layout_price(const struct gw_layout *layout, unsigned stage,
                     struct gw_layout_price *price)
{
    *price = (struct gw_layout_price){0};
    for (unsigned i = 0; i < layout->operator_count; i++) {
        if (i > 0)
            add_border(layout, i, stage, price);
        if (stage_of(layout, layout->op_layouts[i].virtual_stage) == stage)
            add_weights(layout, &layout->op_layouts[i], price);
    }
}

/* In lines of 64 bytes, as on a tape (learn/network/model_chunk.c). */
static uint64_t kept_bytes(const struct gw_layout *layout,
                           enum gw_sharding sharding, unsigned features)
{
    return (gw__share_bytes(layout, sharding, features) + 63) / 64 * 64;
}

uint64_t gw_layout_activation_bytes(const struct gw_layout *layout,
                                    unsigned virtual_stage)
{
    uint64_t bytes = 0;
    unsigned begin = layout->virtual_begin[virtual_stage];
    for (unsigned i = begin; i < layout->virtual_begin[virtual_stage + 1];
         i++) {
        const struct gw_operator *op = &layout->network->operators[i];
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        bool read = i == 0 && op->kind != GW_OP_EMBEDDING;
        bool loss = op->kind == GW_OP_SOFTMAX;
        if (read || (i > begin && op_layout->forward.needed))
            bytes += kept_bytes(layout, op_layout->in, op->in);
        bytes += loss ? kept_bytes(layout, op_layout->in, op->in)
                      : kept_bytes(layout, op_layout->out, op->out) +
                            kept_bytes(layout, op_layout->grad_out, op->out);
        if (gw__is_added(layout->network, i))
            bytes += kept_bytes(layout, op_layout->grad_out, op->out);
    }
    return bytes;
}

uint64_t gw_layout_peak_bytes(const struct gw_layout *layout,
                              const struct gw_schedule *schedule,
                              unsigned stage)
{
    uint64_t held = 0, most = 0;
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1];
         i++) {
        struct gw_pass pass = schedule->passes[i];
        uint64_t bytes = gw_layout_activation_bytes(
            layout, gw_schedule_virtual(schedule, stage, pass.chunk));
        if (gw__pass_is_forward(pass))
            held += bytes;
        else if (gw__pass_drops(pass))
            held -= bytes;
        most = held > most ? held : most;
    }
    return most;
}
