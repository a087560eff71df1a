/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The event stream of a run. A message has two frames: the topic ("e" or "c")
 * and an array of struct gw_event. An empty array is the farewell.
 */
#include "rpc_client_parts.h"

#include "common/command.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { POLL_INTERVAL_MS = 100 };

static enum gw_err poll_descriptor(struct rpc_client *client, int fd,
                                   struct gw_error *why)
{
    struct epoll_event interest = {.events = EPOLLIN};
    if (fd >= 0 && epoll_ctl(client->epoll, EPOLL_CTL_ADD, fd, &interest) != 0)
        return gw_fail_errno(why, "epoll");
    return GW_OK;
}

enum gw_err rpc_client_listen(struct rpc_client *client, bool chunks,
                              struct gw_error *why)
{
    int fd = -1;
    size_t size = sizeof fd;
    if (client->events)
        return gw_fail(why, GW_EINVAL, "the event stream is already open");
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (client->epoll < 0)
        return gw_fail_errno(why, "epoll");
    zmq_msg_init(&client->batch);
    enum gw_err code = rpc_client_connect(client, ZMQ_SUB, client->endpoint,
                                          &client->events, why);
    if (!code &&
        (zmq_setsockopt(client->events, ZMQ_SUBSCRIBE, "e", 1) != 0 ||
         (chunks && zmq_setsockopt(client->events, ZMQ_SUBSCRIBE, "c", 1)) ||
         zmq_getsockopt(client->events, ZMQ_FD, &fd, &size) != 0))
        code = gw_fail_errno(why, "the event stream");
    if (!code)
        code = poll_descriptor(client, fd, why);
    if (!code)
        code = poll_descriptor(client, client->pidfd, why);
    if (code)
        rpc_client_events_close(client);
    return code;
}

void rpc_client_events_close(struct rpc_client *client)
{
    if (client->epoll < 0)
        return;
    zmq_msg_close(&client->batch);
    if (client->events)
        zmq_close(client->events);
    close(client->epoll);
    client->events = NULL;
    client->epoll = -1;
}

/* Receives the next message, if there is one; false also for the farewell. */
static bool next_batch(struct rpc_client *client)
{
    char topic[2];
    if (client->over ||
        zmq_recv(client->events, topic, sizeof topic, ZMQ_DONTWAIT) < 0)
        return false;
    client->returned = 0;
    if (zmq_msg_recv(&client->batch, client->events, ZMQ_DONTWAIT) < 0)
        return false;
    client->over = zmq_msg_size(&client->batch) == 0;
    return !client->over;
}

static bool next_event(struct rpc_client *client, struct gw_event *event)
{
    for (;;) {
        size_t count = zmq_msg_size(&client->batch) / sizeof *event;
        if (client->returned < count) {
            const char *events = zmq_msg_data(&client->batch);
            memcpy(event, events + client->returned++ * sizeof *event,
                   sizeof *event);
            return true;
        }
        if (!next_batch(client))
            return false;
    }
}

enum gw_err rpc_client_event(struct rpc_client *client, uint64_t deadline_ns,
                             struct gw_event *event, struct gw_error *why)
{
    zmq_pollitem_t items[] = {
        {.socket = client->events, .events = ZMQ_POLLIN},
        {.fd = client->pidfd, .events = ZMQ_POLLIN},
    };
    if (!client->events)
        return gw_fail(why, GW_EINVAL, "the event stream is not open");
    for (;;) {
        if (next_event(client, event))
            return GW_OK;
        /* Asks for death only when the queue is empty, because that costs a
         * system call. Events that arrived before the death still count. */
        bool dead = rpc_client_dead(client);
        if (dead && next_event(client, event))
            return GW_OK;
        if (client->over || dead)
            return rpc_client_ended(client->run, why), GW_ECLOSED;
        if (interrupted || gw_now_ns() >= deadline_ns)
            return GW_PENDING;
        if (zmq_poll(items, client->pidfd >= 0 ? 2 : 1,
                     rpc_client_ms(deadline_ns, POLL_INTERVAL_MS)) < 0 &&
            errno == EINTR)
            return GW_PENDING;
    }
}

int rpc_client_fd(const struct rpc_client *client)
{
    return client->epoll;
}
