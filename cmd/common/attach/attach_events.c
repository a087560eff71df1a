/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The event stream of a run. A message has two frames: the topic ("e" or "c")
 * and an array of struct gw_event. An empty array is the farewell.
 */
#include "attach_parts.h"

#include "common/command.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

static enum gw_err poll_descriptor(struct attach *attach, int fd,
                                   struct gw_error *why)
{
    struct epoll_event interest = {.events = EPOLLIN};
    if (fd >= 0 && epoll_ctl(attach->epoll, EPOLL_CTL_ADD, fd, &interest) != 0)
        return gw_fail_errno(why, "epoll");
    return GW_OK;
}

enum gw_err attach_listen(struct attach *attach, bool chunks,
                          struct gw_error *why)
{
    int fd = -1;
    size_t size = sizeof fd;
    if (attach->events)
        return gw_fail(why, GW_EINVAL, "the event stream is already open");
    attach->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (attach->epoll < 0)
        return gw_fail_errno(why, "epoll");
    zmq_msg_init(&attach->batch);
    enum gw_err code =
        attach_connect(attach, ZMQ_SUB, attach->endpoint, &attach->events, why);
    if (!code &&
        (zmq_setsockopt(attach->events, ZMQ_SUBSCRIBE, "e", 1) != 0 ||
         (chunks && zmq_setsockopt(attach->events, ZMQ_SUBSCRIBE, "c", 1)) ||
         zmq_getsockopt(attach->events, ZMQ_FD, &fd, &size) != 0))
        code = gw_fail_errno(why, "the event stream");
    if (!code)
        code = poll_descriptor(attach, fd, why);
    if (!code)
        code = poll_descriptor(attach, attach->pidfd, why);
    if (code)
        attach_events_close(attach);
    return code;
}

void attach_events_close(struct attach *attach)
{
    if (attach->epoll < 0)
        return;
    zmq_msg_close(&attach->batch);
    if (attach->events)
        zmq_close(attach->events);
    close(attach->epoll);
    attach->events = NULL;
    attach->epoll = -1;
}

/* Receives the next message, if there is one; false also for the farewell. */
static bool next_batch(struct attach *attach)
{
    char topic[2];
    if (attach->over ||
        zmq_recv(attach->events, topic, sizeof topic, ZMQ_DONTWAIT) < 0)
        return false;
    attach->taken = 0;
    if (zmq_msg_recv(&attach->batch, attach->events, ZMQ_DONTWAIT) < 0)
        return false;
    attach->over = zmq_msg_size(&attach->batch) == 0;
    return !attach->over;
}

static bool next_event(struct attach *attach, struct gw_event *event)
{
    for (;;) {
        size_t count = zmq_msg_size(&attach->batch) / sizeof *event;
        if (attach->taken < count) {
            const char *events = zmq_msg_data(&attach->batch);
            memcpy(event, events + attach->taken++ * sizeof *event,
                   sizeof *event);
            return true;
        }
        if (!next_batch(attach))
            return false;
    }
}

enum gw_err attach_event(struct attach *attach, uint64_t deadline_ns,
                         struct gw_event *event, struct gw_error *why)
{
    zmq_pollitem_t items[] = {
        {.socket = attach->events, .events = ZMQ_POLLIN},
        {.fd = attach->pidfd, .events = ZMQ_POLLIN},
    };
    if (!attach->events)
        return gw_fail(why, GW_EINVAL, "the event stream is not open");
    for (;;) {
        if (next_event(attach, event))
            return GW_OK;
        /* Asks for death only when the queue is empty, because that costs a
         * system call. Events that arrived before the death still count. */
        bool dead = attach_dead(attach);
        if (dead && next_event(attach, event))
            return GW_OK;
        if (attach->over || dead)
            return attach_ended(attach->run, why), GW_ECLOSED;
        if (interrupted || gw_now_ns() >= deadline_ns)
            return GW_PENDING;
        if (zmq_poll(items, attach->pidfd >= 0 ? 2 : 1,
                     attach_ms(deadline_ns, LOOK_MS)) < 0 &&
            errno == EINTR)
            return GW_PENDING;
    }
}

int attach_fd(const struct attach *attach)
{
    return attach->epoll;
}
