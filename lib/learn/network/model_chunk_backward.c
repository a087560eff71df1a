/* SPDX-License-Identifier: MIT
 *
 * Backward passes, from the last operator to the first. B and W compute the
 * gradient of the weights from the input and the gradient of the output. B and
 * I compute the gradient of the input and convert it to the sharding of the
 * previous operator. I leaves the gradients on the tape for W.
 *
 * The gradient of the network's first input is not needed. The weights of the
 * first operator are requested nevertheless, so that the communication of a
 * step is the same for all operators.
 */
#include "model_chunk.h"

#include "learn/parallel/reshard.h"

#include <string.h>

/* The gradient of operator i's output. */
static const float *slope_of(const struct gw__model_chunk *chunk,
                             const struct gw__tape *tape,
                             const struct gw__model_chunk_pass *pass,
                             unsigned i)
{
    if (i + 1 == chunk->count && !chunk->last)
        return pass->in;
    return tape->values + chunk->slope_at[i];
}

static void add_weights(const struct gw__model_chunk *chunk,
                        const struct gw__tape *tape,
                        const struct gw__model_chunk_pass *pass, unsigned i,
                        float *gradient)
{
    const float *slope = slope_of(chunk, tape, pass, i);
    if (chunk->operators[i].kind == GW_OP_EMBEDDING) {
        struct gw__rows rows =
            gw__model_chunk_rows(chunk, pass->rows, chunk->op_layouts[i].in);
        struct gw__vocabulary words = gw__model_chunk_words(chunk, i);
        gw__embedding_weight(&words, &rows, slope, gradient);
        return;
    }
    if (chunk->operators[i].kind == GW_OP_CONV) {
        struct gw__image_shape image = gw__model_chunk_image(chunk, i);
        gw__conv_weight(&image, gw__model_chunk_input(chunk, tape, i), slope,
                        chunk->spread, gradient,
                        gradient + chunk->op_layouts[i].parameters_local -
                            image.out.channels);
        return;
    }
    struct gw__dense shape = gw__model_chunk_dense(chunk, i);
    gw__dense_weight(&shape, gw__model_chunk_input(chunk, tape, i), slope,
                     gradient, gradient + shape.in * shape.out);
}

static enum gw_err weights(const struct gw__model_chunk *chunk,
                           const struct gw__tape *tape,
                           const struct gw__model_chunk_pass *pass, unsigned i,
                           struct gw_error *why)
{
    if (chunk->op_layouts[i].parameters_local == 0)
        return GW_OK;
    float *gradient = gw__model_chunk_gradient(chunk, i);
    if (!gradient)
        return gw_fail(why, GW_ENOMEM, "the gradient of operator %u", i);
    add_weights(chunk, tape, pass, i, gradient);
    return pass->complete ? gw__model_chunk_complete(chunk, i, why) : GW_OK;
}

/* The gradient of operator i's input, before conversion. */
static const float *slope_in(const struct gw__model_chunk *chunk,
                             const struct gw__tape *tape,
                             const struct gw__model_chunk_pass *pass,
                             unsigned i, const float *values, float *into)
{
    const float *x = gw__model_chunk_input(chunk, tape, i);
    const float *y = tape->values + chunk->out_at[i];
    const float *slope = slope_of(chunk, tape, pass, i);
    struct gw__dense shape = gw__model_chunk_dense(chunk, i);
    struct gw__image_shape image = gw__model_chunk_image(chunk, i);
    switch (chunk->operators[i].kind) {
    case GW_OP_DENSE:
        gw__dense_input(&shape, slope, values, into);
        break;
    case GW_OP_RELU:
        gw__relu_back(x, slope, into, gw__model_chunk_elements(chunk, i));
        break;
    case GW_OP_TANH:
        gw__tanh_back(y, slope, into, gw__model_chunk_elements(chunk, i));
        break;
    case GW_OP_CONV:
        gw__conv_input(&image, slope, values, chunk->spread, into);
        break;
    case GW_OP_MAXPOOL:
        gw__maxpool_back(&image, x, slope, into);
        break;
    case GW_OP_FLATTEN:
    case GW_OP_ADD:
        return slope;
    case GW_OP_SOFTMAX: /* the forward pass has stored it */
        return y;
    case GW_OP_EMBEDDING:
        break;
    }
    return into;
}

