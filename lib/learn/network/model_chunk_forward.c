/* SPDX-License-Identifier: MIT
 *
 * Forward passes. Each operator computes this rank's part of its output. If the
 * next operator needs another sharding, the output is converted, also before it
 * is sent. The other functions of this file are shared with backward passes.
 */
#include "model_chunk.h"

#include "learn/parallel/reshard.h"
#include "pipe/network/network.h"

#include <string.h>

const float *gw__model_chunk_input(const struct gw__model_chunk *chunk,
                                   const struct gw__tape *tape, unsigned i)
{
    if (i == 0)
        return chunk->first ? tape->values + chunk->in_at[0] : tape->in;
    return tape->values + (chunk->op_layouts[i].forward.needed
                               ? chunk->in_at[i]
                               : chunk->out_at[i - 1]);
}

struct gw__rows gw__model_chunk_rows(const struct gw__model_chunk *chunk,
                                     const struct gw__rows *rows,
                                     enum gw_sharding sharding)
{
    struct gw__rows some = *rows;
    if (sharding == GW_BY_ROW) {
        some.count /= chunk->ranks;
        some.row += chunk->config.place * some.count;
    }
    return some;
}

/* This rank's first input feature of an operator. */
static size_t first_feature(const struct gw__model_chunk *chunk, unsigned i)
{
    size_t mine = chunk->op_layouts[i].local_in;
    return mine < chunk->operators[i].in ? chunk->config.place * mine : 0;
}

struct gw__vocabulary gw__model_chunk_words(const struct gw__model_chunk *chunk,
                                            unsigned i)
{
    return (struct gw__vocabulary){.first = first_feature(chunk, i),
                                   .count = chunk->op_layouts[i].local_in,
                                   .width = chunk->op_layouts[i].local_out};
}

struct gw__dense gw__model_chunk_dense(const struct gw__model_chunk *chunk,
                                       unsigned i)
{
    size_t rows = chunk->config.layout->rows;
    const struct gw_operator_layout *op_layout = &chunk->op_layouts[i];
    return (struct gw__dense){
        .rows = op_layout->in == GW_BY_ROW ? rows / chunk->ranks : rows,
        .in = op_layout->local_in,
        .out = op_layout->local_out};
}

struct gw__image_shape
gw__model_chunk_image(const struct gw__model_chunk *chunk, unsigned i)
{
    const struct gw_operator *op = &chunk->operators[i];
    const struct gw_operator_layout *op_layout = &chunk->op_layouts[i];
    return (struct gw__image_shape){
        .rows = gw__model_chunk_dense(chunk, i).rows,
        .in = gw__image_share(op->image_in, op_layout->local_in),
        .out = gw__image_share(op->image_out, op_layout->local_out),
        .height = op->kernel_height,
        .width = op->kernel_width};
}

unsigned gw__model_chunk_source(const struct gw__model_chunk *chunk, unsigned i)
{
    return chunk->operators[i].source - chunk->op_layouts[0].index;
}

size_t gw__model_chunk_elements(const struct gw__model_chunk *chunk, unsigned i)
{
    return gw__shard_elements(chunk->config.layout->rows,
                              chunk->operators[i].in, chunk->op_layouts[i].in,
                              chunk->ranks);
}

enum gw_err gw__model_chunk_wrap(const struct gw__model_chunk *chunk,
                                 unsigned i, enum gw_err code,
                                 struct gw_error *why)
{
    return gw_wrap(why, code, "operator %u, %s", chunk->op_layouts[i].index + 1,
                   gw_operator_name(chunk->operators[i].kind));
}

enum gw_err gw__model_chunk_convert(struct gw__model_chunk *chunk,
                                    const struct gw_conversion *conversion,
                                    size_t features, const float *in,
                                    float *out, size_t copied,
                                    struct gw_error *why)
{
    if (!conversion->needed) {
        memcpy(out, in, copied * sizeof *out);
        return GW_OK;
    }
    chunk->collectives += conversion->collective != GW_COLLECTIVES;
    struct gw__reshard reshard = {.comm = chunk->config.tensor,
                                  .rows = chunk->config.layout->rows,
                                  .features = features,
                                  .from = conversion->from,
                                  .to = conversion->to,
                                  .in = in,
                                  .out = out,
                                  .scratch = chunk->scratch,
                                  .algo = chunk->config.algo};
    return gw__reshard(&reshard, why);
}

/* Only the first rank adds the biases of an operator that is split by rows. */
static const float *biases_of(const struct gw__model_chunk *chunk, unsigned i,
                              const float *weights, size_t count)
{
    bool biased =
        chunk->op_layouts[i].split != GW_SPLIT_ROWS || chunk->config.place == 0;
    return biased ? weights + chunk->op_layouts[i].parameters_local - count
                  : NULL;
}

static void dense(const struct gw__model_chunk *chunk, unsigned i,
                  const float *x, const float *weights, float *y)
{
    struct gw__dense shape = gw__model_chunk_dense(chunk, i);
    gw__dense_forward(&shape, x, weights,
                      biases_of(chunk, i, weights, shape.out), y);
}

static void conv(const struct gw__model_chunk *chunk, unsigned i,
                 const float *x, const float *weights, float *y)
{
    struct gw__image_shape shape = gw__model_chunk_image(chunk, i);
    gw__conv_forward(&shape, x, weights,
                     biases_of(chunk, i, weights, shape.out.channels),
                     chunk->spread, y);
}

