/* SPDX-License-Identifier: MIT
 *
 * What will happen, and when: the events of a simulation in a heap,
 * ordered by time and, at the same time, by the order in which they were put
 * in. So a run is one sequence, whatever the heap does inside. An event knows
 * its place in the heap, so that a timer can be taken out again.
 *
 * Events with their payload come from pools, one a power of two of bytes, and
 * go back there: after a warm-up a run allocates nothing.
 */
#ifndef GW__SIM_QUEUE_H
#define GW__SIM_QUEUE_H

#include <gradwire/base.h>

/* The kinds up to GW__ASKED are inputs (base/machine.h), these follow them. */
#define GW__NOT_QUEUED UINT32_MAX

enum { GW__EVENT_BOOT = 16, GW__EVENT_BEGIN, GW__EVENT_END };

enum {
    GW__POOL_SMALLEST = 64, /* bytes of the smallest events, header included */
    GW__POOLS = 12          /* up to 128 KiB */
};

struct gw__event {
    struct gw__event *next; /* in a pool or a backlog */
    uint64_t incarnation;   /* MESSAGE: the sender's; DIED: whose */
    uint64_t life;          /* MESSAGE, DIED: which of the node's lives */
    uint64_t at_ns;         /* TIMER: of the node's clock */
    uint32_t place;         /* in the heap, or GW__NOT_QUEUED */
    uint32_t bytes;
    uint16_t index; /* TIMER: which; BEGIN, END: which fault */
    uint8_t kind;
    uint8_t node;
    uint8_t from;
    uint8_t pool;
    _Alignas(16) unsigned char data[];
};

/* The key is here, so that ordering does not touch the events. */
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
    size_t taken;
    uint64_t order;
    struct gw__event *pools[GW__POOLS];
    struct gw__arena *arenas; /* what the pools were cut from */
    uint64_t arena_count;
};

/* A zeroed queue is empty; `most` bounds it. */
void gw__queue_fini(struct gw__queue *queue);

/* An event with room for `bytes` of data, all fields zero but `bytes`; NULL
 * when `most` are in use or memory is short. */
struct gw__event *gw__queue_take(struct gw__queue *queue, size_t bytes);
/* Back to its pool; not while it is queued. */
void gw__queue_give(struct gw__queue *queue, struct gw__event *event);

/* Puts `event` in, behind those of the same time. There is always room. */
void gw__queue_add(struct gw__queue *queue, struct gw__event *event,
                   uint64_t time_ns);
/* Takes it out from wherever it is; it stays the caller's. */
void gw__queue_remove(struct gw__queue *queue, struct gw__event *event);
/* The next one, taken out, with its time; NULL when the queue is empty. */
struct gw__event *gw__queue_pop(struct gw__queue *queue, uint64_t *time_ns);
/* When the next one is due; UINT64_MAX when the queue is empty. */
uint64_t gw__queue_next_ns(const struct gw__queue *queue);

#endif
