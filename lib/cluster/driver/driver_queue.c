/* SPDX-License-Identifier: MIT
 *
 * Requests (wishes) to a driver's thread, in order. Callers append to one
 * buffer while the thread processes the other; then the two are exchanged. So a
 * wish is copied once, nothing is allocated, and the lock is held only during
 * that copy. The eventfd is signalled once, until the thread has looked.
 */
#include "driver_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum gw_err gw__driver_queue_init(struct gw__driver_queue *queue,
                                  struct gw_error *why)
{
    *queue = (struct gw__driver_queue){.bell = -1};
    pthread_mutex_init(&queue->lock, NULL);
    queue->ready = true;
    queue->filling.bytes = calloc(1, GW__DRIVER_QUEUE_BYTES);
    queue->working.bytes = calloc(1, GW__DRIVER_QUEUE_BYTES);
    if (!queue->filling.bytes || !queue->working.bytes)
        return gw_fail(why, GW_ENOMEM, "a queue of %d bytes",
                       2 * GW__DRIVER_QUEUE_BYTES);
    queue->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return queue->bell >= 0 ? GW_OK : gw_fail_errno(why, "eventfd");
}

void gw__driver_queue_fini(struct gw__driver_queue *queue)
{
    if (!queue->ready)
        return;
    if (queue->bell >= 0)
        close(queue->bell);
    free(queue->filling.bytes);
    free(queue->working.bytes);
    pthread_mutex_destroy(&queue->lock);
}

static size_t wish_bytes(const struct gw__wish *wish)
{
    return sizeof *wish + ((size_t)wish->bytes + 7) / 8 * 8;
}

static void ring(struct gw__driver_queue *queue)
{
    if (!queue->rung)
        eventfd_write(queue->bell, 1);
    queue->rung = true;
}

static void silence(struct gw__driver_queue *queue)
{
    eventfd_t rings;
    if (queue->rung)
        (void)eventfd_read(queue->bell, &rings);
    queue->rung = false;
}

/* The space that a wish may use. Messages leave a quarter to the others: they
 * may be lost, as in the network, and their sender repeats them. A request that
 * does not fit ends its member. */
static size_t room_for(const struct gw__driver_queue *queue,
                       const struct gw__wish *wish)
{
    size_t most = wish->kind == GW__WISH_SEND ? GW__DRIVER_QUEUE_BYTES / 4 * 3
                                              : GW__DRIVER_QUEUE_BYTES;
    return most > queue->filling.used ? most - queue->filling.used : 0;
}

static enum gw_err append_wish(struct gw__driver_queue *queue,
                               const struct gw__wish *wish, const void *data)
{
    struct gw__wishes *filling = &queue->filling;
    unsigned char *at = filling->bytes + filling->used;
    if (queue->closed)
        return GW_ECLOSED;
    if (wish_bytes(wish) > room_for(queue, wish))
        return GW_ENOMEM;
    memcpy(at, wish, sizeof *wish);
    if (wish->bytes > 0)
        memcpy(at + sizeof *wish, data, wish->bytes);
    filling->used += wish_bytes(wish);
    ring(queue);
    return GW_OK;
}

enum gw_err gw__driver_queue_add(struct gw__driver_queue *queue,
                                 const struct gw__wish *wish, const void *data)
{
    pthread_mutex_lock(&queue->lock);
    enum gw_err err = append_wish(queue, wish, data);
    pthread_mutex_unlock(&queue->lock);
    return err;
}

void gw__driver_queue_close(struct gw__driver_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    ring(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* Exchanges the buffers. Returns whether the queue is closed. */
static bool turn_over(struct gw__driver_queue *queue)
{
    struct gw__wishes worked_off = queue->working;
    worked_off.used = worked_off.done = 0;
    pthread_mutex_lock(&queue->lock);
    silence(queue);
    queue->working = queue->filling;
    queue->filling = worked_off;
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}

const struct gw__wish *gw__driver_queue_next(struct gw__driver_queue *queue,
                                             bool *over)
{
    struct gw__wishes *working = &queue->working;
    bool closed = false;
    if (working->done == working->used)
        closed = turn_over(queue);
    *over = closed && working->used == 0;
    if (working->done == working->used)
        return NULL;
    const void *at = working->bytes + working->done;
    const struct gw__wish *wish = at;
    working->done += wish_bytes(wish);
    return wish;
}