static void add_branch(const struct gw__model_chunk *chunk,
                       const struct gw__tape *tape, unsigned i, const float *x,
                       float *y)
{
    const float *branch =
        tape->values + chunk->out_at[gw__model_chunk_source(chunk, i)];
    size_t elements = gw__model_chunk_elements(chunk, i);
    for (size_t k = 0; k < elements; k++)
        y[k] = x[k] + branch[k];
}

/* If all ranks have all scores, only the first one evaluates them. */
static void compute_loss(const struct gw__model_chunk *chunk,
                         const struct gw__rows *rows, unsigned i,
                         const float *scores, float *slopes,
                         struct gw__loss_sum *loss_sum)
{
    struct gw__loss_sum unheard = {0};
    bool mine =
        chunk->op_layouts[i].in == GW_BY_ROW || chunk->config.place == 0;
    gw__softmax(rows, scores, chunk->operators[i].in, chunk->config.scale,
                slopes, mine ? loss_sum : &unheard);
}

static void run_operator(const struct gw__model_chunk *chunk,
                         struct gw__tape *tape,
                         const struct gw__model_chunk_pass *pass, unsigned i,
                         const float *weights)
{
    struct gw__rows rows =
        gw__model_chunk_rows(chunk, pass->rows, chunk->op_layouts[i].in);
    float *y = tape->values + chunk->out_at[i];
    struct gw__vocabulary words = gw__model_chunk_words(chunk, i);
    enum gw_operator_kind kind = chunk->operators[i].kind;
    if (chunk->first && i == 0 && kind != GW_OP_EMBEDDING)
        gw__rows_dense(
            &rows,
            chunk->op_layouts[0].in == GW_BY_FEATURE ? first_feature(chunk, 0)
                                                     : 0,
            chunk->op_layouts[0].local_in, tape->values + chunk->in_at[0]);
    const float *x = gw__model_chunk_input(chunk, tape, i);
    struct gw__image_shape image = gw__model_chunk_image(chunk, i);
    switch (kind) {
    case GW_OP_EMBEDDING:
        gw__embedding_forward(&words, &rows, weights, y);
        break;
    case GW_OP_DENSE:
        dense(chunk, i, x, weights, y);
        break;
    case GW_OP_CONV:
        conv(chunk, i, x, weights, y);
        break;
    case GW_OP_MAXPOOL:
        gw__maxpool(&image, x, y);
        break;
    case GW_OP_FLATTEN: /* the channels are already contiguous */
        memcpy(y, x, gw__model_chunk_elements(chunk, i) * sizeof *y);
        break;
    case GW_OP_ADD:
        add_branch(chunk, tape, i, x, y);
        break;
    case GW_OP_RELU:
        gw__relu(x, y, gw__model_chunk_elements(chunk, i));
        break;
    case GW_OP_TANH:
        gw__tanh(x, y, gw__model_chunk_elements(chunk, i));
        break;
    case GW_OP_SOFTMAX:
        compute_loss(chunk, &rows, i, x, y, pass->loss_sum);
        break;
    }
}

/* Copies the output to the next operator's input, here or in a message. */
static enum gw_err pass_on(struct gw__model_chunk *chunk, struct gw__tape *tape,
                           const struct gw__model_chunk_pass *pass, unsigned i,
                           struct gw_error *why)
{
    const struct gw_conversion *next = &chunk->op_layouts[i + 1].forward;
    const float *y = tape->values + chunk->out_at[i];
    size_t features = chunk->operators[i].out;
    size_t elements =
        gw__shard_elements(chunk->config.layout->rows, features,
                           chunk->op_layouts[i].out, chunk->ranks);
    if (i + 1 == chunk->count)
        return gw__model_chunk_convert(chunk, next, features, y, pass->out,
                                       elements, why);
    if (!next->needed)
        return GW_OK;
    return gw__model_chunk_convert(chunk, next, features, y,
                                   tape->values + chunk->in_at[i + 1], 0, why);
}

static enum gw_err forward(struct gw__model_chunk *chunk, struct gw__tape *tape,
                           const struct gw__model_chunk_pass *pass, unsigned i,
                           struct gw_error *why)
{
    bool learns = chunk->op_layouts[i].parameters_local > 0;
    const float *weights = NULL;
    enum gw_err err = GW_OK;
    if (learns)
        err = gw__weights_acquire(chunk, i, &weights, why);
    if (err)
        return err;
    run_operator(chunk, tape, pass, i, weights);
    if (learns)
        gw__weights_release(chunk, i);
    if (chunk->operators[i].kind != GW_OP_SOFTMAX)
        err = pass_on(chunk, tape, pass, i, why);
    return err ? err : gw__model_chunk_poll(chunk, why);
}

enum gw_err gw__model_chunk_forward(struct gw__model_chunk *chunk,
                                    struct gw__tape *tape,
                                    const struct gw__model_chunk_pass *pass,
                                    struct gw_error *why)
{
    tape->in = pass->in;
    for (unsigned i = 0; i < chunk->count; i++) {
        enum gw_err err = forward(chunk, tape, pass, i, why);
        if (err)
            return gw__model_chunk_wrap(chunk, i, err, why);
    }
    return GW_OK;
}
