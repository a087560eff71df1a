/* SPDX-License-Identifier: MIT
 *
 * Updates and reads by several threads; see store_pool.h.
 */
#include "store_pool.h"

#include "store_parts.h"

struct share {
    struct gw__store *store;
    const struct gw__store *read; /* for reads: from this store */
    const uint64_t *keys;
    const uint32_t *places;
    const float *gradients;
    float *values;
    float scale;
    bool relaxed;
    size_t count, piece; /* total rows; rows per piece */
};

static size_t begin_of(const struct share *share, unsigned piece)
{
    size_t begin = piece * share->piece;
    return begin < share->count ? begin : share->count;
}

static bool is_large(const struct gw__thread_pool *pool,
                     const struct gw__store *store, size_t count)
{
    return pool && count > 1 && count * store->width >= GW__THREAD_POOL_FLOATS;
}

static size_t piece_of(const struct gw__thread_pool *pool, size_t count)
{
    unsigned hands = gw__thread_pool_hands(pool);
    return (count + hands - 1) / hands;
}

static void update_piece(void *context, unsigned piece)
{
    const struct share *share = context;
    size_t begin = begin_of(share, piece), end = begin_of(share, piece + 1);
    gw__store_update(share->store, share->places + begin, end - begin,
                     share->gradients + begin * share->store->width,
                     share->scale);
}

void gw__thread_pool_update(struct gw__thread_pool *pool,
                            struct gw__store *store, const uint32_t *places,
                            size_t count, const float *gradients, float scale)
{
    if (!is_large(pool, store, count)) {
        gw__store_update(store, places, count, gradients, scale);
        return;
    }
    struct share share = {.store = store,
                          .places = places,
                          .gradients = gradients,
                          .scale = scale,
                          .count = count,
                          .piece = piece_of(pool, count)};
    gw__thread_pool_run(pool, gw__thread_pool_hands(pool), update_piece,
                        &share);
}

static void read_piece(void *context, unsigned piece)
{
    const struct share *share = context;
    size_t begin = begin_of(share, piece), end = begin_of(share, piece + 1);
    float *out = share->values + begin * share->read->width;
    if (share->relaxed)
        gw__store_read_relaxed(share->read, share->keys + begin,
                               share->places + begin, end - begin, out);
    else
        gw__store_read(share->read, share->keys + begin, share->places + begin,
                       end - begin, out);
}

void gw__thread_pool_read(struct gw__thread_pool *pool,
                          const struct gw__store *store, const uint64_t *keys,
                          const uint32_t *places, size_t count, bool relaxed,
                          float *values)
{
    struct share share = {.read = store,
                          .keys = keys,
                          .places = places,
                          .values = values,
                          .relaxed = relaxed,
                          .count = count,
                          .piece = count};
    if (!is_large(pool, store, count)) {
        read_piece(&share, 0);
        return;
    }
    share.piece = piece_of(pool, count);
    gw__thread_pool_run(pool, gw__thread_pool_hands(pool), read_piece, &share);
}
