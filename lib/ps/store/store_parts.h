/* SPDX-License-Identifier: MIT
 *
 * Between the files of the store:
 *
 *   store.c        making one, updating, reading
 *   store_memory.c the arena of rows, the keys, and the memory under them
 *   store_relaxed.c updating and reading by several at once
 *   store_pool.c   updating and reading in pieces, by several threads
 *   store_find.c   from key to place
 *   store_save.c   bytes and digest
 *
 *     index    [ . | 2 | . | 0 | 1 | . ]    tag and place, by the key's hash
 *     keys     [ k0  k1  k2 ]               by place
 *     blocks   [ r0  r1 ][ r2  ..  .. ]     by place; each twice the one before
 *
 * Place p is at number p + 2^shift, and block b has the numbers from
 * 2^(b + shift) to twice that: the highest bit of the number says which block.
 * A dense table has one block, of exactly its rows, and neither keys nor index.
 */
#ifndef GW__PS_STORE_PARTS_H
#define GW__PS_STORE_PARTS_H

#include "store.h"
#include "update_parts.h"

enum { GW__STORE_BLOCKS = 33 };

struct gw__store {
    struct gw__updater updater;
    size_t width, stride; /* floats: of a row's values, of a row */
    uint32_t rows;
    bool dense;
    uint64_t first; /* key of a dense table's place 0 */

    unsigned shift, block_count;
    float *blocks[GW__STORE_BLOCKS];

    uint64_t *keys;
    size_t keys_room;

    uint32_t *index;     /* 2^index_bits entries; NULL: none yet */
    unsigned index_bits; /* entry: tag in the upper bits, 1 + place below;
                            0: free */
};

static inline uint64_t gw__store_number(const struct gw__store *store,
                                        uint32_t place)
{
    return ((uint64_t)1 << store->shift) + place;
}

static inline unsigned gw__store_block(const struct gw__store *store,
                                       uint64_t number)
{
    return 63U - (unsigned)__builtin_clzll(number) - store->shift;
}

static inline float *gw__store_at(const struct gw__store *store, uint32_t place)
{
    uint64_t number = gw__store_number(store, place);
    unsigned block = gw__store_block(store, number);
    uint64_t begin = (uint64_t)1 << (block + store->shift);
    return store->blocks[block] + (number - begin) * store->stride;
}

/* How many rows from `place` on lie one behind the other, or will. */
static inline size_t gw__store_adjacent(const struct gw__store *store,
                                        uint32_t place)
{
    uint64_t number = gw__store_number(store, place);
    unsigned block = gw__store_block(store, number);
    return (size_t)(((uint64_t)2 << (block + store->shift)) - number);
}

/* How many of `places` are one behind the other, in value and in memory. */
static inline size_t gw__store_run(const struct gw__store *store,
                                   const uint32_t *places, size_t count)
{
    size_t most = gw__store_adjacent(store, places[0]), n = 1;
    most = most < count ? most : count;
    while (n < most && places[n] == places[0] + n)
        n++;
    return n;
}

/* Zeroed; from the kernel, in huge pages, when it is much. NULL: none left. */
void *gw__store_memory_new(size_t bytes);
void gw__store_memory_free(void *memory, size_t bytes);

/* Blocks for places below `rows`; false: no memory, and nothing is lost. */
GW_MUST_CHECK bool gw__store_blocks_reserve(struct gw__store *store,
                                            size_t rows);
GW_MUST_CHECK bool gw__store_keys_reserve(struct gw__store *store, size_t rows);
GW_MUST_CHECK bool gw__store_index_reserve(struct gw__store *store,
                                           size_t rows);
/* Keys that were inserted, before anything was written to their rows. */
void gw__store_forget(struct gw__store *store);
/* Frees all of it. */
void gw__store_fini(struct gw__store *store);

/* The key's place; the next free one, for which there is room, when it is new
 * (true). The row is as memory gives it: zeros. */
bool gw__store_insert(struct gw__store *store, uint64_t key, uint32_t *place);

/* ---- saved bytes ---- */

/* Then the keys (none of a dense table), then the rows with their state. */
struct gw__store_head {
    char magic[4];
    uint32_t updater, width, stride;
    uint64_t first;
    uint32_t dense, rows;
    uint64_t sum; /* over all of it, with 0 here */
};

/* Puts the right checksum into `bytes` of them, at least a head. */
void gw__store_seal(void *data, size_t bytes);

#endif
