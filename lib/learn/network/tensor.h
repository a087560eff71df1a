/* SPDX-License-Identifier: MIT
 *
 * What the operators of a network compute: forward, and backward from the
 * gradient of what they yield. Tensors are f32, rows x features, row by row,
 * without gaps; weights are in x out, so that a step goes X W + b. A rank calls
 * these with its part of the tensors, so nothing here knows of ranks.
 *
 * Gradients of weights are added to what is there (micro-batches add up); all
 * else is overwritten.
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

/* ---- element by element ---- */

void gw__relu(const float *x, float *y, size_t count);
/* `x`: what went in */
void gw__relu_back(const float *x, const float *dy, float *dx, size_t count);
void gw__tanh(const float *x, float *y, size_t count);
/* `y`: what came out */
void gw__tanh_back(const float *y, const float *dy, float *dx, size_t count);

/* ---- rows of a data set ---- */

#define GW__NO_ROW UINT32_MAX

/* The rows row[0..count) of `data`; one that is GW__NO_ROW has no features, and
 * is not judged: it fills up a block. */
struct gw__rows {
    const struct gw_dataset *data;
    const uint32_t *row;
    size_t count;
};

/* The features [first, first + width) of the rows, as a dense block. */
void gw__rows_dense(const struct gw__rows *rows, size_t first, size_t width,
                    float *out);

/* The entries [first, first + count) of the vocabulary; `table` has `width`
 * numbers for each of these. */
struct gw__vocabulary {
    size_t first, count, width;
};

/* y = the sum of value * table row, over the row's entries */
void gw__embedding_forward(const struct gw__vocabulary *vocabulary,
                           const struct gw__rows *rows, const float *table,
                           float *y);
void gw__embedding_weight(const struct gw__vocabulary *vocabulary,
                          const struct gw__rows *rows, const float *dy,
                          float *dtable);

/* ---- loss ---- */

struct gw__judged {
    double loss; /* summed over the rows */
    uint64_t right;
};

/* Cross entropy of the softmax of `scores`, which has a row of `classes` for
 * each of `rows`. Adds to *judged. slopes (NULL: not wanted) becomes the
 * gradient of scale * loss. */
void gw__softmax(const struct gw__rows *rows, const float *scores,
                 unsigned classes, double scale, float *slopes,
                 struct gw__judged *judged);

#endif
