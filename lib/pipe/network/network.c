/* SPDX-License-Identifier: MIT
 *
 * Networks: names of operators, numbers of parameters, files, printing as text.
 * network_parse.c has the parser; layout.c the layout on a mesh.
 */
#include "network.h"

#include <stdlib.h>

const char *gw_operator_name(enum gw_operator_kind kind)
{
    static const char *const names[] = {"embedding", "dense", "relu",
                                        "tanh",      "conv",  "maxpool",
                                        "flatten",   "add",   "softmax"};
    return kind <= GW_OP_SOFTMAX ? names[kind] : "?";
}

const char *gw_split_name(enum gw_split split)
{
    static const char *const names[] = {"auto", "none", "columns", "rows",
                                        "batch"};
    return split <= GW_SPLIT_BATCH ? names[split] : "?";
}

bool gw__is_added(const struct gw_network *network, unsigned i)
{
    for (unsigned k = i + 1; k < network->operator_count; k++)
        if (network->operators[k].kind == GW_OP_ADD &&
            network->operators[k].source == i)
            return true;
    return false;
}

void gw__operator_matrix(const struct gw_operator *op, size_t *inputs,
                         size_t *outputs)
{
    *inputs = *outputs = 0;
    if (op->kind == GW_OP_DENSE || op->kind == GW_OP_EMBEDDING) {
        *inputs = op->in;
        *outputs = op->out;
    } else if (op->kind == GW_OP_CONV) {
        *inputs = (size_t)op->image_in.channels * op->kernel_height *
                  op->kernel_width;
        *outputs = op->image_out.channels;
    }
}

size_t gw__operator_biases(const struct gw_operator *op)
{
    return op->kind == GW_OP_DENSE  ? op->out
           : op->kind == GW_OP_CONV ? op->image_out.channels
                                    : 0;
}

size_t gw_operator_parameters(const struct gw_operator *op)
{
    size_t inputs, outputs;
    gw__operator_matrix(op, &inputs, &outputs);
    return inputs * outputs + gw__operator_biases(op);
}

struct gw_operator gw__operator_local(const struct gw_operator *op,
                                      unsigned local_in, unsigned local_out)
{
    struct gw_operator local = *op;
    local.in = local_in;
    local.out = local_out;
    local.image_in = gw__image_share(op->image_in, local_in);
    local.image_out = gw__image_share(op->image_out, local_out);
    return local;
}

uint64_t gw_operator_work(const struct gw_operator *op)
{
    size_t inputs, outputs;
    gw__operator_matrix(op, &inputs, &outputs);
    uint64_t places = op->kind == GW_OP_CONV
                          ? (uint64_t)op->image_in.height * op->image_in.width
                          : 1;
    return places * inputs * outputs;
}

size_t gw_network_parameters(const struct gw_network *network)
{
    size_t sum = 0;
    for (unsigned i = 0; i < network->operator_count; i++)
        sum += gw_operator_parameters(&network->operators[i]);
    return sum;
}

void gw_network_destroy(struct gw_network **network)
{
    if (!*network)
        return;
    free((*network)->operators);
    free(*network);
    *network = NULL;
}

enum gw_err gw_network_load(const char *path, struct gw_network **network,
                            struct gw_error *why)
{
    size_t bytes;
    char *text;
    *network = NULL;
    enum gw_err err =
        gw__text_load(path, GW__NETWORK_BYTES_MAX, &text, &bytes, why);
    if (!err)
        err = gw_network_parse(text, bytes, path, network, why);
    free(text);
    return err;
}

static void print_operator(const struct gw_network *network,
                           const struct gw_operator *op, FILE *file)
{
    if (op->begins_stage)
        fputs("stage\n", file);
    fputs(gw_operator_name(op->kind), file);
    if (op->kind == GW_OP_DENSE || op->kind == GW_OP_EMBEDDING)
        fprintf(file, " %u", op->out);
    if (op->kind == GW_OP_CONV)
        fprintf(file, " %u", op->image_out.channels);
    if (op->kind == GW_OP_CONV || op->kind == GW_OP_MAXPOOL)
        fprintf(file, " %ux%u", op->kernel_height, op->kernel_width);
    if (op->kind == GW_OP_ADD)
        fprintf(file, " %s", network->operators[op->source].name);
    if (op->split != GW_SPLIT_AUTO)
        fprintf(file, " %s", gw_split_name(op->split));
    fputc('\n', file);
    if (*op->name)
        fprintf(file, "name %s\n", op->name);
}

enum gw_err gw_network_print(const struct gw_network *network, FILE *file,
                             struct gw_error *why)
{
    const struct gw_image *image = &network->image;
    fprintf(file, "network %s\ninput ", network->name);
    if (image->channels)
        fprintf(file, "%ux%ux%u\n", image->channels, image->height,
                image->width);
    else
        fprintf(file, "%u\n", network->inputs);
    for (unsigned i = 0; i < network->operator_count; i++)
        print_operator(network, &network->operators[i], file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a network");
    return GW_OK;
}
