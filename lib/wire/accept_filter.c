/* SPDX-License-Identifier: MIT
 *
 * Reports connections that a listening socket refused: see accept_filter.h.
 *
 * With a key, three kinds of connection fail: one with another security
 * mechanism, one with another key, and one that does not speak ZMTP. They look
 * alike in the monitor's events and are reported alike.
 *
 * libzmq reports a failed handshake, except when the first bytes are not ZMTP:
 * then the connection is only accepted and disconnected. Those two events name
 * the descriptor; the event of a successful handshake does not. So a connection
 * that ends was a stranger's if no handshake has succeeded since it was
 * accepted. Otherwise the two cannot be distinguished, and all open connections
 * count as members. (The events are in their true order: a context has one I/O
 * thread unless configured otherwise.)
 */
#include "accept_filter.h"

#include <base/notice.h>
#include <base/thread.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { DESCRIPTORS = 4096 };

/* Accepted connections that may be strangers, by descriptor. */
struct newcomers {
    bool are[DESCRIPTORS];
    unsigned count, succeeded; /* `succeeded` of them, unknown which */
};

struct gw__accept_filter {
    void *socket;  /* not owned */
    void *monitor; /* used by the thread once it runs */
    char endpoint[128];
    bool keyed, reported;
    struct newcomers newcomers; /* with a key */
    struct gw__peers peers;     /* without a key */
    pthread_t thread;
};

enum {
    REFUSED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
              ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    WATCHED = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_MONITOR_STOPPED,
    WATCHED_WITH_KEY = WATCHED | REFUSED | ZMQ_EVENT_DISCONNECTED |
                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED
};

struct event {
    unsigned number; /* 0: the context has ended */
    uint32_t value;
    char address[256]; /* of the listening socket */
};

/* Fills the rest of `part` with zeros. */
static bool receive(void *monitor, void *part, size_t bytes)
{
    int got;
    memset(part, 0, bytes);
    do
        got = zmq_recv(monitor, part, bytes, 0);
    while (got < 0 && errno == EINTR);
    return got >= 0;
}

/* An event has two frames: its number and a value, then an address. */
static struct event next_event(void *monitor)
{
    unsigned char frame[6];
    uint16_t number;
    struct event event = {.number = 0};
    if (!receive(monitor, frame, sizeof frame) ||
        !receive(monitor, event.address, sizeof event.address - 1))
        return event;
    memcpy(&number, frame, sizeof number);
    memcpy(&event.value, frame + sizeof number, sizeof event.value);
    event.number = number;
    return event;
}

/* ---- with a key ---- */

static void come(struct newcomers *n, uint32_t descriptor)
{
    if (descriptor >= DESCRIPTORS || n->are[descriptor])
        return;
    n->are[descriptor] = true;
    n->count++;
}

static void succeed(struct newcomers *n)
{
    n->succeeded++;
    if (n->succeeded >= n->count)
        *n = (struct newcomers){.count = 0};
}

/* True: it was a stranger. */
static bool go(struct newcomers *n, uint32_t descriptor)
{
    if (descriptor >= DESCRIPTORS || !n->are[descriptor])
        return false;
    if (n->succeeded > 0) {
        *n = (struct newcomers){.count = 0};
        return false;
    }
    n->are[descriptor] = false;
    n->count--;
    return true;
}

static bool is_refusal(struct newcomers *n, const struct event *event)
{
    switch (event->number) {
    case ZMQ_EVENT_ACCEPTED:
        come(n, event->value);
        return false;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        succeed(n);
        return false;
    case ZMQ_EVENT_DISCONNECTED:
        return go(n, event->value);
    default:
        return (event->number & REFUSED) != 0;
    }
}

static void check_key(struct gw__accept_filter *filter,
                      const struct event *event)
{
    bool refused = is_refusal(&filter->newcomers, event);
    if (!filter->reported && refused)
        gw__notice("%s: a process without the key of this cluster was refused; "
                   "further ones will be refused silently",
                   filter->endpoint);
    filter->reported |= refused;
}

