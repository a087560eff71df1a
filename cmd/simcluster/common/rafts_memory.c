/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See rafts_memory.h: chunks that are filled one after the other. Each piece
 * has its size before it, for realloc.
 */
#include "rafts_memory.h"

#include <raft.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 16, CHUNK_BYTES = 1 << 20 };

struct chunk {
    struct chunk *next;
    size_t room, used;
    _Alignas(HEAD) uint8_t bytes[];
};

static struct chunk *first, *current;

static size_t rounded(size_t bytes)
{
    return (bytes + HEAD - 1) / HEAD * HEAD;
}

static struct chunk *new_chunk(size_t least)
{
    size_t room = least > CHUNK_BYTES ? least : CHUNK_BYTES;
    struct chunk *chunk = malloc(sizeof *chunk + room);
    if (chunk)
        *chunk = (struct chunk){.room = room};
    return chunk;
}

/* Makes room in the current chunk; false: out of memory. */
static int reserve_bytes(size_t bytes)
{
    while (current && current->room - current->used < bytes && current->next)
        current = current->next;
    if (current && current->room - current->used >= bytes)
        return 1;
    struct chunk *chunk = new_chunk(bytes);
    if (!chunk)
        return 0;
    if (current)
        current->next = chunk;
    else
        first = chunk;
    current = chunk;
    return 1;
}

static void *arena_alloc(void *data, size_t bytes)
{
    (void)data;
    if (!reserve_bytes(HEAD + rounded(bytes)))
        return NULL;
    uint8_t *block = current->bytes + current->used;
    current->used += HEAD + rounded(bytes);
    memcpy(block, &bytes, sizeof bytes);
    return block + HEAD;
}

static void arena_free(void *data, void *block)
{
    (void)data;
    (void)block;
}

static void *allocate_zeroed(void *data, size_t count, size_t bytes)
{
    void *block = arena_alloc(data, count * bytes);
    if (block)
        memset(block, 0, count * bytes);
    return block;
}

static void *reallocate(void *data, void *old, size_t bytes)
{
    size_t had = 0;
    void *block = arena_alloc(data, bytes);
    if (old)
        memcpy(&had, (uint8_t *)old - HEAD, sizeof had);
    if (block && had)
        memcpy(block, old, had < bytes ? had : bytes);
    return block;
}

void rafts_memory_shrink(void *newest, size_t bytes)
{
    current->used =
        (size_t)((uint8_t *)newest - current->bytes) + rounded(bytes);
    memcpy((uint8_t *)newest - HEAD, &bytes, sizeof bytes);
}

void rafts_memory_begin(void)
{
    static struct raft_heap heap = {.malloc = arena_alloc,
                                    .free = arena_free,
                                    .calloc = allocate_zeroed,
                                    .realloc = reallocate};
    raft_heap_set(&heap);
}

void rafts_memory_reset(void)
{
    for (struct chunk *chunk = first; chunk; chunk = chunk->next)
        chunk->used = 0;
    current = first;
}

void rafts_memory_end(void)
{
    while (first) {
        struct chunk *next = first->next;
        free(first);
        first = next;
    }
    current = NULL;
    raft_heap_set_default();
}
