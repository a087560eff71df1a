/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sockets of a run's owner (rpc_client.h): requests come in and are
 * answered, events go out. The owner interprets the requests. Only processes of
 * the same user are admitted: an abstract name has no permissions, so libzmq
 * asks the kernel for the peer's user.
 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

#include <gradwire/gradwire.h>

#include <jansson.h>
#include <zmq.h>

enum { RPC_SERVER_ENDPOINT_MAX = 108, IDENTITY_MAX = 32 };

struct rpc_server {
    void *context, *requests, *events; /* ROUTER, XPUB; NULL: not open */
};

/* The sender of a request. */
struct requester {
    unsigned char identity[IDENTITY_MAX];
    size_t bytes;
    json_int_t id;
};

/* Writes an endpoint of the run with this token: "run" or "events". */
void rpc_server_endpoint(uint64_t token, const char *who,
                         char out[RPC_SERVER_ENDPOINT_MAX]);
/* *serving needs rpc_server_close in any case. GW_EUNREACH. */
GW_MUST_CHECK enum gw_err rpc_server_open(struct rpc_server *rpc,
                                          uint64_t token, struct gw_error *why);
void rpc_server_close(struct rpc_server *rpc);

/* One request; false: none. *json is NULL for invalid JSON. */
bool rpc_server_next(struct rpc_server *rpc, struct requester *requester,
                     json_t **json);
/* Steals `answer`, to which it adds the number of the request. */
void rpc_server_answer(struct rpc_server *rpc,
                       const struct requester *requester, json_t *answer);

/* Is this event one of those that a listener may do without: chunk by chunk, or
 * pass by pass? */
bool rpc_server_is_detail(uint32_t kind);
/* In order, in rows of "c" and "e". */
void rpc_server_publish(struct rpc_server *rpc, const struct gw_event *events,
                        size_t count);
/* The farewell: the last message. */
void rpc_server_farewell(struct rpc_server *rpc);
/* A subscription may have changed. True: the topic, 'e' or 'c', now has
 * listeners or (`any` false) has none. */
bool rpc_server_subscription(struct rpc_server *rpc, char *topic, bool *any);

#endif
