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
#include "part.h"

#include "learn/parallel/reshard.h"

#include <string.h>

/* The gradient of operator i's output. */
static const float *slope_of(const struct gw__part *part,
                             const struct gw__tape *tape,
                             const struct gw__part_pass *pass, unsigned i)
{
    if (i + 1 == part->count && !part->last)
        return pass->in;
    return tape->values + part->slope_at[i];
}

static void add_weights(const struct gw__part *part,
                        const struct gw__tape *tape,
                        const struct gw__part_pass *pass, unsigned i,
                        float *gradient)
{
    const float *slope = slope_of(part, tape, pass, i);
    if (part->operators[i].kind == GW_OP_EMBEDDING) {
        struct gw__rows rows =
            gw__part_rows(part, pass->rows, part->placed[i].in);
        struct gw__vocabulary words = gw__part_words(part, i);
        gw__embedding_weight(&words, &rows, slope, gradient);
        return;
    }
    if (part->operators[i].kind == GW_OP_CONV) {
        struct gw__image_shape image = gw__part_image(part, i);
        gw__conv_weight(&image, gw__part_input(part, tape, i), slope,
                        part->spread, gradient,
                        gradient + part->placed[i].parameters_local -
                            image.out.channels);
        return;
    }
    struct gw__dense shape = gw__part_dense(part, i);
    gw__dense_weight(&shape, gw__part_input(part, tape, i), slope, gradient,
                     gradient + shape.in * shape.out);
}

static enum gw_err weights(const struct gw__part *part,
                           const struct gw__tape *tape,
                           const struct gw__part_pass *pass, unsigned i,
                           struct gw_error *why)
{
    if (part->placed[i].parameters_local == 0)
        return GW_OK;
    float *gradient = gw__part_gradient(part, i);
    if (!gradient)
        return gw_fail(why, GW_ENOMEM, "the gradient of operator %u", i);
    add_weights(part, tape, pass, i, gradient);
    return pass->complete ? gw__part_complete(part, i, why) : GW_OK;
}

/* The gradient of operator i's input, before conversion. */
static const float *slope_in(const struct gw__part *part,
                             const struct gw__tape *tape,
                             const struct gw__part_pass *pass, unsigned i,
                             const float *values, float *into)
{
    const float *x = gw__part_input(part, tape, i);
    const float *y = tape->values + part->out_at[i];
    const float *slope = slope_of(part, tape, pass, i);
    struct gw__dense shape = gw__part_dense(part, i);
    struct gw__image_shape image = gw__part_image(part, i);
    switch (part->operators[i].kind) {
    case GW_OP_DENSE:
        gw__dense_input(&shape, slope, values, into);
        break;
    case GW_OP_RELU:
        gw__relu_back(x, slope, into, gw__part_elements(part, i));
        break;
    case GW_OP_TANH:
        gw__tanh_back(y, slope, into, gw__part_elements(part, i));
        break;
    case GW_OP_CONV:
        gw__conv_input(&image, slope, values, part->spread, into);
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

static enum gw_err input(struct gw__part *part, const struct gw__tape *tape,
                         const struct gw__part_pass *pass, unsigned i,
                         const float *values, struct gw_error *why)
{
    const struct gw_conversion *conversion = &part->placed[i].backward;
    if (i == 0 && part->first)
        return GW_OK;
    float *into = i == 0 ? pass->out : tape->values + part->slope_at[i - 1];
    const float *slope = slope_in(part, tape, pass, i, values,
                                  conversion->needed ? part->raw : into);
    if (slope == into)
        return GW_OK;
    return gw__part_convert(part, conversion, part->operators[i].in, slope,
                            into, gw__part_elements(part, i), why);
}

static enum gw_err input_with_weights(struct gw__part *part,
                                      const struct gw__tape *tape,
                                      const struct gw__part_pass *pass,
                                      unsigned i, struct gw_error *why)
{
    const float *values;
    if (part->placed[i].parameters_local == 0)
        return input(part, tape, pass, i, NULL, why);
    enum gw_err err = gw__part_use(part, i, &values, why);
    if (err)
        return err;
    err = input(part, tape, pass, i, values, why);
    gw__part_drop(part, i);
    return err;
}

/* ---- branches ---- */

static size_t slopes_of(const struct gw__part *part, unsigned i)
{
    return gw__shard_elements(part->config.layout->rows, part->operators[i].out,
                              part->placed[i].grad_out, part->ranks);
}

/* The gradient of an add goes to both of its inputs. The second input adds it
 * later, after the operator that follows it has contributed its own part. */
static void branch_off(const struct gw__part *part, const struct gw__tape *tape,
                       const struct gw__part_pass *pass, unsigned i)
{
    unsigned source = gw__part_source(part, i);
    const float *slope = slope_of(part, tape, pass, i);
    float *branch = tape->values + part->branch_at[source];
    for (size_t k = 0; k < slopes_of(part, source); k++)
        branch[k] += slope[k];
}

static void come_together(const struct gw__part *part,
                          const struct gw__tape *tape, unsigned i)
{
    const float *branch = tape->values + part->branch_at[i];
    float *slope = tape->values + part->slope_at[i];
    for (size_t k = 0; k < slopes_of(part, i); k++)
        slope[k] += branch[k];
}

static void follow_branches(const struct gw__part *part,
                            const struct gw__tape *tape,
                            const struct gw__part_pass *pass, unsigned i)
{
    if (part->branch_at[i])
        come_together(part, tape, i);
    if (part->operators[i].kind == GW_OP_ADD)
        branch_off(part, tape, pass, i);
}

static void begin_branches(const struct gw__part *part,
                           const struct gw__tape *tape)
{
    for (unsigned i = 0; i < part->count; i++)
        if (part->branch_at[i])
            memset(tape->values + part->branch_at[i], 0,
                   slopes_of(part, i) * sizeof *tape->values);
}

enum gw_err gw__part_backward(struct gw__part *part, struct gw__tape *tape,
                              const struct gw__part_pass *pass,
                              struct gw_error *why)
{
    bool slopes = pass->kind != GW_BACKWARD_WEIGHT;
    if (slopes)
        begin_branches(part, tape);
    for (unsigned i = part->count; i-- > 0;) {
        enum gw_err err = GW_OK;
        if (slopes)
            follow_branches(part, tape, pass, i);
        if (pass->kind != GW_BACKWARD_INPUT)
            err = weights(part, tape, pass, i, why);
        if (!err && slopes)
            err = input_with_weights(part, tape, pass, i, why);
        if (!err)
            err = gw__part_poll(part, why);
        if (err)
            return gw__part_wrap(part, i, err, why);
    }
    return GW_OK;
}
