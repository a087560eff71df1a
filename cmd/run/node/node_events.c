/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See node_events.h. One thread sends; it removes a row from the queue only
 * when the socket has accepted it.
 */
#include "node_events.h"

#include "common/serving.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { OUTBOX_EVENTS = 1 << 14 }; /* a power of 2: 1 MB */

struct outbox {
    struct gw_sink sink;
    pthread_mutex_t lock;
    _Atomic int level;
    int wake_fd;
    uint64_t in, out; /* events ever put in and taken out */
    uint64_t dropped;
    struct gw_event events[OUTBOX_EVENTS];
    struct gw_event row[POST_EVENTS_MAX]; /* the sender's */
};

static enum event_level level_of(uint32_t kind)
{
    if (serving_is_detail(kind))
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
    struct outbox *outbox = (struct outbox *)sink;
    enum event_level level = level_of(event->kind);
    if ((int)level > atomic_load_explicit(&outbox->level, memory_order_relaxed))
        return;
    pthread_mutex_lock(&outbox->lock);
    uint64_t held = outbox->in - outbox->out;
    if (held < OUTBOX_EVENTS)
        outbox->events[outbox->in++ % OUTBOX_EVENTS] = *event;
    else
        outbox->dropped++;
    pthread_mutex_unlock(&outbox->lock);
    if (level == EVENTS_RARE || held == OUTBOX_EVENTS / 2)
        eventfd_write(outbox->wake_fd, 1);
}

static void close_sink(struct gw_sink *sink)
{
    (void)sink; /* the outbox outlives every ring that uses it */
}

enum gw_err outbox_new(int wake_fd, struct outbox **out, struct gw_error *why)
{
    struct outbox *outbox = calloc(1, sizeof *outbox);
    if (!outbox)
        return gw_fail(why, GW_ENOMEM, "no memory for the events");
    outbox->sink = (struct gw_sink){emit, close_sink};
    outbox->wake_fd = wake_fd;
    pthread_mutex_init(&outbox->lock, NULL);
    *out = outbox;
    return GW_OK;
}

void outbox_destroy(struct outbox **outbox)
{
    if (!*outbox)
        return;
    pthread_mutex_destroy(&(*outbox)->lock);
    free(*outbox);
    *outbox = NULL;
}

struct gw_sink *outbox_sink(struct outbox *outbox)
{
    return &outbox->sink;
}

void outbox_want(struct outbox *outbox, enum event_level level)
{
    atomic_store(&outbox->level, (int)level);
}

static size_t copy_row(struct outbox *outbox, struct gw_event *row)
{
    size_t count = 0;
    pthread_mutex_lock(&outbox->lock);
    for (; count < POST_EVENTS_MAX && outbox->out + count < outbox->in; count++)
        row[count] = outbox->events[(outbox->out + count) % OUTBOX_EVENTS];
    pthread_mutex_unlock(&outbox->lock);
    return count;
}

static void remove_row(struct outbox *outbox, size_t count)
{
    pthread_mutex_lock(&outbox->lock);
    outbox->out += count;
    pthread_mutex_unlock(&outbox->lock);
}

size_t outbox_take(struct outbox *outbox, struct gw_event row[POST_EVENTS_MAX])
{
    size_t count = copy_row(outbox, row);
    remove_row(outbox, count);
    return count;
}

enum gw_err outbox_send(struct outbox *outbox, int fd)
{
    for (;;) {
        size_t count = copy_row(outbox, outbox->row);
        if (count == 0)
            return GW_OK;
        enum gw_err code = post_send(fd, POST_EVENTS, outbox->row,
                                     count * sizeof *outbox->row, false);
        if (code)
            return code;
        remove_row(outbox, count);
    }
}

uint64_t outbox_dropped(struct outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    uint64_t dropped = outbox->dropped;
    pthread_mutex_unlock(&outbox->lock);
    return dropped;
}
