/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's events on their way to the supervisor: a bounded queue that accepts
 * events from any thread and never waits. Unwanted events are not kept. Events
 * that do not fit are counted.
 */
#ifndef NODE_EVENTS_H
#define NODE_EVENTS_H

#include "child_channel.h"

struct event_queue;

/* `wake_fd`: an eventfd that is written when a rare event is in the queue, or
 * when it fills up. */
GW_MUST_CHECK enum gw_err
event_queue_new(int wake_fd, struct event_queue **queue, struct gw_error *why);
void event_queue_destroy(struct event_queue **queue);
struct gw_sink *event_queue_sink(struct event_queue *queue);
void event_queue_want(struct event_queue *queue, enum event_level level);
/* The lowest level that sends events of this kind. */
enum event_level event_level_of(uint32_t kind);
/* Sends the queued events. GW_PENDING: the socket is full, the rest stays. */
enum gw_err event_queue_send(struct event_queue *queue, int fd);
/* Removes at most POST_EVENTS_MAX events; returns how many. */
size_t event_queue_pop(struct event_queue *queue,
                       struct gw_event row[CHILD_CHANNEL_EVENTS_MAX]);
uint64_t event_queue_dropped(struct event_queue *queue);

#endif
