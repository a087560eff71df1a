/* SPDX-License-Identifier: MIT
 *
 * The event queue, by moments: if thousands of ranks do the same, thousands of
 * events have one time, and only the times are in a heap.
 */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#define HEAP_SLOT          struct gw__traffic_due
#define HEAP_EARLIER(a, b) ((a)->time_ps < (b)->time_ps) /* all times differ */
#include "base/heap.h"

static struct gw__traffic_moment *at(const struct gw__traffic_queue *q,
                                     uint32_t i)
{
    return (struct gw__traffic_moment *)q->moments.items + i;
}

static uint32_t *hash_bucket(const struct gw__traffic_queue *q,
                             uint64_t time_ps)
{
    uint64_t hash = time_ps * UINT64_C(0x9e3779b97f4a7c15);
    return &q->hashed[(size_t)(hash >> 32) & (q->hashed_room - 1)];
}

static uint32_t find_time(const struct gw__traffic_queue *q, uint64_t time_ps)
{
    if (q->hashed_room == 0)
        return GW__NOTHING;
    uint32_t i = *hash_bucket(q, time_ps);
    while (i != GW__NOTHING && at(q, i)->time_ps != time_ps)
        i = at(q, i)->next;
    return i;
}

static bool widen_hash(struct gw__traffic_queue *q)
{
    size_t room = q->hashed_room ? 2 * q->hashed_room : 1024;
    uint32_t *wider = malloc(room * sizeof *wider);
    if (!wider)
        return false;
    memset(wider, 0xff, room * sizeof *wider);
    free(q->hashed);
    q->hashed = wider;
    q->hashed_room = room;
    const struct gw__traffic_due *heap = q->heap.items;
    for (size_t i = 0; i < q->heap.count; i++) {
        uint32_t *place = hash_bucket(q, heap[i].time_ps);
        at(q, heap[i].number)->next = *place;
        *place = heap[i].number;
    }
    return true;
}

static bool push_heap(struct gw__traffic_queue *q, uint32_t number)
{
    struct gw__traffic_due due = {at(q, number)->time_ps, number};
    if (!gw__vector_push(&q->heap, sizeof due))
        return false;
    heap_fill(q->heap.items, q->heap.count, q->heap.count - 1, due, NULL);
    return true;
}

static uint32_t pop_heap(struct gw__traffic_queue *q)
{
    struct gw__traffic_due *heap = q->heap.items;
    uint32_t first = heap[0].number;
    q->heap.count--;
    heap_fill(heap, q->heap.count, 0, heap[q->heap.count], NULL);
    return first;
}

static uint32_t new_moment(struct gw__traffic_queue *q, uint64_t time_ps)
{
    if (q->heap.count >= q->hashed_room && !widen_hash(q))
        return GW__NOTHING;
    uint32_t number = (uint32_t)q->moments.count;
    if (q->moments.count > q->heap.count) {
        number = q->unused;
        q->unused = at(q, number)->next;
    } else {
        struct gw__traffic_moment *made =
            gw__vector_push(&q->moments, sizeof *made);
        if (!made)
            return GW__NOTHING;
        *made = (struct gw__traffic_moment){0};
    }
    uint32_t *place = hash_bucket(q, time_ps);
    at(q, number)->time_ps = time_ps;
    at(q, number)->next = *place;
    *place = number;
    return push_heap(q, number) ? number : GW__NOTHING;
}

bool gw__traffic_queue_put(struct gw__traffic_queue *q, uint64_t time_ps,
                           uint32_t code)
{
    uint32_t number = q->last;
    if (q->heap.count == 0 || at(q, number)->time_ps != time_ps) {
        number = find_time(q, time_ps);
        if (number == GW__NOTHING)
            number = new_moment(q, time_ps);
        if (number == GW__NOTHING)
            return false;
        q->last = number;
    }
    uint32_t *place = gw__vector_push(&at(q, number)->codes, sizeof *place);
    if (place)
        *place = code;
    return place != NULL;
}

uint64_t gw__traffic_queue_next(const struct gw__traffic_queue *q)
{
    const struct gw__traffic_due *heap = q->heap.items;
    return q->heap.count > 0 ? heap[0].time_ps : UINT64_MAX;
}

void gw__traffic_queue_pop(struct gw__traffic_queue *q,
                           struct gw__vector *codes)
{
    uint32_t number = pop_heap(q);
    struct gw__traffic_moment *moment = at(q, number);
    uint32_t *place = hash_bucket(q, moment->time_ps);
    while (*place != number)
        place = &at(q, *place)->next;
    *place = moment->next;
    /* Swaps the two memories, so that both are used again. */
    struct gw__vector mine = moment->codes;
    moment->codes = *codes;
    moment->codes.count = 0;
    *codes = mine;
    moment->time_ps = UINT64_MAX;
    moment->next = q->unused;
    q->unused = number;
}

void gw__traffic_queue_fini(struct gw__traffic_queue *q)
{
    for (uint32_t i = 0; i < q->moments.count; i++)
        free(at(q, i)->codes.items);
    free(q->moments.items);
    free(q->heap.items);
    free(q->hashed);
}
