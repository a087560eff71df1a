/* SPDX-License-Identifier: MIT
 *
 * Copies rows from one order into another; `order` has the row numbers of the
 * unordered side. Rows of one value are copied one by one, and the scattered
 * side is prefetched.
 */
#include "worker_parts.h"

#include <string.h>

enum { AHEAD = 24 };

static const float half_max = 65504;

static void gather_one(float *restrict out, const float *restrict rows,
                       const uint32_t *restrict order, size_t count)
{
    size_t i = 0;
    for (; i + AHEAD < count; i++) {
        __builtin_prefetch(&rows[order[i + AHEAD]], 0);
        out[i] = rows[order[i]];
    }
    for (; i < count; i++)
        out[i] = rows[order[i]];
}

static void scatter_one(float *restrict rows, const uint32_t *restrict order,
                        size_t count, const float *restrict in)
{
    size_t i = 0;
    for (; i + AHEAD < count; i++) {
        __builtin_prefetch(&rows[order[i + AHEAD]], 1);
        rows[order[i]] = in[i];
    }
    for (; i < count; i++)
        rows[order[i]] = in[i];
}

void gw__rows_gather(float *out, const float *rows, const uint32_t *order,
                     size_t count, uint32_t width)
{
    if (width == 1) {
        gather_one(out, rows, order, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * width, rows + (size_t)order[i] * width,
               width * sizeof *out);
}

void gw__rows_scatter(float *rows, const uint32_t *order, size_t count,
                      uint32_t width, const float *in)
{
    if (width == 1) {
        scatter_one(rows, order, count, in);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(rows + (size_t)order[i] * width, in + i * width,
               width * sizeof *in);
}

size_t gw__first_large(const float *values, size_t count)
{
    enum { BLOCK = 256 };
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t end = first + BLOCK < count ? first + BLOCK : count;
        unsigned large = 0;
        for (size_t i = first; i < end; i++)
            large |= values[i] > half_max || values[i] < -half_max;
        for (size_t i = first; large && i < end; i++)
            if (values[i] > half_max || values[i] < -half_max)
                return i;
    }
    return count;
}
