/* SPDX-License-Identifier: MIT
 *
 * Lookup of places by key. The index is an open-addressing table with linear
 * probing (Knuth, volume 3, 6.4, algorithm L) of 32-bit entries. At most three
 * of four entries are used, so in a table of 2^b entries a place needs less
 * than b bits. The other bits are a tag from the key's hash, so that most wrong
 * entries are skipped without reading their key.
 *
 * The main cost is memory latency, twice per key: for the entry and for the key
 * at its place. So keys are processed in batches: hash and prefetch all
 * entries, then read all entries and prefetch the keys, then compare. Even
 * before that, the lookup guesses: sorted lists that repeat occupy runs of
 * places, so the next key is probably at the next place.
 */
#include "store_parts.h"

#include <inttypes.h>
#include <string.h>

enum { BATCH = 32, AHEAD = 16, BITS_MIN = 4, BITS_MAX = 31 };

/* Differs from the hash that distributes keys over slots: the keys of one slot
 * have similar values of that hash. */
static uint64_t hash_key(uint64_t key)
{
    uint64_t h = (key ^ key >> 32) * 0xd6e8feb86659fd93U;
    return (h ^ h >> 32) * 0xff51afd7ed558ccdU;
}

static size_t home(const struct gw__store *store, uint64_t hash)
{
    return (size_t)(hash >> (64 - store->index_bits));
}

static uint32_t place_mask(const struct gw__store *store)
{
    return ((uint32_t)1 << store->index_bits) - 1;
}

static bool tag_fits(const struct gw__store *store, uint32_t entry,
                     uint64_t hash)
{
    return ((entry ^ (uint32_t)hash) & ~place_mask(store)) == 0;
}

/* The next entry from `at` that is free or has the hash's tag. */
static size_t probe(const struct gw__store *store, uint64_t hash, size_t at)
{
    const size_t mask = place_mask(store);
    at &= mask;
    while (store->index[at] && !tag_fits(store, store->index[at], hash))
        at = (at + 1) & mask;
    return at;
}

static uint32_t place_at(const struct gw__store *store, size_t at)
{
    return (store->index[at] & place_mask(store)) - 1;
}

static uint32_t find_key(const struct gw__store *store, uint64_t key,
                         uint64_t hash, size_t *at)
{
    *at = probe(store, hash, home(store, hash));
    while (store->index[*at]) {
        uint32_t place = place_at(store, *at);
        if (store->keys[place] == key)
            return place;
        *at = probe(store, hash, *at + 1);
    }
    return GW__NO_PLACE;
}

/* ---- growing ---- */

static void write_entry(struct gw__store *store, uint64_t hash, size_t at,
                        uint32_t place)
{
    uint32_t tag = (uint32_t)hash & ~place_mask(store);
    store->index[at] = tag | (place + 1);
}

/* Keys are distinct, so the first free entry is correct. */
static void index_all(struct gw__store *store)
{
    const size_t mask = place_mask(store);
    for (uint32_t place = 0; place < store->rows; place++) {
        if (place + AHEAD < store->rows)
            __builtin_prefetch(
                &store
                     ->index[home(store, hash_key(store->keys[place + AHEAD]))],
                1);
        uint64_t hash = hash_key(store->keys[place]);
        size_t at = home(store, hash);
        while (store->index[at])
            at = (at + 1) & mask;
        write_entry(store, hash, at, place);
    }
}

bool gw__store_index_reserve(struct gw__store *store, size_t rows)
{
    unsigned bits = store->index ? store->index_bits : BITS_MIN;
    while (bits <= BITS_MAX && rows > ((size_t)3 << bits) / 4)
        bits++;
    if (bits > BITS_MAX)
        return false;
    if (store->index && bits == store->index_bits)
        return true;
    uint32_t *index = gw__store_memory_new(sizeof *index << bits);
    if (!index)
        return false;
    gw__store_memory_free(store->index,
                          sizeof *store->index << store->index_bits);
    store->index = index;
    store->index_bits = bits;
    index_all(store);
    return true;
}