/* ---- without a key ---- */

static void check_user(struct gw__accept_filter *filter,
                       const struct event *event)
{
    const char *colon = strrchr(event->address, ':');
    unsigned port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    uid_t user;
    if (gw__peers_receive(&filter->peers, (int)event->value, port, &user) !=
        GW__PEER_OTHER_USER)
        return;
    if (!filter->reported)
        gw__notice("%s: a process of another user (%u) was refused, since "
                   "there is no key; further ones will be refused silently",
                   event->address, (unsigned)user);
    filter->reported = true;
}

/* ---- the thread ---- */

static void *monitor_connections(void *context)
{
    struct gw__accept_filter *filter = context;
    for (;;) {
        struct event event = next_event(filter->monitor);
        if (event.number == 0 || event.number == ZMQ_EVENT_MONITOR_STOPPED)
            return NULL;
        if (filter->keyed)
            check_key(filter, &event);
        else
            check_user(filter, &event);
    }
}

static enum gw_err start_filter(struct gw__accept_filter *filter, void *context,
                                struct gw_error *why)
{
    char name[40];
    int events = filter->keyed ? WATCHED_WITH_KEY : WATCHED;
    enum gw_err err =
        filter->keyed ? GW_OK : gw__peers_open(&filter->peers, why);
    if (err)
        return gw_wrap(why, err, "watching %s", filter->endpoint);
    snprintf(name, sizeof name, "inproc://gate-%p", filter->socket);
    if (zmq_socket_monitor(filter->socket, name, events) != 0)
        return gw_fail_errno(why, "watching %s", filter->endpoint);
    filter->monitor = zmq_socket(context, ZMQ_PAIR);
    if (!filter->monitor || zmq_connect(filter->monitor, name) != 0)
        err = gw_fail_errno(why, "watching %s", filter->endpoint);
    else
        err = gw__thread_start(&filter->thread, monitor_connections, filter,
                               filter->endpoint, why);
    if (err) {
        zmq_socket_monitor(filter->socket, NULL, 0);
        if (filter->monitor)
            zmq_close(filter->monitor);
    }
    return err;
}

unsigned gw__accept_filter_files(const char *endpoint, bool keyed)
{
    const unsigned monitor = 2; /* its two ends */
    if (keyed)
        return monitor;
    bool tcp = strncmp(endpoint, "tcp://", strlen("tcp://")) == 0;
    return tcp ? monitor + GW__PEERS_FILES : 0;
}

enum gw_err gw__accept_filter_open(void *context, void *socket,
                                   const char *endpoint, bool keyed,
                                   struct gw__accept_filter **opened,
                                   struct gw_error *why)
{
    *opened = NULL;
    if (gw__accept_filter_files(endpoint, keyed) == 0)
        return GW_OK;
    struct gw__accept_filter *filter = calloc(1, sizeof *filter);
    if (!filter)
        return gw_fail(why, GW_ENOMEM, "watching %s", endpoint);
    *filter = (struct gw__accept_filter){
        .socket = socket, .keyed = keyed, .peers = {-1, -1}};
    snprintf(filter->endpoint, sizeof filter->endpoint, "%s", endpoint);
    enum gw_err err = start_filter(filter, context, why);
    if (err) {
        gw__peers_close(&filter->peers);
        free(filter);
        return err;
    }
    *opened = filter;
    return GW_OK;
}

/* Stopping the monitor sends its last event, which ends the thread. */
void gw__accept_filter_close(struct gw__accept_filter **opened)
{
    struct gw__accept_filter *filter = *opened;
    if (!filter)
        return;
    *opened = NULL;
    zmq_socket_monitor(filter->socket, NULL, 0);
    pthread_join(filter->thread, NULL);
    zmq_close(filter->monitor);
    gw__peers_close(&filter->peers);
    free(filter);
}
