/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's events on their way to the supervisor: a bounded queue that accepts
 * events from any thread and never waits. Unwanted events are not kept. Events
 * that do not fit are counted.
 */
#ifndef NODE_EVENTS_H
#define NODE_EVENTS_H

#include "post.h"

struct outbox;

/* `wake_fd`: an eventfd that is written when a rare event is in the queue, or
 * when it fills up. */
GW_MUST_CHECK enum gw_err outbox_new(int wake_fd, struct outbox **outbox,
                                     struct gw_error *why);
void outbox_destroy(struct outbox **outbox);
struct gw_sink *outbox_sink(struct outbox *outbox);
void outbox_want(struct outbox *outbox, enum event_level level);
/* Sends the queued events. GW_PENDING: the socket is full, the rest stays. */
enum gw_err outbox_send(struct outbox *outbox, int fd);
/* Removes at most POST_EVENTS_MAX events; returns how many. */
size_t outbox_take(struct outbox *outbox, struct gw_event row[POST_EVENTS_MAX]);
uint64_t outbox_dropped(struct outbox *outbox);

#endif
