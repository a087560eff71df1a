/* SPDX-License-Identifier: MIT
 *
 * Networks: what their parts are called, how many parameters they have, and
 * their way from a file and back to text. The text form is read by
 * network_parse.c; how a network lies on a mesh is layout.c.
 */
#include "network.h"

#include <stdlib.h>

const char *gw_operator_name(enum gw_operator_kind kind)
{
    static const char *const names[] = {"embedding", "dense", "relu", "tanh",
                                        "softmax"};
    return kind <= GW_OP_SOFTMAX ? names[kind] : "?";
}

const char *gw_split_name(enum gw_split split)
{
    static const char *const names[] = {"auto", "none", "columns", "rows",
                                        "batch"};
    return split <= GW_SPLIT_BATCH ? names[split] : "?";
}

size_t gw_operator_parameters(const struct gw_operator *op)
{
    size_t weights = (size_t)op->in * op->out;
    switch (op->kind) {
    case GW_OP_DENSE:
        return weights + op->out;
    case GW_OP_EMBEDDING:
        return weights;
    default:
        return 0;
    }
}

uint64_t gw_operator_work(const struct gw_operator *op)
{
    bool table = op->kind == GW_OP_DENSE || op->kind == GW_OP_EMBEDDING;
    return table ? (uint64_t)op->in * op->out : 0;
}

size_t gw__operator_biases(const struct gw_operator *op)
{
    return op->kind == GW_OP_DENSE ? op->out : 0;
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

static void print_operator(const struct gw_operator *op, FILE *file)
{
    if (op->cut)
        fputs("stage\n", file);
    fputs(gw_operator_name(op->kind), file);
    if (op->kind == GW_OP_DENSE || op->kind == GW_OP_EMBEDDING)
        fprintf(file, " %u", op->out);
    if (op->split != GW_SPLIT_AUTO)
        fprintf(file, " %s", gw_split_name(op->split));
    fputc('\n', file);
}

enum gw_err gw_network_print(const struct gw_network *network, FILE *file,
                             struct gw_error *why)
{
    fprintf(file, "network %s\ninput %u\n", network->name, network->inputs);
    for (unsigned i = 0; i < network->operator_count; i++)
        print_operator(&network->operators[i], file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a network");
    return GW_OK;
}
