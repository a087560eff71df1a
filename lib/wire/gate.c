/* SPDX-License-Identifier: MIT
 *
 * See gate.h. Three things happen at a gate: the other side has no key at all
 * (another security mechanism), another key (what it says cannot be opened), or
 * is none of us (it does not speak ZMTP). They look the same from here, and are
 * told alike.
 *
 * libzmq says that a handshake has failed, but not where the first bytes are
 * none of ZMTP's: such a connection has come and gone. It says of both which
 * descriptor that was, but not whose handshake has succeeded meanwhile. So who
 * has gone was a stranger if since it came nobody's has; where that is not so,
 * nobody knows, and all who are there are believed. (The order is the true one:
 * a context has one thread for its connections, unless it is told otherwise.)
 */
#include "gate.h"

#include <base/notice.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { DESCRIPTORS = 4096 };

/* Who has come, and may be a stranger. */
struct newcomers {
    bool are[DESCRIPTORS];
    unsigned count, succeeded; /* `succeeded` of them, whoever that was */
};

struct gw__gate {
    void *socket;  /* not owned */
    void *monitor; /* of the thread, once that runs */
    char place[128];
    struct newcomers newcomers;
    pthread_t thread;
};

enum {
    REFUSED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
              ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    WATCHED = REFUSED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
              ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_MONITOR_STOPPED
};

static bool receive(void *monitor, void *part, size_t bytes)
{
    int got;
    do
        got = zmq_recv(monitor, part, bytes, 0);
    while (got < 0 && errno == EINTR);
    return got >= 0;
}

/* An event is its number and a value, then a frame with an address. 0: the
 * context has ended. */
static unsigned next_event(void *monitor, uint32_t *value)
{
    unsigned char frame[6], address[256];
    uint16_t event;
    if (!receive(monitor, frame, sizeof frame) ||
        !receive(monitor, address, sizeof address))
        return 0;
    memcpy(&event, frame, sizeof event);
    memcpy(value, frame + sizeof event, sizeof *value);
    return event;
}

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

static bool is_refusal(struct newcomers *n, unsigned event, uint32_t value)
{
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        come(n, value);
        return false;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        succeed(n);
        return false;
    case ZMQ_EVENT_DISCONNECTED:
        return go(n, value);
    default:
        return (event & REFUSED) != 0;
    }
}

static void *watch(void *context)
{
    struct gw__gate *gate = context;
    bool told = false;
    unsigned event;
    uint32_t value = 0;
    while ((event = next_event(gate->monitor, &value)) != 0 &&
           event != ZMQ_EVENT_MONITOR_STOPPED) {
        bool refused = is_refusal(&gate->newcomers, event, value);
        if (!told && refused)
            gw__notice("%s: somebody without the key of this cluster was "
                       "refused; others will be too, without a word",
                       gate->place);
        told |= refused;
    }
    return NULL;
}

/* Signals are for the process's own threads. */
static bool start_thread(struct gw__gate *gate)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&gate->thread, NULL, watch, gate) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static enum gw_err begin(struct gw__gate *gate, void *context,
                         struct gw_error *why)
{
    char name[40];
    snprintf(name, sizeof name, "inproc://gate-%p", gate->socket);
    if (zmq_socket_monitor(gate->socket, name, WATCHED) != 0)
        return gw_fail_errno(why, "watching %s", gate->place);
    gate->monitor = zmq_socket(context, ZMQ_PAIR);
    if (!gate->monitor || zmq_connect(gate->monitor, name) != 0 ||
        !start_thread(gate)) {
        gw_fail_errno(why, "watching %s", gate->place);
        zmq_socket_monitor(gate->socket, NULL, 0);
        if (gate->monitor)
            zmq_close(gate->monitor);
        return why ? why->code : GW_ESYS;
    }
    return GW_OK;
}

enum gw_err gw__gate_open(void *context, void *socket, const char *place,
                          struct gw__gate **opened, struct gw_error *why)
{
    struct gw__gate *gate = calloc(1, sizeof *gate);
    *opened = NULL;
    if (!gate)
        return gw_fail(why, GW_ENOMEM, "watching %s", place);
    gate->socket = socket;
    snprintf(gate->place, sizeof gate->place, "%s", place);
    enum gw_err err = begin(gate, context, why);
    if (err) {
        free(gate);
        return err;
    }
    *opened = gate;
    return GW_OK;
}

/* The end of the monitor is its last event, which ends the thread. */
void gw__gate_close(struct gw__gate **opened)
{
    struct gw__gate *gate = *opened;
    if (!gate)
        return;
    *opened = NULL;
    zmq_socket_monitor(gate->socket, NULL, 0);
    pthread_join(gate->thread, NULL);
    zmq_close(gate->monitor);
    free(gate);
}
