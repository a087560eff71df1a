/* SPDX-License-Identifier: MIT
 *
 * Sleeping until something changes.
 *
 * Each change is told once: a link whose slice has been announced, and which
 * the user has not looked at since, does not end the next wait. So a user who
 * is not interested in it does not spin.
 *
 * ZMQ_FD announces commands to a socket, not messages, and only once; so before
 * sleeping on it ZMQ_EVENTS is asked, which digests them. Notes and monitors
 * are read until empty whenever they are touched, and so need no asking.
 */
#include "zmq_wire.h"

#include <sys/eventfd.h>
#include <time.h>

/* While something is to be seen by the passing of time alone. */
static const uint64_t unsettled_ns = 5 * 1000000U;

static bool has_slice(struct gw__zmq_lane *lane)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(lane->socket, ZMQ_EVENTS, &events, &size) == 0
        && (events & ZMQ_POLLIN);
}

static bool any_slice(struct gw__zmq *zmq)
{
    bool any = false;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r == zmq->wire.rank || !link->awaited)
            continue;
        if (has_slice(&link->lanes[link->received % zmq->lanes])) {
            link->awaited = false;
            any = true;
        }
    }
    return any;
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

/* Notes that no descriptor will announce. True when there was one. */
static bool any_unheard(struct gw__zmq *zmq)
{
    bool any = false;
    for (unsigned r = 0; r < zmq->wire.size; r++)
        if (r != zmq->wire.rank && zmq->links[r].unheard) {
            const struct gw__zmq_link before = zmq->links[r];
            gw__zmq_hear(zmq, r);
            any |= before.taken != zmq->links[r].taken
                || before.state != zmq->links[r].state;
        }
    return any;
}

/* True while time alone may change a link: a process ended whose connection is
 * still open, or slices of a peer that is gone may yet arrive. */
static bool is_unsettled(const struct gw__zmq_link *link)
{
    if (link->state == GW__LINK_UP)
        return link->ended_ns != 0;
    return link->awaited && link->received < link->due;
}

static void want(struct gw__zmq *zmq, nfds_t *count, int fd)
{
    zmq->polled[(*count)++] = (struct pollfd) { .fd = fd, .events = POLLIN };
}

/* What wakes this rank; the order is that of `hear_woken`. */
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
        bool lane = link->awaited && !zmq->over;
        want(zmq, &count, link->notes->fd);
        want(zmq, &count, link->disconnected ? -1 : link->monitor_fd);
        want(zmq, &count,
            lane ? link->lanes[link->received % zmq->lanes].fd : -1);
        *unsettled |= is_unsettled(link);
    }
    return count;
}

/* True when the user should look: a note came, a connection or process ended.
 * Lanes and the bell are asked by `any_slice` and `any_returned`. */
static bool hear_woken(struct gw__zmq *zmq)
{
    const struct pollfd *polled = zmq->polled;
    eventfd_t rings;
    bool any = false;
    if (polled[0].revents)
        (void)eventfd_read(zmq->bell, &rings);
    if (polled[1].revents) {
        gw__zmq_hear_ends(zmq);
        any = true;
    }
    polled += 2;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        if (r == zmq->wire.rank)
            continue;
        if (polled[0].revents || polled[1].revents) {
            gw__zmq_hear(zmq, r);
            any = true;
        }
        polled += 3;
    }
    return any;
}

static bool any_news(struct gw__zmq *zmq)
{
    bool notes = any_unheard(zmq);
    return (!zmq->over && any_slice(zmq)) || any_returned(zmq) || notes;
}

void gw__zmq_wait(struct gw__wire *wire, uint64_t ns)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    uint64_t now = gw_now_ns(), deadline = now + ns;
    bool unsettled = false, woken = false;
    while (!woken && !any_news(zmq) && now < deadline && !unsettled) {
        nfds_t count = gather(zmq, &unsettled);
        uint64_t left = deadline - now;
        if (unsettled && left > unsettled_ns)
            left = unsettled_ns;
        struct timespec limit = { .tv_sec = (time_t)(left / 1000000000U),
            .tv_nsec = (long)(left % 1000000000U) };
        atomic_store(&zmq->sleeping, zmq->wants_returned);
        if (!any_returned(zmq)) {
            if (ppoll(zmq->polled, count, &limit, NULL) > 0)
                woken = hear_woken(zmq);
        } else
            woken = true;
        atomic_store(&zmq->sleeping, false);
        now = gw_now_ns();
    }
}
