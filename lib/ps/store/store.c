/* SPDX-License-Identifier: MIT
 *
 * Creation of a store, and access to rows by place. Adjacent rows are handled
 * together; other rows are prefetched.
 */
#include "store_parts.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 8, FIRST_BLOCK_BYTES = 4096 };

/* ---- creation and destruction ---- */

/* A dense table has one block for all rows; the first block of a sparse table
 * is about one page. */
static unsigned choose_shift(const struct gw__store *store, uint32_t rows)
{
    size_t enough = store->dense
                        ? rows
                        : FIRST_BLOCK_BYTES / (store->stride * sizeof(float));
    unsigned shift = 0;
    while (((size_t)2 << shift) <= enough)
        shift++;
    if (store->dense && ((size_t)1 << shift) < enough)
        shift++;
    return shift;
}

static bool make_dense(struct gw__store *store, uint32_t rows)
{
    store->rows = rows;
    if (!gw__store_blocks_reserve(store, rows))
        return false;
    if (store->updater.config.init_range > 0)
        for (uint32_t place = 0; place < rows; place++)
            gw__updater_begin(&store->updater, store->first + place,
                              gw__store_at(store, place));
    return true;
}

enum gw_err gw__store_new(const struct gw__updater *updater, uint64_t first,
                          uint32_t rows, struct gw__store **store,
                          struct gw_error *why)
{
    const struct gw_ps_table_config *config = &updater->config;
    struct gw__store *made = malloc(sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "table \"%s\"", config->name);
    *made = (struct gw__store){
        .updater = *updater,
        .width = config->width,
        .stride = config->width + updater->state_floats,
        .dense = rows > 0,
        .first = first,
    };
    made->shift = choose_shift(made, rows);
    bool done =
        rows > 0 ? make_dense(made, rows) : gw__store_index_reserve(made, 0);
    if (!done) {
        gw__store_destroy(&made);
        return gw_fail(why, GW_ENOMEM, "table \"%s\": %u rows of %u floats",
                       config->name, rows, config->width);
    }
    *store = made;
    return GW_OK;
}

void gw__store_destroy(struct gw__store **store)
{
    if (!*store)
        return;
    gw__store_fini(*store);
    free(*store);
    *store = NULL;
}

const struct gw__updater *gw__store_updater(const struct gw__store *store)
{
    return &store->updater;
}

size_t gw__store_rows(const struct gw__store *store)
{
    return store->rows;
}

size_t gw__store_bytes(const struct gw__store *store)
{
    size_t bytes = sizeof *store + store->rows * store->stride * sizeof(float);
    if (store->dense)
        return bytes;
    return bytes + store->rows * sizeof *store->keys +
           (sizeof *store->index << store->index_bits);
}

float *gw__store_row(const struct gw__store *store, uint32_t place)
{
    return gw__store_at(store, place);
}

/* ---- rows at places ---- */

static void prefetch_row(const struct gw__store *store, const uint32_t *places,
                         size_t i, size_t count)
{
    if (i < count && places[i] != GW__NO_PLACE)
        __builtin_prefetch(gw__store_at(store, places[i]), 1);
}

void gw__store_update(struct gw__store *store, const uint32_t *places,
                      size_t count, const float *gradients, float scale)
{
    gw__update_kernel *kernel = gw__updater_kernel(&store->updater);
    struct gw__update_run run = {.updater = &store->updater, .scale = scale};
    for (size_t i = 0; i < count; i += run.count) {
        run.rows = gw__store_at(store, places[i]);
        run.gradients = gradients + i * store->width;
        run.count = gw__store_run(store, places + i, count - i);
        prefetch_row(store, places, i + run.count - 1 + AHEAD, count);
        kernel(&run);
    }
}

/* Inlines the most common widths. */
static void copy_values(float *out, const float *in, size_t width)
{
    if (width == 1)
        *out = *in;
    else
        memcpy(out, in, width * sizeof *out);
}

static void read_run(const struct gw__store *store, uint32_t place,
                     size_t count, float *values)
{
    const float *rows = gw__store_at(store, place);
    if (store->stride == store->width) {
        copy_values(values, rows, count * store->width);
        return;
    }
    for (size_t i = 0; i < count; i++)
        copy_values(values + i * store->width, rows + i * store->stride,
                    store->width);
}

void gw__store_read(const struct gw__store *store, const uint64_t *keys,
                    const uint32_t *places, size_t count, float *values)
{
    for (size_t i = 0, n; i < count; i += n) {
        float *out = values + i * store->width;
        if (places[i] == GW__NO_PLACE) {
            gw__updater_initial(&store->updater, keys[i], out);
            n = 1;
            continue;
        }
        n = gw__store_run(store, places + i, count - i);
        prefetch_row(store, places, i + n - 1 + AHEAD, count);
        read_run(store, places[i], n, out);
    }
}
