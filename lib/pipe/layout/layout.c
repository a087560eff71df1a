/* SPDX-License-Identifier: MIT
 *
 * The layout of a network on a mesh. The network is divided into virtual stages
 * for the pipeline, and each operator is split along the tensor axis. Between
 * two operators a collective converts the output's sharding to the one that the
 * next operator needs. The operators are processed once, in order; the sharding
 * of the previous output determines the meaning of AUTO.
 *
 * layout_split.c has the rules for one operator, layout_conversion.c the
 * conversions, layout_partition.c the division, layout_price.c the costs. This
 * file also reports sizes that do not fit, with their position.
 */
#include "layout_parts.h"

#include <gradwire/pipe.h>

#include <stdlib.h>

/* Prepends the position of operator i: "digits: line 4: dense". */
static enum gw_err refuse_operator(const struct gw_network *network, unsigned i,
                                   struct gw_error *why)
{
    const struct gw_operator *op = &network->operators[i];
    return gw_wrap(why, GW_EINVAL, "%s: line %u: operator %u, %s",
                   network->name, op->line, i + 1, gw_operator_name(op->kind));
}

/* ---- checks of sizes ---- */

static enum gw_err check_mesh(const struct gw_mesh *mesh, struct gw_error *why)
{
    uint64_t ranks = (uint64_t)mesh->data * mesh->tensor;
    if (mesh->data == 0 || mesh->tensor == 0 || mesh->pipe == 0)
        return gw_fail(why, GW_EINVAL,
                       "mesh %ux%ux%u: each axis must have at least one rank",
                       mesh->data, mesh->tensor, mesh->pipe);
    if (mesh->data > GW_RANKS_MAX || mesh->tensor > GW_RANKS_MAX ||
        mesh->pipe > GW_RANKS_MAX || ranks * mesh->pipe > GW_RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "mesh %ux%ux%u: more than %d ranks",
                       mesh->data, mesh->tensor, mesh->pipe, GW_RANKS_MAX);
    return GW_OK;
}

static enum gw_err check_group(const struct gw_layout_options *options,
                               struct gw_error *why)
{
    if (options->mode == GW_DATA_REPLICATED && options->shard_group > 1)
        return gw_fail(why, GW_EINVAL,
                       "a shard group of %u ranks needs sharded parameters; "
                       "choose zero1 or sharded",
                       options->shard_group);
    if (options->shard_group > 0 &&
        options->mesh.data % options->shard_group != 0)
        return gw_fail(why, GW_EINVAL,
                       "a shard group of %u does not divide the %u ranks of "
                       "the data axis",
                       options->shard_group, options->mesh.data);
    return GW_OK;
}

static enum gw_err check_layout_options(const struct gw_layout_options *options,
                                        struct gw_error *why)
{
    uint64_t divisor =
        (uint64_t)options->mesh.data * (options->micros ? options->micros : 1);
    enum gw_err err = check_mesh(&options->mesh, why);
    if (!err)
        err = check_group(options, why);
    if (err)
        return err;
    if (options->chunks > GW_STAGE_CHUNKS_MAX)
        return gw_fail(why, GW_EINVAL, "%u chunks per stage; use at most %d",
                       options->chunks, GW_STAGE_CHUNKS_MAX);
    if (options->batch == 0 || divisor == 0 || options->batch % divisor != 0)
        return gw_fail(why, GW_EINVAL,
                       "a batch of %u rows must be divisible by %u data ranks "
                       "x %u micro-batches",
                       options->batch, options->mesh.data,
                       options->micros ? options->micros : 1);
    return GW_OK;
}

static void fill_in(struct gw_layout_options *options)
{
    if (options->micros == 0)
        options->micros = 1;
    if (options->chunks == 0)
        options->chunks = 1;
    if (options->mode == GW_DATA_REPLICATED)
        options->shard_group = 1;
    else if (options->shard_group == 0)
        options->shard_group = options->mesh.data;
}

/* ---- operators ---- */

static enum gw_err check_width(unsigned width, const char *which,
                               unsigned tensor, struct gw_error *why)
{
    if (width % tensor == 0)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "its %u %s features must be divisible by %u tensor ranks",
                   width, which, tensor);
}

/* An image is divided by whole channels. */
static enum gw_err check_channels(const struct gw_image *image,
                                  const char *which, unsigned tensor,
                                  struct gw_error *why)
{
    if (image->channels % tensor == 0)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "its %u %s channels must be divisible by %u tensor ranks",
                   image->channels, which, tensor);
}

/* Can input, output and weights be divided into equal parts? */
static enum gw_err
check_divisibility(const struct gw_layout *layout, const struct gw_operator *op,
                   const struct gw_operator_layout *op_layout,
                   struct gw_error *why)
{
    unsigned tensor = layout->options.mesh.tensor;
    enum gw_err err = GW_OK;
    if (op_layout->in == GW_BY_FEATURE || op_layout->split == GW_SPLIT_ROWS) {
        err = check_channels(&op->image_in, "input", tensor, why);
        if (!err)
            err = check_width(op->in, "input", tensor, why);
    }
    if (!err && op_layout->out == GW_BY_FEATURE) {
        err = check_channels(&op->image_out, "output", tensor, why);
        if (!err)
            err = check_width(op->out, "output", tensor, why);
    }
    if (!err && op_layout->in == GW_BY_ROW && layout->rows % tensor != 0)
        err = gw_fail(
            why, GW_EINVAL,
            "the %u rows of a micro-batch must be divisible by %u tensor ranks",
            layout->rows, tensor);
    return err;
}

