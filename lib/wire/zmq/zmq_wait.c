/* SPDX-License-Identifier: MIT
 *
 * Sleeping until something changes.
 *
 * Each change is reported once: a link whose slice has been reported, and which
 * the user has not looked at since, does not end the next wait. So a user who
 * does not want the slice does not spin.
 *
 * ZMQ_FD signals commands to a socket, not messages, and each only once; any
 * call on the socket processes them. A socket that was read until it was empty,
 * and not used since, can be slept on; for others ZMQ_EVENTS is read first. One
 * epoll set has all descriptors, so that a sleep costs the same for one peer
 * and for a hundred. An event of a lane's descriptor makes that lane `touched`.
 * (ppoll on all of them took 1 us more of a round trip of 18 over tcp with 2
 * ranks, and 2 to 4 of a barrier of 35 with 4.) There is no spinning: ranks are
 * pinned, and libzmq's thread needs the core (zmq_open.c).
 */
#include "wire/epoll_wait.h"
#include "zmq_wire.h"

#include <sys/eventfd.h>

/* While a change can be noticed only by the passing of time. */
static const uint64_t unsettled_ns = 5 * 1000000U;

static struct gw__zmq_lane *head_lane(const struct gw__zmq *zmq,
                                      const struct gw__zmq_link *link)
{
    return &link->lanes[link->received % zmq->lanes];
}

static bool has_slice(struct gw__zmq_lane *lane)
{
    int events = 0;
    size_t size = sizeof events;
    if (!lane->touched)
        return false;
    lane->touched = false;
    return zmq_getsockopt(lane->socket, ZMQ_EVENTS, &events, &size) == 0 &&
           (events & ZMQ_POLLIN);
}

/* True: notes changed what the user may do with this link. */
static bool link_changed(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    uint64_t released = link->released_by_peer;
    enum gw__zmq_state state = link->state;
    bool over = zmq->over;
    gw__zmq_receive(zmq, peer);
    return released != link->released_by_peer || state != link->state ||
           over != zmq->over;
}

static bool any_returned(struct gw__zmq *zmq)
{
    uint64_t returned = atomic_load(&zmq->returned);
    if (!zmq->wants_returned || returned == zmq->returned_seen)
        return false;
    zmq->returned_seen = returned;
    zmq->wants_returned = false;
    return true;
}

/* Is there a slice to look at? */
static bool has_head(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    return !zmq->over && link->awaited && has_slice(head_lane(zmq, link));
}

/* Changes that no descriptor will report any more. */
static bool any_unannounced(struct gw__zmq *zmq)
{
    bool any = false;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r == zmq->wire.rank)
            continue;
        if (link->control->touched)
            any |= link_changed(zmq, r);
        if (has_head(zmq, r) && link->awaited) {
            link->awaited = false;
            any = true;
        }
    }
    return any_returned(zmq) || any;
}

/* True while time alone may change a link: a process has ended whose connection
 * is still open, or slices of a lost or closed peer may still arrive. */
static bool is_unsettled(const struct gw__zmq_link *link)
{
    switch (link->state) {
    case GW__LINK_UP:
        return link->ended_ns != 0;
    case GW__LINK_CLOSED:
        return link->awaited && link->received < link->due;
    default:
        return link->awaited && !link->drained;
    }
}

/* A descriptor with `touched` reports only edges: a user who does not want its
 * event now must not wake for it again and again. */
bool gw__zmq_listen(struct gw__zmq *zmq, int fd, bool both, bool *touched)
{
    struct epoll_event event = {.events = EPOLLIN | (both ? EPOLLOUT : 0U) |
                                          (touched ? EPOLLET : 0U),
                                .data.ptr = touched};
    return epoll_ctl(zmq->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool gw__zmq_doze(struct gw__zmq *zmq, uint64_t ns)
{
    enum { MOST = 32 };
    struct epoll_event events[MOST];
    bool ended = false;
    int count = gw__epoll_wait_ns(zmq->epoll_fd, events, MOST, ns);
    for (int i = 0; i < count; i++) {
        bool *touched = events[i].data.ptr;
        if (touched)
            *touched = true;
        else
            ended = true;
    }
    if (ended) {
        eventfd_t rings;
        (void)eventfd_read(zmq->bell, &rings);
        gw__zmq_receive_ends(zmq);
    }
    return ended;
}

static bool any_unsettled(const struct gw__zmq *zmq)
{
    bool any = false;
    for (unsigned r = 0; r < zmq->wire.size; r++)
        any |= r != zmq->wire.rank && is_unsettled(&zmq->links[r]);
    return any;
}

/* True: the wait ends, since a buffer was returned, a process ended, or time
 * alone may have changed a link. */
static bool sleep_until(struct gw__zmq *zmq, uint64_t left)
{
    bool unsettled = any_unsettled(zmq);
    if (unsettled && left > unsettled_ns)
        left = unsettled_ns;
    atomic_store(&zmq->sleeping, zmq->wants_returned);
    bool any = any_returned(zmq); /* returned since the last look */
    if (!any)
        any = gw__zmq_doze(zmq, left);
    atomic_store(&zmq->sleeping, false);
    return any || unsettled;
}

void gw__zmq_wait(struct gw__wire *wire, uint64_t ns)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    uint64_t deadline = gw_now_ns() + gw__wire_nap_ns(wire, ns);
    for (;;) {
        uint64_t now = gw_now_ns();
        if (any_unannounced(zmq) || now >= deadline ||
            sleep_until(zmq, deadline - now))
            return;
    }
}
