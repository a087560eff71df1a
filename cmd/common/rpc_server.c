/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See rpc_server.h.
 */
#include "rpc_server.h"

#include <wire/zmq/zmq_context.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 16, LINGER_MS = 300, EVENTS_MARK = 1 << 14 };

void rpc_server_endpoint(uint64_t token, const char *who,
                         char out[RPC_SERVER_ENDPOINT_MAX])
{
    snprintf(out, RPC_SERVER_ENDPOINT_MAX,
             "ipc://@gradwire-%u-%016" PRIx64 "-%s", (unsigned)geteuid(), token,
             who);
}

static bool set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static enum gw_err open_one(struct rpc_server *rpc, uint64_t token, int type,
                            const char *who, void **socket,
                            struct gw_error *why)
{
    char endpoint[RPC_SERVER_ENDPOINT_MAX];
    uid_t user = geteuid();
    int64_t most = REQUEST_MAX;
    rpc_server_endpoint(token, who, endpoint);
    *socket = zmq_socket(rpc->context, type);
    if (!*socket || !set_option(*socket, ZMQ_LINGER, LINGER_MS) ||
        !set_option(*socket, ZMQ_SNDHWM, EVENTS_MARK) ||
        zmq_setsockopt(*socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0 ||
        zmq_setsockopt(*socket, ZMQ_IPC_FILTER_UID, &user, sizeof user) != 0 ||
        zmq_bind(*socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "%s: %s", endpoint,
                       zmq_strerror(errno));
    return GW_OK;
}

enum gw_err rpc_server_open(struct rpc_server *rpc, uint64_t token,
                            struct gw_error *why)
{
    *rpc = (struct rpc_server){.context = NULL};
    enum gw_err code = gw__zmq_context_new(1, 0, 0, &rpc->context, why);
    if (code)
        return code;
    code = open_one(rpc, token, ZMQ_ROUTER, "run", &rpc->requests, why);
    if (code)
        return code;
    return open_one(rpc, token, ZMQ_XPUB, "events", &rpc->events, why);
}

void rpc_server_close(struct rpc_server *rpc)
{
    if (rpc->requests)
        zmq_close(rpc->requests);
    if (rpc->events)
        zmq_close(rpc->events);
    if (rpc->context)
        zmq_ctx_term(rpc->context);
    *rpc = (struct rpc_server){.context = NULL};
}

/* ---- requests ---- */

bool rpc_server_next(struct rpc_server *rpc, struct requester *requester,
                     json_t **json)
{
    zmq_msg_t part;
    size_t size = sizeof requester->identity;
    *json = NULL;
    int got = zmq_recv(rpc->requests, requester->identity, size, ZMQ_DONTWAIT);
    if (got < 0)
        return false;
    requester->bytes = (size_t)got < size ? (size_t)got : size;
    zmq_msg_init(&part);
    bool whole = zmq_msg_recv(&part, rpc->requests, ZMQ_DONTWAIT) >= 0 &&
                 !zmq_msg_more(&part);
    if (whole)
        *json = json_loadb(zmq_msg_data(&part), zmq_msg_size(&part), 0, NULL);
    while (zmq_msg_more(&part) &&
           zmq_msg_recv(&part, rpc->requests, ZMQ_DONTWAIT) >= 0)
        ; /* the rest of an unknown message */
    zmq_msg_close(&part);
    requester->id = json_integer_value(json_object_get(*json, "id"));
    return true;
}

void rpc_server_answer(struct rpc_server *rpc,
                       const struct requester *requester, json_t *answer)
{
    json_object_set_new(answer, "id", json_integer(requester->id));
    char *bytes = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (bytes && zmq_send(rpc->requests, requester->identity, requester->bytes,
                          ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(rpc->requests, bytes, strlen(bytes), ZMQ_DONTWAIT);
    free(bytes);
    json_decref(answer);
}

/* ---- events ---- */

bool rpc_server_is_detail(uint32_t kind)
{
    switch (kind) {
    case GW_EV_SEND:
    case GW_EV_APPLY:
    case GW_EV_WAIT:
    case GW_EV_REQUEST:
    case GW_EV_REPLY:
    case GW_EV_PASS_BEGIN:
    case GW_EV_PASS_END:
        return true;
    default:
        return false;
    }
}

static void send_row(struct rpc_server *rpc, bool detail,
                     const struct gw_event *events, size_t count)
{
    if (zmq_send(rpc->events, detail ? "c" : "e", 1,
                 ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(rpc->events, events, count * sizeof *events, ZMQ_DONTWAIT);
}

void rpc_server_publish(struct rpc_server *rpc, const struct gw_event *events,
                        size_t count)
{
    size_t begin = 0;
    while (begin < count) {
        bool detail = rpc_server_is_detail(events[begin].kind);
        size_t end = begin + 1;
        while (end < count && rpc_server_is_detail(events[end].kind) == detail)
            end++;
        send_row(rpc, detail, events + begin, end - begin);
        begin = end;
    }
}

void rpc_server_farewell(struct rpc_server *rpc)
{
    send_row(rpc, false, NULL, 0);
}

/* A message of an XPUB is 1 or 0 and a topic: libzmq reports the first
 * subscription and the end of the last one. */
bool rpc_server_subscription(struct rpc_server *rpc, char *topic, bool *any)
{
    char message[8];
    int bytes;
    while ((bytes = zmq_recv(rpc->events, message, sizeof message,
                             ZMQ_DONTWAIT)) >= 0) {
        if (bytes != 2)
            continue;
        *any = message[0] == 1;
        *topic = message[1];
        return true;
    }
    return false;
}
