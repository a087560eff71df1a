/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sockets of a run's owner (attach.h): requests come in and are answered,
 * events go out. The owner interprets the requests. Only processes of the same
 * user are admitted: an abstract name has no permissions, so libzmq asks the
 * kernel for the peer's user.
 */
#ifndef SERVING_H
#define SERVING_H

#include <gradwire/gradwire.h>

#include <jansson.h>
#include <zmq.h>

enum { SERVING_ENDPOINT_MAX = 108, IDENTITY_MAX = 32 };

struct serving {
    void *context, *requests, *events; /* ROUTER, XPUB; NULL: not open */
};

/* The sender of a request. */
struct asker {
    unsigned char identity[IDENTITY_MAX];
    size_t bytes;
    json_int_t id;
};

/* Writes an endpoint of the run with this token: "run" or "events". */
void serving_endpoint(uint64_t token, const char *who,
                      char out[SERVING_ENDPOINT_MAX]);
/* *serving needs serving_close in any case. GW_EUNREACH. */
GW_MUST_CHECK enum gw_err serving_open(struct serving *serving, uint64_t token,
                                       struct gw_error *why);
void serving_close(struct serving *serving);

/* One request; false: none. *json is NULL for invalid JSON. */
bool serving_next(struct serving *serving, struct asker *asker, json_t **json);
/* Steals `answer`, to which it adds the number of the request. */
void serving_answer(struct serving *serving, const struct asker *asker,
                    json_t *answer);

/* Is this event one of those that a listener may do without: chunk by chunk, or
 * pass by pass? */
bool serving_is_detail(uint32_t kind);
/* In order, in rows of "c" and "e". */
void serving_publish(struct serving *serving, const struct gw_event *events,
                     size_t count);
/* The farewell: the last message. */
void serving_farewell(struct serving *serving);
/* A subscription may have changed. True: the topic, 'e' or 'c', now has
 * listeners or (`any` false) has none. */
bool serving_subscription(struct serving *serving, char *topic, bool *any);

#endif