/* For networks made by a program; the parser has already checked the others. */
static enum gw_err check_chain(const struct gw_network *network,
                               struct gw_error *why)
{
    unsigned comes_in = network->inputs;
    if (network->operator_count == 0)
        return gw_fail(why, GW_EINVAL, "%s: the network has no operators",
                       network->name);
    for (unsigned i = 0; i < network->operator_count; i++) {
        const struct gw_operator *op = &network->operators[i];
        if (op->in != comes_in) {
            gw_fail(why, GW_EINVAL, "it expects %u features, but gets %u",
                    op->in, comes_in);
            return refuse_operator(network, i, why);
        }
        if (op->kind == GW_OP_ADD &&
            (op->source >= i || network->operators[op->source].out != op->in)) {
            gw_fail(why, GW_EINVAL, "there is no earlier operator to add");
            return refuse_operator(network, i, why);
        }
        comes_in = op->out;
    }
    return GW_OK;
}

/* Both inputs of an add must have the same sharding. Then the branch needs no
 * collective, neither for the values nor for the gradient. */
static enum gw_err check_branch(const struct gw_layout *layout, unsigned i,
                                struct gw_error *why)
{
    const struct gw_operator *op = &layout->network->operators[i];
    const char *name = layout->network->operators[op->source].name;
    enum gw_sharding sharding = layout->op_layouts[op->source].out;
    if (sharding == layout->op_layouts[i].in)
        return GW_OK;
    gw_fail(
        why, GW_EINVAL,
        sharding == GW_PARTIAL
            ? "%s is a partial sum; name the output of the operator after it"
            : "%s is %s; an add must be split like its source",
        name, gw_sharding_name(sharding));
    return refuse_operator(layout->network, i, why);
}

/* The sharding of the input, which determines AUTO. */
static enum gw_sharding incoming(const struct gw_layout *layout, unsigned i)
{
    const struct gw_operator *op = &layout->network->operators[i];
    if (i == 0)
        return GW_REPLICATED;
    return layout->op_layouts[op->kind == GW_OP_ADD ? op->source : i - 1].out;
}

static enum gw_err lay_out_operator(struct gw_layout *layout, unsigned i,
                                    struct gw_error *why)
{
    const struct gw_operator *op = &layout->network->operators[i];
    struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    unsigned tensor = layout->options.mesh.tensor;
    enum gw_split split = op->split;
    if (!gw__split_fits(op->kind, split)) {
        gw_fail(why, GW_EINVAL, "it does not support the split %s",
                gw_split_name(split));
        return refuse_operator(layout->network, i, why);
    }
    if (tensor == 1)
        split = GW_SPLIT_NONE;
    else if (split == GW_SPLIT_AUTO)
        split = gw__split_choose(op->kind, incoming(layout, i));
    op_layout->index = i;
    gw__split_apply(op, split, tensor, op_layout);
    if (check_divisibility(layout, op, op_layout, why))
        return refuse_operator(layout->network, i, why);
    return op->kind == GW_OP_ADD ? check_branch(layout, i, why) : GW_OK;
}

/* The first operator reads its share of the data set in the form that it needs,
 * and the gradient of its input is not computed. */
static void convert(struct gw_layout *layout, unsigned i)
{
    struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    const struct gw_operator_layout *before =
        i == 0 ? NULL : &layout->op_layouts[i - 1];
    unsigned features = layout->network->operators[i].in;
    unsigned tensor = layout->options.mesh.tensor;
    enum gw_sharding grad_in = before ? op_layout->grad_in : GW_REPLICATED;
    op_layout->forward =
        gw__convert(before ? before->out : op_layout->in, op_layout->in,
                    layout->rows, features, tensor);
    op_layout->backward =
        gw__convert(grad_in, before ? before->grad_out : grad_in, layout->rows,
                    features, tensor);
}

static enum gw_err lay_out_network(struct gw_layout *layout,
                                   struct gw_error *why)
{
    enum gw_err err = check_chain(layout->network, why);
    if (!err)
        err = gw__network_partition(layout->network, layout->virtual_stages,
                                    layout->virtual_begin, why);
    for (unsigned i = 0; !err && i < layout->operator_count; i++) {
        err = lay_out_operator(layout, i, why);
        if (!err)
            convert(layout, i);
    }
    for (unsigned p = 0; !err && p < layout->virtual_stages; p++)
        for (unsigned i = layout->virtual_begin[p];
             i < layout->virtual_begin[p + 1]; i++)
            layout->op_layouts[i].virtual_stage = p;
    return err;
}

enum gw_err gw_layout_new(const struct gw_network *network,
                          const struct gw_layout_options *options,
                          struct gw_layout **layout, struct gw_error *why)
{
    *layout = NULL;
    enum gw_err err = check_layout_options(options, why);
    if (err)
        return err;
    struct gw_layout *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "%s: out of memory", network->name);
    made->network = network;
    made->options = *options;
    fill_in(&made->options);
    made->rows = options->batch / (options->mesh.data * made->options.micros);
    made->operator_count = network->operator_count;
    made->virtual_stages = options->mesh.pipe * made->options.chunks;
    made->op_layouts = calloc(made->operator_count, sizeof *made->op_layouts);
    made->virtual_begin =
        calloc(made->virtual_stages + 1, sizeof *made->virtual_begin);
    if (made->op_layouts && made->virtual_begin)
        err = lay_out_network(made, why);
    else
        err = gw_fail(why, GW_ENOMEM, "%s: out of memory", network->name);
    if (err)
        gw_layout_destroy(&made);
    *layout = made;
    return err;
}

void gw_layout_destroy(struct gw_layout **layout)
{
    if (!*layout)
        return;
    free((*layout)->op_layouts);
    free((*layout)->virtual_begin);
    free(*layout);
    *layout = NULL;
}
