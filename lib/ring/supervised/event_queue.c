/* SPDX-License-Identifier: MIT
 *
 * See event_queue.h.
 */
#include "event_queue.h"

static void emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct gw__event_queue *queue = (struct gw__event_queue *)sink;
    if (!(queue->wanted >> event->kind & 1))
        return;
    pthread_mutex_lock(&queue->lock);
    if (queue->in - queue->out < GW__EVENT_QUEUE_EVENTS)
        queue->events[queue->in++ % GW__EVENT_QUEUE_EVENTS] = *event;
    else
        queue->dropped++;
    pthread_mutex_unlock(&queue->lock);
}

static void close_sink(struct gw_sink *sink)
{
    (void)sink; /* it outlives all rings of the process */
}

void gw__event_queue_init(struct gw__event_queue *queue)
{
    queue->sink = (struct gw_sink){emit, close_sink};
    pthread_mutex_init(&queue->lock, NULL);
}

size_t gw__event_queue_row(struct gw__event_queue *queue,
                           struct gw_event row[GW__SUPERVISED_EVENTS_MAX])
{
    size_t count = 0;
    pthread_mutex_lock(&queue->lock);
    for (; count < GW__SUPERVISED_EVENTS_MAX && queue->out + count < queue->in;
         count++)
        row[count] =
            queue->events[(queue->out + count) % GW__EVENT_QUEUE_EVENTS];
    pthread_mutex_unlock(&queue->lock);
    return count;
}

void gw__event_queue_remove(struct gw__event_queue *queue, size_t count)
{
    pthread_mutex_lock(&queue->lock);
    queue->out += count;
    pthread_mutex_unlock(&queue->lock);
}

uint64_t gw__event_queue_dropped(struct gw__event_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t dropped = queue->dropped;
    pthread_mutex_unlock(&queue->lock);
    return dropped;
}
