/* SPDX-License-Identifier: MIT
 *
 * The one heap of gradwire, as a template: a file that keeps events in order
 * defines its slot and includes this. The earliest slot is slots[0]. Each node
 * has four children: half the levels of a binary heap, and siblings share a
 * cache line.
 *
 *   HEAP_SLOT             the type of a slot; slots move, so it is small
 *   HEAP_EARLIER(a, b)    whether *a comes before *b; best without branches
 *   HEAP_MOVED(slots, at, places)
 *                         a slot is now at slots[at] (optional; for items
 *                         that must be found again, to move or remove them)
 *
 * The array, its growth and `places` are the caller's:
 *
 *     add     heap_fill(slots, count + 1, count, slot, places), count++
 *     pop     first = slots[0], count--,
 *             heap_fill(slots, count, 0, slots[count], places)
 *     move    heap_fill(slots, count, at, slot, places)
 *
 * No include guard: each file that includes it gets functions of its own.
 */
#include <stddef.h>

#ifndef HEAP_MOVED
#define HEAP_MOVED(slots, at, places) ((void)(places))
#endif

enum { HEAP_ARITY = 4 };

/* The earlier one of two, without a branch, which would be unpredictable. */
static inline size_t heap_earlier(const HEAP_SLOT *slots, size_t a, size_t b)
{
    return a + (b - a) * (size_t)(HEAP_EARLIER(&slots[b], &slots[a]));
}

/* The earliest child of `at`; `count` or more: it has none. */
static inline size_t heap_first_child(const HEAP_SLOT *slots, size_t count,
                                      size_t at)
{
    size_t child = HEAP_ARITY * at + 1, first = child;
    if (child + HEAP_ARITY <= count)
        return heap_earlier(slots, heap_earlier(slots, child, child + 1),
                            heap_earlier(slots, child + 2, child + 3));
    while (++child < count)
        first = heap_earlier(slots, first, child);
    return first;
}

/* Puts `slot` into the hole at `at`, or higher up in place of a later parent,
 * or lower down in place of an earlier child. */
static inline void heap_fill(HEAP_SLOT *slots, size_t count, size_t at,
                             HEAP_SLOT slot, void *places)
{
    const size_t hole = at;
    while (at > 0) {
        size_t parent = (at - 1) / HEAP_ARITY;
        if (!HEAP_EARLIER(&slot, &slots[parent]))
            break;
        slots[at] = slots[parent];
        HEAP_MOVED(slots, at, places);
        at = parent;
    }
    while (at >= hole) {
        size_t child = heap_first_child(slots, count, at);
        if (child >= count || !HEAP_EARLIER(&slots[child], &slot))
            break;
        slots[at] = slots[child];
        HEAP_MOVED(slots, at, places);
        at = child;
    }
    slots[at] = slot;
    HEAP_MOVED(slots, at, places);
}
