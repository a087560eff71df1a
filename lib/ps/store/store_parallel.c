/* SPDX-License-Identifier: MIT
 *
 * Updates and reads by several threads; see store_parallel.h.
 */
#include "store_parallel.h"

#include "store_parts.h"

struct row_split {
    struct gw__store *store;
    const struct gw__store *read; /* for reads: from this store */
    const uint64_t *keys;
    const uint32_t *places;
    const float *gradients;
    float *values;
    float scale;
    bool relaxed;
    size_t count, chunk_rows; /* total rows; rows per piece */
};

static size_t chunk_begin(const struct row_split *split, unsigned chunk)
{
    size_t begin = chunk * split->chunk_rows;
    return begin < split->count ? begin : split->count;
}

static bool is_large(const struct gw__thread_pool *pool,
                     const struct gw__store *store, size_t count)
{
    return pool && count > 1 &&
           count * store->width >= GW__STORE_PARALLEL_FLOATS;
}

static size_t rows_per_chunk(const struct gw__thread_pool *pool, size_t count)
{
    unsigned threads = gw__thread_pool_threads(pool);
    return (count + threads - 1) / threads;
}

static void update_chunk(void *context, unsigned chunk)
{
    const struct row_split *split = context;
    size_t begin = chunk_begin(split, chunk),
           end = chunk_begin(split, chunk + 1);
    gw__store_update(split->store, split->places + begin, end - begin,
                     split->gradients + begin * split->store->width,
                     split->scale);
}

void gw__store_update_parallel(struct gw__thread_pool *pool,
                               struct gw__store *store, const uint32_t *places,
                               size_t count, const float *gradients,
                               float scale)
{
    if (!is_large(pool, store, count)) {
        gw__store_update(store, places, count, gradients, scale);
        return;
    }
    struct row_split split = {.store = store,
                              .places = places,
                              .gradients = gradients,
                              .scale = scale,
                              .count = count,
                              .chunk_rows = rows_per_chunk(pool, count)};
    gw__thread_pool_run(pool, gw__thread_pool_threads(pool), update_chunk,
                        &split);
}

static void read_chunk(void *context, unsigned chunk)
{
    const struct row_split *split = context;
    size_t begin = chunk_begin(split, chunk),
           end = chunk_begin(split, chunk + 1);
    float *out = split->values + begin * split->read->width;
    if (split->relaxed)
        gw__store_read_relaxed(split->read, split->keys + begin,
                               split->places + begin, end - begin, out);
    else
        gw__store_read(split->read, split->keys + begin, split->places + begin,
                       end - begin, out);
}

void gw__store_read_parallel(struct gw__thread_pool *pool,
                             const struct gw__store *store,
                             const uint64_t *keys, const uint32_t *places,
                             size_t count, bool relaxed, float *values)
{
    struct row_split split = {.read = store,
                              .keys = keys,
                              .places = places,
                              .values = values,
                              .relaxed = relaxed,
                              .count = count,
                              .chunk_rows = count};
    if (!is_large(pool, store, count)) {
        read_chunk(&split, 0);
        return;
    }
    split.chunk_rows = rows_per_chunk(pool, count);
    gw__thread_pool_run(pool, gw__thread_pool_threads(pool), read_chunk,
                        &split);
}
