/* SPDX-License-Identifier: MIT
 *
 * The store's internals:
 *
 *   store.c         creation, updates, reads
 *   store_memory.c  memory for the arena of rows and the keys
 *   store_relaxed.c concurrent updates and reads
 *   store_parallel.c updates and reads by several threads
 *   store_find.c    lookup of places by key
 *   store_save.c    bytes and digest
 *
 *     index    [ . | 2 | . | 0 | 1 | . ]    tag and place, by the key's hash
 *     keys     [ k0  k1  k2 ]               by place
 *     blocks   [ r0  r1 ][ r2  ..  .. ]     by place; each twice the previous
 *
 * Place p has number p + 2^shift. Block b has the numbers from 2^(b + shift) to
 * 2^(b + shift + 1) - 1, so the number's highest bit gives the block. A dense
 * table has one block, of exactly its rows, and neither keys nor index.
 */
#ifndef GW__PS_STORE_PARTS_H
#define GW__PS_STORE_PARTS_H

#include "store.h"
#include "update_parts.h"

enum { GW__STORE_BLOCKS = 33 };

struct gw__store {
    struct gw__updater updater;
    size_t width, stride; /* in floats: a row's values; a whole row */
    uint32_t rows;
    bool dense;
    uint64_t first; /* a dense table's key at place 0 */

    unsigned shift, block_count;
    float *blocks[GW__STORE_BLOCKS];

    uint64_t *keys;
    size_t keys_room;

    uint32_t *index; /* 2^index_bits entries; NULL: none yet */
    /* entry: tag in the upper bits, 1 + place below; 0: free */
    unsigned index_bits;
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

/* The number of rows that are contiguous in memory from `place` on, including
 * unused ones. */
static inline size_t gw__store_adjacent(const struct gw__store *store,
                                        uint32_t place)
{
    uint64_t number = gw__store_number(store, place);
    unsigned block = gw__store_block(store, number);
    return (size_t)(((uint64_t)2 << (block + store->shift)) - number);
}

/* The number of consecutive `places` whose rows are contiguous in memory. */
static inline size_t gw__store_run(const struct gw__store *store,
                                   const uint32_t *places, size_t count)
{
    size_t most = gw__store_adjacent(store, places[0]), n = 1;
    most = most < count ? most : count;
    while (n < most && places[n] == places[0] + n)
        n++;
    return n;
}

/* Zeroed memory; large sizes are mapped in huge pages. NULL: out of memory. */
void *gw__store_memory_new(size_t bytes);
void gw__store_memory_free(void *memory, size_t bytes);

/* Allocates blocks for all places below `rows`. False: out of memory; nothing
 * has changed. */
GW_MUST_CHECK bool gw__store_blocks_reserve(struct gw__store *store,
                                            size_t rows);
GW_MUST_CHECK bool gw__store_keys_reserve(struct gw__store *store, size_t rows);
GW_MUST_CHECK bool gw__store_index_reserve(struct gw__store *store,
                                           size_t rows);
/* Removes keys that were inserted but whose rows are still unwritten. */
void gw__store_forget(struct gw__store *store);
/* Frees all memory. */
void gw__store_fini(struct gw__store *store);

/* Finds the key's place, or gives it the next free one (true), for which there
 * must be room. A new row is zeroed. */
bool gw__store_insert(struct gw__store *store, uint64_t key, uint32_t *place);

/* ---- saved format ---- */

/* Followed by the keys (not for a dense table), then the rows with
 * their state. */
struct gw__store_head {
    char magic[4];
    uint32_t updater, width, stride;
    uint64_t first;
    uint32_t dense, rows;
    uint64_t sum; /* of all bytes, computed with 0 here */
};

/* Writes the checksum of `bytes` bytes into the head. */
void gw__store_seal(void *data, size_t bytes);

#endif
