/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See node_events.h. One thread sends; it removes a row from the queue only
 * when the socket has accepted it.
 */
#include "node_events.h"

#include "common/rpc_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { EVENT_QUEUE_EVENTS = 1 << 14 }; /* a power of 2: 1 MB */

struct event_queue {
    struct gw_sink sink;
    pthread_mutex_t lock;
    _Atomic int level;
    int wake_fd;
    uint64_t in, out; /* events ever put in and taken out */
    uint64_t dropped;
    struct gw_event events[EVENT_QUEUE_EVENTS];
    struct gw_event row[CHILD_CHANNEL_EVENTS_MAX]; /* the sender's */
};

enum event_level event_level_of(uint32_t kind)
{
    if (rpc_server_is_detail(kind))
        return EVENTS_CHUNKS;
    switch (kind) {
    case GW_EV_OP_BEGIN:
    case GW_EV_OP_END:
    case GW_EV_STEP:
    case GW_EV_LOSS:
    case GW_EV_COMMIT:
        return EVENTS_OPS;
    default:
        return EVENTS_RARE;
    }
}

static void emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct event_queue *queue = (struct event_queue *)sink;
    enum event_level level = event_level_of(event->kind);
    if ((int)level > atomic_load_explicit(&queue->level, memory_order_relaxed))
        return;
    pthread_mutex_lock(&queue->lock);
    uint64_t held = queue->in - queue->out;
    if (held < EVENT_QUEUE_EVENTS)
        queue->events[queue->in++ % EVENT_QUEUE_EVENTS] = *event;
    else
        queue->dropped++;
    pthread_mutex_unlock(&queue->lock);
    if (level == EVENTS_RARE || held == EVENT_QUEUE_EVENTS / 2)
        eventfd_write(queue->wake_fd, 1);
}

static void close_sink(struct gw_sink *sink)
{
    (void)sink; /* the outbox outlives every ring that uses it */
}

enum gw_err event_queue_new(int wake_fd, struct event_queue **out,
                            struct gw_error *why)
{
    struct event_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return gw_fail(why, GW_ENOMEM, "no memory for the events");
    queue->sink = (struct gw_sink){emit, close_sink};
    queue->wake_fd = wake_fd;
    pthread_mutex_init(&queue->lock, NULL);
    *out = queue;
    return GW_OK;
}

void event_queue_destroy(struct event_queue **queue)
{
    if (!*queue)
        return;
    pthread_mutex_destroy(&(*queue)->lock);
    free(*queue);
    *queue = NULL;
}

struct gw_sink *event_queue_sink(struct event_queue *queue)
{
    return &queue->sink;
}

void event_queue_want(struct event_queue *queue, enum event_level level)
{
    atomic_store(&queue->level, (int)level);
}

static size_t copy_row(struct event_queue *queue, struct gw_event *row)
{
    size_t count = 0;
    pthread_mutex_lock(&queue->lock);
    for (; count < CHILD_CHANNEL_EVENTS_MAX && queue->out + count < queue->in;
         count++)
        row[count] = queue->events[(queue->out + count) % EVENT_QUEUE_EVENTS];
    pthread_mutex_unlock(&queue->lock);
    return count;
}

static void remove_row(struct event_queue *queue, size_t count)
{
    pthread_mutex_lock(&queue->lock);
    queue->out += count;
    pthread_mutex_unlock(&queue->lock);
}

size_t event_queue_pop(struct event_queue *queue,
                       struct gw_event row[CHILD_CHANNEL_EVENTS_MAX])
{
    size_t count = copy_row(queue, row);
    remove_row(queue, count);
    return count;
}

enum gw_err event_queue_send(struct event_queue *queue, int fd)
{
    for (;;) {
        size_t count = copy_row(queue, queue->row);
        if (count == 0)
            return GW_OK;
        enum gw_err code =
            child_channel_send(fd, CHILD_CHANNEL_EVENTS, queue->row,
                               count * sizeof *queue->row, false);
        if (code)
            return code;
        remove_row(queue, count);
    }
}

uint64_t event_queue_dropped(struct event_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t dropped = queue->dropped;
    pthread_mutex_unlock(&queue->lock);
    return dropped;
}
