/* SPDX-License-Identifier: MIT
 *
 * A store as bytes in the machine's byte order: a head with a checksum, the
 * keys (not for a dense table), and the rows with their state, in the order of
 * places. A copy has the same places, so cached places are valid for both.
 * Bytes with a wrong head or checksum are refused before any of them is used.
 */
#include "store_parts.h"

#include <string.h>

static const char MAGIC[4] = {'g', 'w', 'p', '1'};

/* ---- checksums ---- */

static uint64_t mix_hash(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9fb21c651e98df25U;
    return h ^ h >> 32;
}

/* Fast, and the same on all machines of one byte order. It detects accidents,
 * not attacks. */
static uint64_t sum_bytes(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t word;
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        h = mix_hash(h, word);
    }
    word = 0;
    memcpy(&word, at, bytes);
    return bytes ? mix_hash(mix_hash(h, word), bytes) : h;
}

static uint64_t key_at(const struct gw__store *store, uint32_t place)
{
    return store->dense ? store->first + place : store->keys[place];
}

/* The hashes of rows are added, so that their order does not matter. */
uint64_t gw__store_digest(const struct gw__store *store)
{
    uint64_t digest = 0;
    for (uint32_t place = 0; place < store->rows; place++) {
        uint64_t h = mix_hash(mix_hash(1, store->stride), key_at(store, place));
        h = sum_bytes(h, gw__store_at(store, place),
                      store->stride * sizeof(float));
        digest += mix_hash(h, 0);
    }
    return mix_hash(digest, store->rows);
}

/* ---- saving ---- */

static size_t keys_bytes(const struct gw__store *store, size_t rows)
{
    return store->dense ? 0 : rows * sizeof(uint64_t);
}

static size_t saved_bytes(const struct gw__store *store, size_t rows)
{
    return sizeof(struct gw__store_head) + keys_bytes(store, rows) +
           rows * store->stride * sizeof(float);
}

/* Copies all rows to (or from) `data`, in contiguous runs. */
static void copy_rows(const struct gw__store *store, unsigned char *to,
                      const unsigned char *from)
{
    size_t row_bytes = store->stride * sizeof(float);
    for (uint32_t place = 0; place < store->rows;) {
        size_t n = gw__store_adjacent(store, place);
        n = n < store->rows - place ? n : store->rows - place;
        float *rows = gw__store_at(store, place);
        if (to)
            memcpy(to + place * row_bytes, rows, n * row_bytes);
        else
            memcpy(rows, from + place * row_bytes, n * row_bytes);
        place += (uint32_t)n;
    }
}

static struct gw__store_head head_of(const struct gw__store *store,
                                     uint32_t rows)
{
    struct gw__store_head head = {
        .updater = store->updater.config.updater,
        .width = (uint32_t)store->width,
        .stride = (uint32_t)store->stride,
        .first = store->dense ? store->first : 0,
        .dense = store->dense ? store->rows : 0,
        .rows = rows,
    };
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    return head;
}

/* `data` begins with a head, whose checksum counts as 0. */
static uint64_t sum_saved(const void *data, size_t bytes)
{
    struct gw__store_head head;
    memcpy(&head, data, sizeof head);
    head.sum = 0;
    return sum_bytes(sum_bytes(1, &head, sizeof head),
                     (const unsigned char *)data + sizeof head,
                     bytes - sizeof head);
}

void gw__store_seal(void *data, size_t bytes)
{
    uint64_t sum = sum_saved(data, bytes);
    memcpy((unsigned char *)data + offsetof(struct gw__store_head, sum), &sum,
           sizeof sum);
}

size_t gw__store_save(const struct gw__store *store, void *out, size_t room)
{
    size_t bytes = saved_bytes(store, store->rows);
    if (bytes > room)
        return bytes;
    struct gw__store_head head = head_of(store, store->rows);
    unsigned char *body = (unsigned char *)out + sizeof head;
    size_t keys = keys_bytes(store, store->rows);
    if (keys)
        memcpy(body, store->keys, keys);
    copy_rows(store, body + keys, NULL);
    memcpy(out, &head, sizeof head);
    gw__store_seal(out, bytes);
    return bytes;
}

/* ---- loading ---- */

static enum gw_err check_saved(const struct gw__store *store, const void *data,
                               size_t bytes, struct gw__store_head *head,
                               struct gw_error *why)
{
    const char *name = store->updater.config.name;
    if (bytes < sizeof *head)
        return gw_fail(why, GW_EDATA, "table \"%s\": %zu bytes of saved rows",
                       name, bytes);
    memcpy(head, data, sizeof *head);
    struct gw__store_head mine = head_of(store, head->rows);
    mine.sum = head->sum;
    if (memcmp(head, &mine, sizeof mine) != 0)
        return gw_fail(why, GW_EDATA,
                       "table \"%s\": the saved rows are of a different table",
                       name);
    if (store->dense && head->rows != store->rows)
        return gw_fail(why, GW_EDATA,
                       "table \"%s\": %u saved rows instead of %u", name,
                       head->rows, store->rows);
    if (bytes != saved_bytes(store, head->rows))
        return gw_fail(why, GW_EDATA,
                       "table \"%s\": %zu bytes of saved rows instead of %zu",
                       name, bytes, saved_bytes(store, head->rows));
    if (head->sum != sum_saved(data, bytes))
        return gw_fail(why, GW_EDATA,
                       "table \"%s\": the saved rows' checksum is wrong", name);
    return GW_OK;
}

/* Refuses duplicate keys. */
static bool insert_keys(struct gw__store *store, const unsigned char *keys,
                        uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t key;
        uint32_t place;
        memcpy(&key, keys + i * sizeof key, sizeof key);
        if (!gw__store_insert(store, key, &place))
            return false;
    }
    return true;
}

static enum gw_err load_keys(struct gw__store *store, const unsigned char *keys,
                             uint32_t rows, struct gw_error *why)
{
    const char *name = store->updater.config.name;
    if (!gw__store_index_reserve(store, rows) ||
        !gw__store_keys_reserve(store, rows) ||
        !gw__store_blocks_reserve(store, rows))
        return gw_fail(why, GW_ENOMEM, "table \"%s\": %u saved rows", name,
                       rows);
    if (insert_keys(store, keys, rows))
        return GW_OK;
    gw__store_forget(store);
    return gw_fail(why, GW_EDATA,
                   "table \"%s\": a key occurs twice in the saved rows", name);
}

enum gw_err gw__store_load(struct gw__store *store, const void *data,
                           size_t bytes, struct gw_error *why)
{
    struct gw__store_head head = {.rows = 0};
    if (!store->dense && store->rows > 0)
        return gw_fail(why, GW_EINVAL,
                       "table \"%s\" has rows already; restore saved rows into "
                       "a new table",
                       store->updater.config.name);
    enum gw_err err = check_saved(store, data, bytes, &head, why);
    if (err != GW_OK)
        return err;
    const unsigned char *body = (const unsigned char *)data + sizeof head;
    if (!store->dense)
        err = load_keys(store, body, head.rows, why);
    if (err == GW_OK)
        copy_rows(store, NULL, body + keys_bytes(store, head.rows));
    return err;
}
