/* SPDX-License-Identifier: MIT
 *
 * One push of all keys: the updates are sorted by key, and the rows of one key are
 * added up.
 */
#include "tricks.h"

#include <stdlib.h>

struct update {
    uint64_t key;
    size_t place;
};

static int by_key(const void *a, const void *b)
{
    const struct update *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Returns the number of different keys. */
static size_t add_up(const struct update *sorted, size_t count, unsigned width,
                     const float *rows, uint64_t *keys, float *sums)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (found == 0 || keys[found - 1] != sorted[i].key)
            keys[found++] = sorted[i].key;
        for (unsigned k = 0; k < width; k++)
            sums[(found - 1) * width + k] += rows[sorted[i].place * width + k];
    }
    return found;
}

enum gw_err push_all(struct gw_ps *ps, unsigned table, unsigned width,
                     size_t count, const uint64_t *keys, const float *rows,
                     struct gw_error *why)
{
    struct update *sorted = malloc(count * sizeof *sorted);
    uint64_t *own = malloc(count * sizeof *own);
    float *sums = calloc(count * width, sizeof *sums);
    enum gw_err err;
    if (sorted && own && sums) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = (struct update){keys[i], i};
        qsort(sorted, count, sizeof *sorted, by_key);
        size_t found = add_up(sorted, count, width, rows, own, sums);
        err = gw_ps_push(ps, table, own, found, sums, NULL, why);
    } else {
        err = gw_fail(why, GW_ENOMEM, "%zu updates", count);
    }
    free(sorted);
    free(own);
    free(sums);
    return err;
}
