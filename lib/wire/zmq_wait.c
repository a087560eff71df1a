/* SPDX-License-Identifier: MIT
 *
 * Sleeping until something changes.
 *
 * Each change is told once: a link whose slice has been announced, and which
 * the user has not looked at since, does not end the next wait. So a user who
 * is not interested in it does not spin.
 *
 * ZMQ_FD announces commands to a socket, not messages, and each only once; any
 * call on the socket digests them. A socket that was read until it was empty,
 * and not touched since, can be slept on; of others ZMQ_EVENTS is asked first.
 */
#include "zmq_wire.h"

#include <sys/eventfd.h>
#include <time.h>

/* While something is to be seen by the passing of time alone. */
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

/* True when notes changed what the user may do with this link. */
static bool heard_news(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    uint64_t taken = link->taken;
    enum gw__zmq_state state = link->state;
    bool over = zmq->over;
    gw__zmq_hear(zmq, peer);
    return taken != link->taken || state != link->state || over != zmq->over;
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

/* What no descriptor will announce any more. */
static bool any_unannounced(struct gw__zmq *zmq)
{
    bool any = any_returned(zmq);
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r == zmq->wire.rank)
            continue;
        if (link->notes->touched)
            any |= heard_news(zmq, r);
        if (link->awaited && !zmq->over && has_slice(head_lane(zmq, link))) {
            link->awaited = false;
            any = true;
        }
    }
    return any;
}

/* True while time alone may change a link: a process ended whose connection is
 * still open, or slices of a peer that is gone may yet arrive. */
static bool is_unsettled(const struct gw__zmq_link *link)
{
    switch (link->state) {
    case GW__LINK_UP:
        return link->ended_ns != 0;
    case GW__LINK_CLOSED:
        return link->awaited && link->received < link->due;
    default:
        return link->awaited && !link->settled;
    }
}

static void want(struct gw__zmq *zmq, nfds_t *count, int fd)
{
    zmq->polled[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* What wakes this rank, in the order in which `hear_woken` takes it. */
static nfds_t gather(struct gw__zmq *zmq, bool *unsettled)
{
    nfds_t count = 0;
    want(zmq, &count, zmq->bell);
    want(zmq, &count, zmq->watch.fd);
    *unsettled = false;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r == zmq->wire.rank)
            continue;
        bool slices = link->awaited && !zmq->over;
        want(zmq, &count, link->notes->fd);
        want(zmq, &count, link->disconnected ? -1 : link->monitor_fd);
        want(zmq, &count, slices ? head_lane(zmq, link)->fd : -1);
        *unsettled |= is_unsettled(link);
    }
    return count;
}

/* Takes what woke this rank; true when the user should look. */
static bool hear_woken(struct gw__zmq *zmq)
{
    const struct pollfd *polled = zmq->polled;
    eventfd_t rings;
    bool any = false;
    if (polled[0].revents) {
        (void)eventfd_read(zmq->bell, &rings);
        any |= any_returned(zmq);
    }
    if (polled[1].revents) {
        gw__zmq_hear_ends(zmq);
        any = true;
    }
    polled += 2;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        if (r == zmq->wire.rank)
            continue;
        if (polled[0].revents || polled[1].revents)
            any |= heard_news(zmq, r);
        if (polled[2].revents) {
            zmq->links[r].awaited = false;
            any = true;
        }
        polled += 3;
    }
    return any;
}

/* False when this sleep was cut short only to let time pass. */
static bool sleep_until(struct gw__zmq *zmq, uint64_t left)
{
    bool unsettled, any;
    nfds_t count = gather(zmq, &unsettled);
    if (unsettled && left > unsettled_ns)
        left = unsettled_ns;
    struct timespec limit = {.tv_sec = (time_t)(left / 1000000000U),
                             .tv_nsec = (long)(left % 1000000000U)};
    atomic_store(&zmq->sleeping, zmq->wants_returned);
    any = any_returned(zmq); /* since it was looked at, before `sleeping` */
    if (!any && ppoll(zmq->polled, count, &limit, NULL) > 0)
        any = hear_woken(zmq);
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
