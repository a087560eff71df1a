/* SPDX-License-Identifier: MIT
 *
 * The events of a supervised member on their way to the supervisor: a bounded
 * queue that is a sink. A full queue drops events and counts them. The ring
 * emits events under its own locks, so the lock here is the innermost.
 */
#ifndef GW__RING_EVENT_QUEUE_H
#define GW__RING_EVENT_QUEUE_H

#include "supervised.h"

#include <pthread.h>
#include <stdatomic.h>

enum { GW__EVENT_QUEUE_EVENTS = 1 << 13 };

struct gw__event_queue {
    struct gw_sink sink;
    pthread_mutex_t lock;
    _Atomic uint64_t wanted; /* kinds of events, as bits */
    uint64_t in, out;        /* events ever put in and taken out */
    uint64_t dropped;
    struct gw_event events[GW__EVENT_QUEUE_EVENTS];
};

void gw__event_queue_init(struct gw__event_queue *queue);
/* Copies the oldest events, and returns their number. They stay in the queue
 * until they are removed. */
size_t gw__event_queue_row(struct gw__event_queue *queue,
                           struct gw_event row[GW__SUPERVISED_EVENTS_MAX]);
void gw__event_queue_remove(struct gw__event_queue *queue, size_t count);
uint64_t gw__event_queue_dropped(struct gw__event_queue *queue);

#endif
