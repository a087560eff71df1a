/* SPDX-License-Identifier: MIT
 *
 * Dense layers, element-wise operators and the loss; see tensor.h.
 * tensor_rows.c has the rows of a data set, product.c the matrix products.
 */
#include "tensor.h"

#include "product.h"

#include <math.h>
#include <string.h>

void gw__dense_forward(const struct gw__dense *shape, const float *x,
                       const float *weights, const float *bias, float *y)
{
    for (size_t i = 0; bias && i < shape->rows; i++)
        memcpy(y + i * shape->out, bias, shape->out * sizeof *y);
    gw__product(&(struct gw__product){.left = x,
                                      .right = weights,
                                      .out = y,
                                      .rows = shape->rows,
                                      .inner = shape->in,
                                      .columns = shape->out,
                                      .add = bias != NULL});
}

void gw__dense_input(const struct gw__dense *shape, const float *dy,
                     const float *weights, float *dx)
{
    gw__product(&(struct gw__product){.left = dy,
                                      .right = weights,
                                      .out = dx,
                                      .rows = shape->rows,
                                      .inner = shape->out,
                                      .columns = shape->in,
                                      .right_turned = true});
}

void gw__dense_weight(const struct gw__dense *shape, const float *x,
                      const float *dy, float *dweights, float *dbias)
{
    gw__product(&(struct gw__product){.left = x,
                                      .right = dy,
                                      .out = dweights,
                                      .rows = shape->in,
                                      .inner = shape->rows,
                                      .columns = shape->out,
                                      .left_turned = true,
                                      .add = true});
    for (size_t i = 0; dbias && i < shape->rows; i++)
        for (size_t j = 0; j < shape->out; j++)
            dbias[j] += dy[i * shape->out + j];
}

/* Tests for values to cut off, so that a NaN, for which no comparison holds, is
 * kept. */
void gw__relu(const float *x, float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] <= 0 ? 0 : x[i];
}

void gw__relu_back(const float *x, const float *dy, float *dx, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dx[i] = x[i] <= 0 ? 0 : dy[i];
}

void gw__tanh(const float *x, float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanhf(x[i]);
}

void gw__tanh_back(const float *y, const float *dy, float *dx, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
}

/* The first NaN counts as the largest. */
static unsigned largest_of(const float *z, unsigned classes)
{
    unsigned best = 0;
    for (unsigned k = 1; k < classes && !isnan(z[best]); k++)
        best = z[k] <= z[best] ? best : k;
    return best;
}

/* One row: log(sum_k e^z_k) - z_label. Exponents are never positive, so small
 * losses keep their digits. A row with a NaN has no correct answer; its loss
 * and slopes are NaN. */
static void softmax_loss(const float *z, unsigned classes, uint32_t label,
                         double scale, float *slopes,
                         struct gw__loss_sum *loss_sum)
{
    unsigned best = largest_of(z, classes);
    double largest = (double)z[best], rest = 0;
    for (unsigned k = 0; k < classes; k++)
        rest += k == best ? 0 : exp((double)z[k] - largest);
    loss_sum->loss += log1p(rest) + (largest - (double)z[label]);
    loss_sum->right += best == label && !isnan(largest);
    if (!slopes)
        return;
    double share = scale / (1 + rest);
    for (unsigned k = 0; k < classes; k++) {
        double slope = share * exp((double)z[k] - largest);
        slopes[k] = (float)(k == label ? slope - scale : slope);
    }
}

void gw__softmax(const struct gw__rows *rows, const float *scores,
                 unsigned classes, double scale, float *slopes,
                 struct gw__loss_sum *loss_sum)
{
    for (size_t i = 0; i < rows->count; i++) {
        float *slope = slopes ? slopes + i * classes : NULL;
        if (rows->row[i] != GW__NO_ROW)
            softmax_loss(scores + i * classes, classes,
                         rows->data->label[rows->row[i]], scale, slope,
                         loss_sum);
        else if (slope)
            memset(slope, 0, classes * sizeof *slope);
    }
}
