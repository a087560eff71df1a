/* SPDX-License-Identifier: MIT
 *
 * The heap of queue.h. A slot moves up or down until its parent is earlier and
 * its children are later; each move tells the event its new place.
 */
#include "queue.h"

#include <assert.h>

static bool earlier(const struct gw__queue_slot *a,
                    const struct gw__queue_slot *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns
                                    : a->order < b->order;
}

static void put(struct gw__queue *queue, size_t place,
                struct gw__queue_slot slot)
{
    queue->heap[place] = slot;
    slot.event->place = (uint32_t)place;
}

/* Both find the place of `slot`, beginning at the hole `place`. */
static void sift_up(struct gw__queue *queue, size_t place,
                    struct gw__queue_slot slot)
{
    while (place > 0) {
        size_t parent = (place - 1) / 2;
        if (!earlier(&slot, &queue->heap[parent]))
            break;
        put(queue, place, queue->heap[parent]);
        place = parent;
    }
    put(queue, place, slot);
}

static void sift_down(struct gw__queue *queue, size_t place,
                      struct gw__queue_slot slot)
{
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count &&
            earlier(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!earlier(&queue->heap[child], &slot))
            break;
        put(queue, place, queue->heap[child]);
        place = child;
    }
    put(queue, place, slot);
}

void gw__queue_add(struct gw__queue *queue, struct gw__event *event,
                   uint64_t time_ns)
{
    assert(event->place == GW__NOT_QUEUED);
    assert(queue->count < queue->capacity);
    struct gw__queue_slot slot = {time_ns, queue->order++, event};
    sift_up(queue, queue->count++, slot);
}

void gw__queue_remove(struct gw__queue *queue, struct gw__event *event)
{
    size_t hole = event->place;
    assert(hole < queue->count && queue->heap[hole].event == event);
    event->place = GW__NOT_QUEUED;
    struct gw__queue_slot last = queue->heap[--queue->count];
    if (last.event == event)
        return;
    if (hole > 0 && earlier(&last, &queue->heap[(hole - 1) / 2]))
        sift_up(queue, hole, last);
    else
        sift_down(queue, hole, last);
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
