/* SPDX-License-Identifier: MIT
 *
 * Sparse rows of a data set as the input of a network: as a dense block, or as
 * words of an embedding table. An operator that is split by its input features
 * uses a range of them only.
 */
#include "tensor.h"

#include <string.h>

/* The entries of row i of the selection. */
static size_t entries(const struct gw__rows *rows, size_t i, size_t *begin)
{
    uint32_t row = rows->row[i];
    if (row == GW__NO_ROW)
        return 0;
    *begin = rows->data->row_begin[row];
    return rows->data->row_begin[row + 1] - *begin;
}

/* The index of entry k in the range of `count` features from `first` on. False:
 * outside the range. */
static inline bool feature_offset(const struct gw__rows *rows, size_t k,
                                  size_t first, size_t count, size_t *place)
{
    size_t feature = rows->data->index[k];
    *place = feature - first;
    return feature >= first && *place < count;
}

void gw__rows_dense(const struct gw__rows *rows, size_t first, size_t width,
                    float *out)
{
    memset(out, 0, rows->count * width * sizeof *out);
    for (size_t i = 0; i < rows->count; i++, out += width) {
        size_t begin = 0, count = entries(rows, i, &begin);
        for (size_t k = begin; k < begin + count; k++) {
            size_t feature;
            if (feature_offset(rows, k, first, width, &feature))
                out[feature] = rows->data->value[k];
        }
    }
}

void gw__embedding_forward(const struct gw__vocabulary *vocabulary,
                           const struct gw__rows *rows, const float *table,
                           float *y)
{
    size_t width = vocabulary->width;
    memset(y, 0, rows->count * width * sizeof *y);
    for (size_t i = 0; i < rows->count; i++, y += width) {
        size_t begin = 0, count = entries(rows, i, &begin);
        for (size_t k = begin; k < begin + count; k++) {
            size_t word;
            if (!feature_offset(rows, k, vocabulary->first, vocabulary->count,
                                &word))
                continue;
            float value = rows->data->value[k];
            for (size_t j = 0; j < width; j++)
                y[j] += value * table[word * width + j];
        }
    }
}

void gw__embedding_weight(const struct gw__vocabulary *vocabulary,
                          const struct gw__rows *rows, const float *dy,
                          float *dtable)
{
    size_t width = vocabulary->width;
    for (size_t i = 0; i < rows->count; i++, dy += width) {
        size_t begin = 0, count = entries(rows, i, &begin);
        for (size_t k = begin; k < begin + count; k++) {
            size_t word;
            if (!feature_offset(rows, k, vocabulary->first, vocabulary->count,
                                &word))
                continue;
            float value = rows->data->value[k];
            for (size_t j = 0; j < width; j++)
                dtable[word * width + j] += value * dy[j];
        }
    }
}