static enum gw_err input(struct gw__model_chunk *chunk,
                         const struct gw__tape *tape,
                         const struct gw__model_chunk_pass *pass, unsigned i,
                         const float *values, struct gw_error *why)
{
    const struct gw_conversion *conversion = &chunk->op_layouts[i].backward;
    if (i == 0 && chunk->first)
        return GW_OK;
    float *into = i == 0 ? pass->out : tape->values + chunk->slope_at[i - 1];
    const float *slope = slope_in(chunk, tape, pass, i, values,
                                  conversion->needed ? chunk->raw : into);
    if (slope == into)
        return GW_OK;
    return gw__model_chunk_convert(chunk, conversion, chunk->operators[i].in,
                                   slope, into,
                                   gw__model_chunk_elements(chunk, i), why);
}

static enum gw_err input_with_weights(struct gw__model_chunk *chunk,
                                      const struct gw__tape *tape,
                                      const struct gw__model_chunk_pass *pass,
                                      unsigned i, struct gw_error *why)
{
    const float *values;
    if (chunk->op_layouts[i].parameters_local == 0)
        return input(chunk, tape, pass, i, NULL, why);
    enum gw_err err = gw__weights_acquire(chunk, i, &values, why);
    if (err)
        return err;
    err = input(chunk, tape, pass, i, values, why);
    gw__weights_release(chunk, i);
    return err;
}

/* ---- branches ---- */

static size_t slopes_of(const struct gw__model_chunk *chunk, unsigned i)
{
    return gw__shard_elements(chunk->config.layout->rows,
                              chunk->operators[i].out,
                              chunk->op_layouts[i].grad_out, chunk->ranks);
}

/* The gradient of an add goes to both of its inputs. The second input adds it
 * later, after the operator that follows it has contributed its own part. */
static void branch_off(const struct gw__model_chunk *chunk,
                       const struct gw__tape *tape,
                       const struct gw__model_chunk_pass *pass, unsigned i)
{
    unsigned source = gw__model_chunk_source(chunk, i);
    const float *slope = slope_of(chunk, tape, pass, i);
    float *branch = tape->values + chunk->branch_at[source];
    for (size_t k = 0; k < slopes_of(chunk, source); k++)
        branch[k] += slope[k];
}

static void add_branch_gradient(const struct gw__model_chunk *chunk,
                                const struct gw__tape *tape, unsigned i)
{
    const float *branch = tape->values + chunk->branch_at[i];
    float *slope = tape->values + chunk->slope_at[i];
    for (size_t k = 0; k < slopes_of(chunk, i); k++)
        slope[k] += branch[k];
}

static void follow_branches(const struct gw__model_chunk *chunk,
                            const struct gw__tape *tape,
                            const struct gw__model_chunk_pass *pass, unsigned i)
{
    if (chunk->branch_at[i])
        add_branch_gradient(chunk, tape, i);
    if (chunk->operators[i].kind == GW_OP_ADD)
        branch_off(chunk, tape, pass, i);
}

static void begin_branches(const struct gw__model_chunk *chunk,
                           const struct gw__tape *tape)
{
    for (unsigned i = 0; i < chunk->count; i++)
        if (chunk->branch_at[i])
            memset(tape->values + chunk->branch_at[i], 0,
                   slopes_of(chunk, i) * sizeof *tape->values);
}

enum gw_err gw__model_chunk_backward(struct gw__model_chunk *chunk,
                                     struct gw__tape *tape,
                                     const struct gw__model_chunk_pass *pass,
                                     struct gw_error *why)
{
    bool slopes = pass->kind != GW_BACKWARD_WEIGHT;
    if (slopes)
        begin_branches(chunk, tape);
    for (unsigned i = chunk->count; i-- > 0;) {
        enum gw_err err = GW_OK;
        if (slopes)
            follow_branches(chunk, tape, pass, i);
        if (pass->kind != GW_BACKWARD_INPUT)
            err = weights(chunk, tape, pass, i, why);
        if (!err && slopes)
            err = input_with_weights(chunk, tape, pass, i, why);
        if (!err)
            err = gw__model_chunk_poll(chunk, why);
        if (err)
            return gw__model_chunk_wrap(chunk, i, err, why);
    }
    return GW_OK;
}
