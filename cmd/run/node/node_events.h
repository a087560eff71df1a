/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's events on their way to the supervisor: a bounded queue that takes
 * from any thread and never waits. What is not wanted is not kept; what finds
 * no room is counted.
 */
#ifndef NODE_EVENTS_H
#define NODE_EVENTS_H

#include "post.h"

struct outbox;

/* `wake_fd`: an eventfd that is written when something rare is in it, or it
 * fills up. */
GW_MUST_CHECK enum gw_err outbox_new(int wake_fd, struct outbox **outbox,
                                     struct gw_error *why);
void outbox_destroy(struct outbox **outbox);
struct gw_sink *outbox_sink(struct outbox *outbox);
void outbox_want(struct outbox *outbox, enum event_level level);
/* Sends what there is. GW_PENDING: the socket is full, the rest stays. */
enum gw_err outbox_send(struct outbox *outbox, int fd);
/* Takes out at most POST_EVENTS_MAX of them; returns how many. */
size_t outbox_take(struct outbox *outbox, struct gw_event row[POST_EVENTS_MAX]);
uint64_t outbox_dropped(struct outbox *outbox);

#endif
