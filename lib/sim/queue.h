/* SPDX-License-Identifier: MIT
 *
 * The event queue of a simulation: a heap, ordered by time and, at equal times,
 * by insertion. So a run is deterministic. An event has its position in the
 * heap, so that timers can be removed.
 *
 * Events with their payload come from pools, one per power of two, and return
 * there: after a warm-up a run allocates no memory.
 */
#ifndef GW__SIM_QUEUE_H
#define GW__SIM_QUEUE_H

#include <gradwire/base.h>

/* The kinds up to GW__REQUESTED are inputs (base/machine.h); these follow. */
#define GW__NOT_QUEUED UINT32_MAX

enum { GW__EVENT_BOOT = 16, GW__EVENT_BEGIN, GW__EVENT_END };

enum {
    GW__POOL_SMALLEST = 64, /* bytes of the smallest events, with header */
    GW__POOLS = 13          /* up to 256 KiB */
};

struct gw__event {
    struct gw__event *next; /* in a pool or a backlog */
    uint64_t incarnation;   /* MESSAGE: of the sender; DIED: of the dead node */
    uint64_t life;          /* MESSAGE, DIED: the receiver's life */
    uint64_t at_ns;         /* TIMER: in the node's time */
    uint32_t place;         /* position in the heap, or GW__NOT_QUEUED */
    uint32_t bytes;
    uint16_t index; /* TIMER: its number; BEGIN, END: index of the fault */
    uint16_t node;
    uint16_t from;
    uint8_t kind;
    uint8_t pool;
    _Alignas(16) unsigned char data[];
};

/* The key is stored here, so that comparisons do not read the events. */
struct gw__queue_slot {
    uint64_t time_ns;
    uint64_t order;
    struct gw__event *event;
};

struct gw__queue {
    struct gw__queue_slot *heap;
    size_t count;
    size_t capacity;
    size_t most; /* events at a time, queued or not */
    size_t in_use;
    uint64_t order;
    struct gw__event *pools[GW__POOLS];
    struct gw__arena *arenas; /* memory of the pools */
    uint64_t arena_count;
};

/* A zeroed queue is empty; `most` is its limit. */
void gw__queue_fini(struct gw__queue *queue);

/* A zeroed event with room for `bytes` bytes of data. NULL: `most` events are
 * in use, or out of memory. */
struct gw__event *gw__queue_acquire(struct gw__queue *queue, size_t bytes);
/* Returns an event to its pool; it must not be queued. */
void gw__queue_release(struct gw__queue *queue, struct gw__event *event);

/* Inserts `event` after those of the same time. There is always room. */
void gw__queue_add(struct gw__queue *queue, struct gw__event *event,
                   uint64_t time_ns);
/* Removes a queued event; the caller owns it. */
void gw__queue_remove(struct gw__queue *queue, struct gw__event *event);
/* Removes and returns the next event, with its time; NULL: the queue is
 * empty. */
struct gw__event *gw__queue_pop(struct gw__queue *queue, uint64_t *time_ns);
/* The time of the next event; UINT64_MAX: the queue is empty. */
uint64_t gw__queue_next_ns(const struct gw__queue *queue);

#endif
