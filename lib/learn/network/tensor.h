/* SPDX-License-Identifier: MIT
 *
 * The operators of a network, forward, and backward from the gradient of the
 * output. Tensors are f32, rows x features, row-major and contiguous; weights
 * are in x out, so that a layer is X W + b. A rank passes its part of the
 * tensors, so nothing here depends on ranks.
 *
 * Gradients of weights are added to the existing values (for micro-batches);
 * all other results are overwritten.
 */
#ifndef GW__TENSOR_H
#define GW__TENSOR_H

#include <gradwire/learn.h>

/* ---- dense ---- */

struct gw__dense {
    size_t rows, in, out;
};

/* y = x W + bias; bias NULL: none */
void gw__dense_forward(const struct gw__dense *shape, const float *x,
                       const float *weights, const float *bias, float *y);
/* dx = dy W^T */
void gw__dense_input(const struct gw__dense *shape, const float *dy,
                     const float *weights, float *dx);
/* dW += x^T dy; dbias += the column sums of dy, unless NULL */
void gw__dense_weight(const struct gw__dense *shape, const float *x,
                      const float *dy, float *dweights, float *dbias);

/* ---- element-wise ---- */

void gw__relu(const float *x, float *y, size_t count);
/* `x`: the input */
void gw__relu_back(const float *x, const float *dy, float *dx, size_t count);
void gw__tanh(const float *x, float *y, size_t count);
/* `y`: the output */
void gw__tanh_back(const float *y, const float *dy, float *dx, size_t count);

/* ---- rows of a data set ---- */

#define GW__NO_ROW UINT32_MAX

/* The rows row[0..count) of `data`. GW__NO_ROW is a padding row without
 * features that is not evaluated. */
struct gw__rows {
    const struct gw_dataset *data;
    const uint32_t *row;
    size_t count;
};

/* Converts features [first, first + width) of the rows to a dense block. */
void gw__rows_dense(const struct gw__rows *rows, size_t first, size_t width,
                    float *out);

/* The entries [first, first + count) of a vocabulary; each has `width` numbers
 * in `table`. */
struct gw__vocabulary {
    size_t first, count, width;
};

/* y = the sum of value * table row over the row's entries */
void gw__embedding_forward(const struct gw__vocabulary *vocabulary,
                           const struct gw__rows *rows, const float *table,
                           float *y);
void gw__embedding_weight(const struct gw__vocabulary *vocabulary,
                          const struct gw__rows *rows, const float *dy,
                          float *dtable);

/* ---- loss ---- */

struct gw__loss_sum {
    double loss; /* summed over the rows */
    uint64_t right;
};

/* The cross entropy of the softmax of `scores`, `classes` per row. Adds to
 * *judged. If not NULL, `slopes` becomes the gradient of scale * loss. */
void gw__softmax(const struct gw__rows *rows, const float *scores,
                 unsigned classes, double scale, float *slopes,
                 struct gw__loss_sum *loss_sum);

#endif
