/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sockets of a run's owner, as attach.h says: requests come in and are
 * answered, events go out. What the requests mean is the owner's matter. Only
 * processes of the same user get in: an abstract name has no permissions, so
 * libzmq asks the kernel who connects.
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

/* Who asked. */
struct asker {
    unsigned char identity[IDENTITY_MAX];
    size_t bytes;
    json_int_t id;
};

/* Where `who` of the run with this token is: "run" and "events" here. */
void serving_endpoint(uint64_t token, const char *who,
                      char out[SERVING_ENDPOINT_MAX]);
/* *serving needs serving_close in any case. GW_EUNREACH. */
GW_MUST_CHECK enum gw_err serving_open(struct serving *serving, uint64_t token,
                                       struct gw_error *why);
void serving_close(struct serving *serving);

/* One request; false: there is none. *json is NULL for what is no JSON. */
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
/* Nothing follows. */
void serving_farewell(struct serving *serving);
/* Who listens has changed, perhaps. True: to this topic, 'e' or 'c', somebody
 * listens from now on, or (`any` false) nobody. */
bool serving_subscription(struct serving *serving, char *topic, bool *any);

#endif
