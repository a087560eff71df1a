/* SPDX-License-Identifier: MIT
 *
 * The event pools of queue.h. An event of n bytes comes from the pool of the
 * next power of two. An empty pool is filled from an arena, one block of memory
 * divided into equal events. Arenas are freed with the queue. The heap grows
 * here, too, with the number of events in use, so gw__queue_add cannot fail.
 */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct gw__arena {
    struct gw__arena *next;
    _Alignas(16) unsigned char bytes[];
};

enum { ARENA_BYTES = 32 * 1024 };

static size_t pool_bytes(unsigned pool)
{
    return (size_t)GW__POOL_SMALLEST << pool;
}

/* The first four arenas are small, so that many small runs stay cheap. */
static bool add_arena(struct gw__queue *queue, unsigned pool)
{
    size_t event_bytes = pool_bytes(pool);
    size_t whole = queue->arena_count < 4 ? ARENA_BYTES : 8 * ARENA_BYTES;
    size_t event_count = event_bytes < whole ? whole / event_bytes : 1;
    struct gw__arena *arena = malloc(sizeof *arena + event_count * event_bytes);
    if (!arena)
        return false;
    arena->next = queue->arenas;
    queue->arenas = arena;
    queue->arena_count++;
    for (size_t i = 0; i < event_count; i++) {
        struct gw__event *event = (void *)(arena->bytes + i * event_bytes);
        event->next = queue->pools[pool];
        queue->pools[pool] = event;
    }
    return true;
}

static bool grow_heap(struct gw__queue *queue)
{
    if (queue->in_use < queue->capacity)
        return true;
    size_t larger = queue->capacity ? 2 * queue->capacity : 256;
    struct gw__queue_slot *moved = realloc(queue->heap, larger * sizeof *moved);
    if (!moved)
        return false;
    queue->heap = moved;
    queue->capacity = larger;
    return true;
}

struct gw__event *gw__queue_acquire(struct gw__queue *queue, size_t bytes)
{
    unsigned pool = 0;
    while (pool_bytes(pool) < sizeof(struct gw__event) + bytes)
        pool++;
    assert(pool < GW__POOLS);
    if (queue->in_use >= queue->most || !grow_heap(queue) ||
        (!queue->pools[pool] && !add_arena(queue, pool)))
        return NULL;
    struct gw__event *event = queue->pools[pool];
    queue->pools[pool] = event->next;
    queue->in_use++;
    *event = (struct gw__event){
        .place = GW__NOT_QUEUED,
        .bytes = (uint32_t)bytes,
        .pool = (uint8_t)pool,
    };
    return event;
}

void gw__queue_release(struct gw__queue *queue, struct gw__event *event)
{
    assert(event->place == GW__NOT_QUEUED && queue->in_use > 0);
    event->next = queue->pools[event->pool];
    queue->pools[event->pool] = event;
    queue->in_use--;
}

void gw__queue_fini(struct gw__queue *queue)
{
    while (queue->arenas) {
        struct gw__arena *arena = queue->arenas;
        queue->arenas = arena->next;
        free(arena);
    }
    free(queue->heap);
    *queue = (struct gw__queue){0};
}
