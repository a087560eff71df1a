/* SPDX-License-Identifier: MIT
 *
 * Memory for rows and keys. Each block of rows is twice as large as the
 * previous one, so there are few, and the highest bit of a place gives its
 * block. Blocks are never moved or copied, and the kernel allocates their
 * unused pages lazily.
 */
#include "store_parts.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Larger allocations are mapped directly from the kernel. */
enum { MAPPED_BYTES = 256 << 10, HUGE_BYTES = 4 << 20 };

void *gw__store_memory_new(size_t bytes)
{
    if (bytes < MAPPED_BYTES)
        return calloc(1, bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    /* An error is harmless: the kernel has no huge pages. */
    if (bytes >= HUGE_BYTES)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void gw__store_memory_free(void *memory, size_t bytes)
{
    if (memory && bytes >= MAPPED_BYTES)
        munmap(memory, bytes);
    else
        free(memory);
}

static size_t block_bytes(const struct gw__store *store, unsigned block)
{
    size_t rows = (size_t)1 << (block + store->shift);
    if (store->dense)
        rows = store->rows;
    return rows * store->stride * sizeof(float);
}

bool gw__store_blocks_reserve(struct gw__store *store, size_t rows)
{
    if (rows == 0)
        return true;
    uint64_t last = ((uint64_t)1 << store->shift) + rows - 1;
    unsigned needed = gw__store_block(store, last) + 1;
    while (store->block_count < needed) {
        unsigned block = store->block_count;
        float *memory = gw__store_memory_new(block_bytes(store, block));
        if (!memory)
            return false;
        store->blocks[block] = memory;
        store->block_count++;
    }
    return true;
}

bool gw__store_keys_reserve(struct gw__store *store, size_t rows)
{
    if (rows <= store->keys_room)
        return true;
    size_t room = 2 * store->keys_room > rows ? 2 * store->keys_room : rows;
    uint64_t *keys = realloc(store->keys, room * sizeof *keys);
    if (!keys)
        return false;
    store->keys = keys;
    store->keys_room = room;
    return true;
}

void gw__store_fini(struct gw__store *store)
{
    for (unsigned block = 0; block < store->block_count; block++)
        gw__store_memory_free(store->blocks[block], block_bytes(store, block));
    gw__store_memory_free(store->index,
                          sizeof *store->index << store->index_bits);
    free(store->keys);
}
