/* SPDX-License-Identifier: MIT
 *
 * A binary heap of things that happen. Things at the same time come in the
 * order of their numbers, so that a run is one sequence, whatever the heap does
 * inside. queue.h is another one: its events carry messages, these are only
 * numbers, millions of them.
 */
#include "traffic.h"

#include <assert.h>

static bool earlier(struct gw__heap_slot a, struct gw__heap_slot b)
{
    return a.time_ps != b.time_ps ? a.time_ps < b.time_ps : a.thing < b.thing;
}

static void set(struct gw__heap *heap, uint32_t at, struct gw__heap_slot slot)
{
    heap->slots[at] = slot;
    heap->place[slot.thing] = at + 1;
}

/* Both find the place of `slot`, beginning at the hole `at`. */
static void sift_up(struct gw__heap *heap, uint32_t at,
                    struct gw__heap_slot slot)
{
    while (at > 0 && earlier(slot, heap->slots[(at - 1) / 2])) {
        set(heap, at, heap->slots[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    set(heap, at, slot);
}

static void sift_down(struct gw__heap *heap, uint32_t at,
                      struct gw__heap_slot slot)
{
    for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count &&
            earlier(heap->slots[child + 1], heap->slots[child]))
            child++;
        if (!earlier(heap->slots[child], slot))
            break;
        set(heap, at, heap->slots[child]);
    }
    set(heap, at, slot);
}

void gw__heap_put(struct gw__heap *heap, uint32_t thing, uint64_t time_ps)
{
    struct gw__heap_slot slot = {time_ps, thing};
    uint32_t place = heap->place[thing];
    if (place == 0)
        sift_up(heap, heap->count++, slot);
    else if (earlier(slot, heap->slots[place - 1]))
        sift_up(heap, place - 1, slot);
    else
        sift_down(heap, place - 1, slot);
}

uint32_t gw__heap_pop(struct gw__heap *heap)
{
    assert(heap->count > 0);
    uint32_t first = heap->slots[0].thing;
    struct gw__heap_slot last = heap->slots[--heap->count];
    heap->place[first] = 0;
    if (heap->count > 0)
        sift_down(heap, 0, last);
    return first;
}
