/* SPDX-License-Identifier: MIT
 *
 * Loss and gradient over some rows.
 *
 * lr, one score z per row and y in {0, 1}:
 *     loss = log(1 + e^z) - y z,   d loss / d z = 1 / (1 + e^-z) - y
 *          = log(1 + e^-|z|), plus |z| on the wrong side
 *
 * softmax, one score z_k per class and the row's class y:
 *     loss = log(sum_k e^z_k) - z_y,   d loss / d z_k = e^z_k / sum - [k = y]
 *
 * Both forms avoid overflow and keep the digits of small losses: exponents are
 * never positive. A row's gradient is the slope of the score times its values,
 * so only its own features are touched. Sums are f64, so the shares of a batch
 * add up to the same result within the rounding of the f32 that is sent.
 */
#include "logistic.h"

#include <gradwire/learn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum gw_err gw_sums_init(struct gw_sums *sums, const struct gw_model *model,
                         struct gw_error *why)
{
    *sums = (struct gw_sums){
        .gradient = calloc(model->parameter_count, sizeof *sums->gradient),
        .scores = calloc(model->outputs, sizeof *sums->scores),
    };
    if (sums->gradient && sums->scores)
        return GW_OK;
    gw_sums_fini(sums);
    return gw_fail(why, GW_ENOMEM, "the gradient of %zu parameters",
                   model->parameter_count);
}

void gw_sums_fini(struct gw_sums *sums)
{
    free(sums->gradient);
    free(sums->scores);
    *sums = (struct gw_sums){0};
}

/* scores = W x + b */
static void score(const struct gw_model *model, const struct gw_dataset *data,
                  size_t row, double *restrict scores)
{
    size_t outputs = model->outputs;
    const float *bias = model->parameters + model->features * outputs;
    for (size_t k = 0; k < outputs; k++)
        scores[k] = (double)bias[k];
    for (size_t i = data->row_begin[row]; i < data->row_begin[row + 1]; i++) {
        const float *weight = model->parameters + data->index[i] * outputs;
        double value = (double)data->value[i];
        for (size_t k = 0; k < outputs; k++)
            scores[k] += (double)weight[k] * value;
    }
}

/* Replaces the score by the slope of the loss; adds the loss and the correct
 * answer. */
static void add_lr_loss(uint32_t label, struct gw_sums *sums)
{
    struct gw__logistic logistic = gw__logistic(sums->scores[0], label == 1);
    sums->loss += logistic.loss;
    sums->right += logistic.right;
    sums->scores[0] = logistic.slope;
}

/* The first NaN counts as the largest. */
static unsigned largest_of(const double *z, unsigned count)
{
    unsigned best = 0;
    for (unsigned k = 1; k < count && !isnan(z[best]); k++)
        best = z[k] <= z[best] ? best : k;
    return best;
}

/* A row with a NaN has no correct answer; its loss and slopes are NaN. */
static void add_softmax_loss(uint32_t label, unsigned outputs,
                             struct gw_sums *sums)
{
    double *z = sums->scores;
    unsigned best = largest_of(z, outputs);
    double largest = z[best], wanted = z[label], rest = 0;
    for (unsigned k = 0; k < outputs; k++) {
        z[k] = exp(z[k] - largest);
        rest += k == best ? 0 : z[k];
    }
    sums->loss += log1p(rest) + (largest - wanted);
    sums->right += best == label && !isnan(largest);
    for (unsigned k = 0; k < outputs; k++)
        z[k] /= 1 + rest;
    z[label] -= 1;
}

static void add_row_loss(const struct gw_model *model,
                         const struct gw_dataset *data, size_t row,
                         struct gw_sums *sums)
{
    score(model, data, row, sums->scores);
    if (model->kind == GW_MODEL_LR)
        add_lr_loss(data->label[row], sums);
    else
        add_softmax_loss(data->label[row], model->outputs, sums);
}

/* gradient += slopes x^T, and the slopes themselves for the biases */
static void add_outer_product(const struct gw_model *model,
                              const struct gw_dataset *data, size_t row,
                              const double *restrict slopes,
                              double *restrict gradient)
{
    size_t outputs = model->outputs;
    double *bias = gradient + model->features * outputs;
    for (size_t k = 0; k < outputs; k++)
        bias[k] += slopes[k];
    for (size_t i = data->row_begin[row]; i < data->row_begin[row + 1]; i++) {
        double *into = gradient + data->index[i] * outputs;
        double value = (double)data->value[i];
        for (size_t k = 0; k < outputs; k++)
            into[k] += slopes[k] * value;
    }
}

void gw_model_gradient(const struct gw_model *model,
                       const struct gw_dataset *data, const uint32_t *rows,
                       size_t row_count, struct gw_sums *sums)
{
    memset(sums->gradient, 0, model->parameter_count * sizeof *sums->gradient);
    sums->loss = 0;
    sums->right = 0;
    for (size_t i = 0; i < row_count; i++) {
        size_t row = rows ? rows[i] : i;
        add_row_loss(model, data, row, sums);
        add_outer_product(model, data, row, sums->scores, sums->gradient);
    }
}

void gw_model_evaluate(const struct gw_model *model,
                       const struct gw_dataset *data, size_t begin, size_t end,
                       struct gw_sums *sums)
{
    sums->loss = 0;
    sums->right = 0;
    for (size_t row = begin; row < end; row++)
        add_row_loss(model, data, row, sums);
}
