/* SPDX-License-Identifier: MIT
 *
 * Buffers for repeated short use: an operator's gathered parameters, or a
 * gradient before its reduction. Creating memory that peers can map costs
 * system calls, so returned buffers are kept. If no idle buffer is large
 * enough, one of them is freed before another is allocated. Hence the pool
 * never has more buffers than were lent at the same time.
 */
#include "shards_parts.h"

#include <assert.h>
#include <stdlib.h>

enum gw_err gw__shard_pool_init(struct gw__shard_pool *pool,
                                unsigned buffers_max, struct gw_error *why)
{
    *pool = (struct gw__shard_pool){.room = buffers_max};
    pool->buffers = calloc((size_t)buffers_max + 1, sizeof *pool->buffers);
    return pool->buffers
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "a pool of %u buffers", buffers_max);
}

static void drop_buffer(struct gw__shard_pool *pool, unsigned i)
{
    gw_free(pool->buffers[i].floats);
    pool->held_bytes -= pool->buffers[i].bytes;
    pool->buffers[i] = pool->buffers[--pool->count];
}

void gw__shard_pool_fini(struct gw__shard_pool *pool)
{
    while (pool->count)
        drop_buffer(pool, pool->count - 1);
    free(pool->buffers);
    pool->buffers = NULL;
}

/* The smallest idle buffer of at least `bytes`; without one the largest idle
 * buffer, or NULL. */
static struct gw__shard_buffer *find_idle(struct gw__shard_pool *pool,
                                          size_t bytes)
{
    struct gw__shard_buffer *best = NULL;
    for (unsigned i = 0; i < pool->count; i++) {
        struct gw__shard_buffer *b = &pool->buffers[i];
        if (b->in_use)
            continue;
        bool fits = b->bytes >= bytes;
        bool best_fits = best && best->bytes >= bytes;
        if (!best || (fits && !best_fits) ||
            (fits == best_fits && (b->bytes < best->bytes) == fits))
            best = b;
    }
    return best;
}

float *gw__shard_pool_acquire(struct gw__shard_pool *pool, size_t bytes,
                              struct gw_error *why)
{
    struct gw__shard_buffer *found = find_idle(pool, bytes);
    if (found && found->bytes >= bytes) {
        found->in_use = true;
        return found->floats;
    }
    if (found)
        drop_buffer(pool, (unsigned)(found - pool->buffers));
    assert(pool->count < pool->room);
    float *floats = gw_alloc(bytes, why);
    if (!floats)
        return NULL;
    pool->buffers[pool->count++] = (struct gw__shard_buffer){
        .floats = floats, .bytes = bytes, .in_use = true};
    pool->held_bytes += bytes;
    if (pool->held_bytes > pool->most_bytes)
        pool->most_bytes = pool->held_bytes;
    return floats;
}

void gw__shard_pool_release(struct gw__shard_pool *pool, const float *floats)
{
    for (unsigned i = 0; i < pool->count; i++)
        if (pool->buffers[i].floats == floats)
            pool->buffers[i].in_use = false;
}

void gw__shard_pool_trim(struct gw__shard_pool *pool)
{
    for (unsigned i = pool->count; i-- > 0;)
        if (!pool->buffers[i].in_use)
            drop_buffer(pool, i);
}
