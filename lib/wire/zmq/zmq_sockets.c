/* SPDX-License-Identifier: MIT
 *
 * The sockets for one peer: options, keys, and the addresses where they listen.
 */
#include "zmq_wire.h"

#include "wire/interface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEARTBEAT_MS = 200,
    HEARTBEAT_TIMEOUT_MS = 800,
    /* A lost peer stays lost: sockets do not reconnect in the life of a run.
     * (Turning reconnection off by -1 would discard data that have arrived.) */
    NEVER_MS = 1 << 30,
};

static bool set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* The credits bound the data in flight. A mark on sending would do harm: a
 * socket notices that its pipe has room again once per millisecond at most, so
 * a burst of small slices would find it full. The mark on receiving keeps a
 * peer that ignores the credits from filling the memory. */
static bool set_options(const struct gw__zmq *zmq, void *socket,
                        const char *interface, bool control)
{
    bool ok = set_option(socket, ZMQ_LINGER, 0) &&
              set_option(socket, ZMQ_SNDHWM, 0) &&
              set_option(socket, ZMQ_RCVHWM, 4 * GW__ZMQ_WINDOW_SLICES) &&
              set_option(socket, ZMQ_RECONNECT_IVL, NEVER_MS) &&
              set_option(socket, ZMQ_IPV6, strchr(interface, ':') != NULL);
    int64_t most = control ? GW__CONTROL_BYTES_MAX : UINT32_MAX;
    ok = ok && zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0;
    /* Hosts fail silently only across a network. Not on the lanes, where a
     * heartbeat would wait in the queue of data. */
    if (control && zmq->address.transport == GW__ZMQ_TCP &&
        !gw__is_loopback(interface))
        ok = ok && set_option(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
             set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
    return ok;
}

static enum gw_err monitor_connection(struct gw__zmq *zmq, unsigned peer,
                                      struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    char name[40];
    int fd;
    size_t size = sizeof fd;
    link->control_fd = -1;
    snprintf(name, sizeof name, "inproc://notes-%u", peer);
    link->monitor = zmq_socket(zmq->context, ZMQ_PAIR);
    if (!link->monitor ||
        zmq_socket_monitor(link->control->socket, name,
                           ZMQ_EVENT_DISCONNECTED) != 0 ||
        !set_option(link->monitor, ZMQ_LINGER, 0) ||
        zmq_connect(link->monitor, name) != 0 ||
        zmq_getsockopt(link->monitor, ZMQ_FD, &fd, &size) != 0 ||
        !gw__zmq_listen(zmq, fd, false, &link->control->touched))
        return gw_fail_errno(why, "watching the connection to rank %u", peer);
    return GW_OK;
}

/* The sockets for one peer, not yet bound or connected. */
static enum gw_err make_sockets(struct gw__zmq *zmq, unsigned peer,
                                const char *interface, struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    for (unsigned l = 0; l <= zmq->lanes; l++) {
        struct gw__zmq_lane *lane = &link->lanes[l];
        int fd;
        size_t size = sizeof fd;
        lane->socket = zmq_socket(zmq->context, ZMQ_PAIR);
        if (!lane->socket ||
            !set_options(zmq, lane->socket, interface, lane == link->control) ||
            zmq_getsockopt(lane->socket, ZMQ_FD, &fd, &size) != 0 ||
            !gw__zmq_listen(zmq, fd, false, &lane->touched))
            return gw_fail_errno(why, "a socket for rank %u", peer);
        if (!zmq->address.secured)
            continue;
        enum gw_err err = gw__zmq_key_set(lane->socket, &zmq->key,
                                          peer > zmq->wire.rank, why);
        if (err)
            return err;
    }
    return monitor_connection(zmq, peer, why);
}

/* "tcp://127.0.0.1:4711" -> card.host and the port. */
static bool read_endpoint(struct gw__zmq_endpoint_address *address,
                          const char *endpoint, uint16_t *port)
{
    const char *host = endpoint + strlen("tcp://");
    const char *colon = strrchr(host, ':');
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) != 0 || !colon ||
        (size_t)(colon - host) >= sizeof address->host)
        return false;
    memset(address->host, 0, sizeof address->host);
    memcpy(address->host, host, (size_t)(colon - host));
    *port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return true;
}

static enum gw_err bind_lane(struct gw__zmq *zmq, unsigned peer, unsigned lane,
                             const char *interface, struct gw_error *why)
{
    void *socket = zmq->links[peer].lanes[lane].socket;
    char endpoint[256];
    size_t size = sizeof endpoint;
    if (zmq->address.transport == GW__ZMQ_IPC) {
        gw__zmq_endpoint(&zmq->address, zmq->wire.rank, peer, lane, endpoint);
        return gw__zmq_own_user_only(socket, endpoint) &&
                       zmq_bind(socket, endpoint) == 0
                   ? GW_OK
                   : gw_fail_errno(why, "binding %s", endpoint);
    }
    unsigned port = (peer - zmq->wire.rank - 1) * (zmq->lanes + 1) + lane;
    bool bare_six = interface[0] != '[' && strchr(interface, ':');
    snprintf(endpoint, sizeof endpoint,
             bare_six ? "tcp://[%.200s]:*" : "tcp://%.200s:*", interface);
    if (zmq_bind(socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "binding %s: %s", endpoint,
                       zmq_strerror(errno));
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0 ||
        !read_endpoint(&zmq->address, endpoint, &zmq->address.ports[port]))
        return gw_fail(why, GW_EUNREACH, "binding %s: unexpected address %s",
                       interface, endpoint);
    return GW_OK;
}

enum gw_err gw__zmq_make_link(struct gw__zmq *zmq, unsigned peer,
                              const char *interface, struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    link->lanes = calloc(zmq->lanes + 1, sizeof *link->lanes);
    link->aligned_bytes = GW__ZMQ_SMALL_BYTES;
    link->aligned = malloc(link->aligned_bytes);
    if (!link->lanes || !link->aligned)
        return gw_fail(why, GW_ENOMEM, "link to rank %u", peer);
    link->control = &link->lanes[zmq->lanes];
    link->awaited = true;
    for (unsigned l = 0; l <= zmq->lanes; l++)
        link->lanes[l].zmq = zmq;
    enum gw_err err = make_sockets(zmq, peer, interface, why);
    for (unsigned l = 0; l <= zmq->lanes && !err && peer > zmq->wire.rank; l++)
        err = bind_lane(zmq, peer, l, interface, why);
    return err;
}

/* The monitor is stopped first: an event without a reader would stop libzmq's
 * thread. */
void gw__zmq_close_link(struct gw__zmq_link *link, unsigned lanes)
{
    if (link->monitor) {
        zmq_socket_monitor(link->control->socket, NULL, 0);
        zmq_close(link->monitor);
    }
    for (unsigned l = 0; link->lanes && l <= lanes; l++)
        if (link->lanes[l].socket)
            zmq_close(link->lanes[l].socket);
    if (link->held) {
        zmq_msg_close(&link->head);
        zmq_msg_close(&link->body);
    }
}