bool gw__store_insert(struct gw__store *store, uint64_t key, uint32_t *place)
{
    size_t at;
    uint64_t hash = hash_key(key);
    *place = find_key(store, key, hash, &at);
    if (*place != GW__NO_PLACE)
        return false;
    *place = store->rows++;
    store->keys[*place] = key;
    write_entry(store, hash, at, *place);
    return true;
}

void gw__store_forget(struct gw__store *store)
{
    memset(store->index, 0, sizeof *store->index << store->index_bits);
    store->rows = 0;
}

/* ---- finding ---- */

/* Counts the keys that match the places from `from` on, in order. */
static size_t count_in_order(const struct gw__store *store,
                             const uint64_t *keys, size_t count, uint32_t from,
                             uint32_t *places)
{
    size_t n = 0;
    for (uint32_t place = from;
         n < count && place < store->rows && store->keys[place] == keys[n];
         place++)
        places[n++] = place;
    return n;
}

static void find_batch(const struct gw__store *store, const uint64_t *keys,
                       size_t count, uint32_t *places)
{
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_key(keys[i]);
        __builtin_prefetch(&store->index[home(store, hashes[i])]);
    }
    for (size_t i = 0; i < count; i++) {
        places[i] =
            place_at(store, probe(store, hashes[i], home(store, hashes[i])));
        if (places[i] != GW__NO_PLACE)
            __builtin_prefetch(&store->keys[places[i]]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at;
        if (places[i] != GW__NO_PLACE && store->keys[places[i]] != keys[i])
            places[i] = find_key(store, keys[i], hashes[i], &at);
    }
}

/* Returns the number of keys without a place. The first guess, and the guess
 * after a missing key, is place 0, since GW__NO_PLACE + 1 is 0. */
static size_t find_present(const struct gw__store *store, const uint64_t *keys,
                           size_t count, uint32_t *places)
{
    size_t missing = 0;
    for (size_t i = 0, n; i < count; i += n) {
        uint32_t last = i > 0 ? places[i - 1] : GW__NO_PLACE;
        i += count_in_order(store, keys + i, count - i, last + 1, places + i);
        n = count - i < BATCH ? count - i : BATCH;
        find_batch(store, keys + i, n, places + i);
        for (size_t k = 0; k < n; k++)
            missing += places[i + k] == GW__NO_PLACE;
    }
    return missing;
}

static void make_missing(struct gw__store *store, const uint64_t *keys,
                         size_t count, uint32_t *places)
{
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count && places[i + AHEAD] == GW__NO_PLACE)
            __builtin_prefetch(
                &store->index[home(store, hash_key(keys[i + AHEAD]))], 1);
        if (places[i] == GW__NO_PLACE &&
            gw__store_insert(store, keys[i], &places[i]) &&
            store->updater.config.init_range > 0)
            gw__updater_begin(&store->updater, keys[i],
                              gw__store_at(store, places[i]));
    }
}

static enum gw_err find_dense(const struct gw__store *store,
                              const uint64_t *keys, size_t count,
                              uint32_t *places, struct gw_error *why)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t place = keys[i] - store->first;
        if (place >= store->rows)
            return gw_fail(why, GW_EDATA,
                           "table \"%s\": key %" PRIu64
                           "; this server has the keys %" PRIu64 " to %" PRIu64,
                           store->updater.config.name, keys[i], store->first,
                           store->first + store->rows - 1);
        places[i] = (uint32_t)place;
    }
    return GW_OK;
}

enum gw_err gw__store_find(struct gw__store *store, const uint64_t *keys,
                           size_t count, bool make, uint32_t *places,
                           struct gw_error *why)
{
    if (store->dense)
        return find_dense(store, keys, count, places, why);
    size_t missing = find_present(store, keys, count, places);
    if (missing == 0 || !make)
        return GW_OK;
    size_t rows = store->rows + missing;
    if (!gw__store_index_reserve(store, rows) ||
        !gw__store_keys_reserve(store, rows) ||
        !gw__store_blocks_reserve(store, rows))
        return gw_fail(why, GW_ENOMEM,
                       "table \"%s\": %zu more rows than the limit of %u",
                       store->updater.config.name, missing, store->rows);
    make_missing(store, keys, count, places);
    return GW_OK;
}
