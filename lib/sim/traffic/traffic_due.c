/* SPDX-License-Identifier: MIT
 *
 * A heap of numbered entries, by time and then number, so that a run is
 * deterministic. The numbers are dense: a table has the position of each entry.
 */
#include "traffic.h"

#include <assert.h>

#define HEAP_SLOT struct gw__heap_slot
#define HEAP_EARLIER(a, b)                                                     \
    ((a)->time_ps != (b)->time_ps ? (a)->time_ps < (b)->time_ps                \
                                  : (a)->thing < (b)->thing)
#define HEAP_MOVED(slots, at, places)                                          \
    (((uint32_t *)(places))[(slots)[at].thing] = (uint32_t)(at) + 1)
#include "base/heap.h"

void gw__heap_put(struct gw__heap *heap, uint32_t thing, uint64_t time_ps)
{
    if (heap->place[thing] == 0)
        heap->place[thing] = ++heap->count;
    heap_fill(heap->slots, heap->count, heap->place[thing] - 1,
              (struct gw__heap_slot){time_ps, thing}, heap->place);
}

uint32_t gw__heap_pop(struct gw__heap *heap)
{
    assert(heap->count > 0);
    uint32_t first = heap->slots[0].thing;
    heap->count--;
    heap_fill(heap->slots, heap->count, 0, heap->slots[heap->count],
              heap->place);
    heap->place[first] = 0;
    return first;
}
