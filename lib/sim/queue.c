/* SPDX-License-Identifier: MIT
 *
 * The heap of queue.h. Each move of a slot updates the position in its event.
 */
#include "queue.h"

#include <assert.h>

#define HEAP_SLOT struct gw__queue_slot
#define HEAP_EARLIER(a, b)                                                     \
    ((a)->time_ns != (b)->time_ns ? (a)->time_ns < (b)->time_ns                \
                                  : (a)->order < (b)->order)
#define HEAP_MOVED(slots, at, places)                                          \
    ((void)(places), (slots)[at].event->place = (uint32_t)(at))
#include "base/heap.h"

void gw__queue_add(struct gw__queue *queue, struct gw__event *event,
                   uint64_t time_ns)
{
    assert(event->place == GW__NOT_QUEUED);
    assert(queue->count < queue->capacity);
    struct gw__queue_slot slot = {time_ns, queue->order++, event};
    queue->count++;
    heap_fill(queue->heap, queue->count, queue->count - 1, slot, NULL);
}

void gw__queue_remove(struct gw__queue *queue, struct gw__event *event)
{
    size_t hole = event->place;
    assert(hole < queue->count && queue->heap[hole].event == event);
    queue->count--;
    heap_fill(queue->heap, queue->count, hole, queue->heap[queue->count], NULL);
    event->place = GW__NOT_QUEUED;
}

struct gw__event *gw__queue_pop(struct gw__queue *queue, uint64_t *time_ns)
{
    if (queue->count == 0)
        return NULL;
    struct gw__event *event = queue->heap[0].event;
    *time_ns = queue->heap[0].time_ns;
    gw__queue_remove(queue, event);
    return event;
}

uint64_t gw__queue_next_ns(const struct gw__queue *queue)
{
    return queue->count ? queue->heap[0].time_ns : UINT64_MAX;
}
