/* SPDX-License-Identifier: MIT
 *
 * Sleeping until something changes.
 *
 * Each change is reported once: a link whose slice has been reported, and which
 * the user has not looked at since, does not end the next wait. So a user who
 * does not want the slice does not spin.
 *
 * One epoll set has all descriptors, and reports only edges. A wait first spins
 * on the set if the last waits were short: a peer on another core often answers
 * sooner than a sleeper wakes. (Half a round trip of 8 bytes over tcp: 5.5 us,
 * and 25 if each wait sleeps. 4 ranks on 2 cores, all-reduce of 8 bytes: 50 us,
 * and 120 if the spin does not yield.) On a crowded machine (crowd.h) it sleeps.
 */
#include "socket_wire.h"
#include "wire/epoll_wait.h"

/* While a change can be noticed only by the passing of time. */
static const uint64_t unsettled_ns = 5 * 1000000U;

/* The data of events: whose connection it is. */
static const uint32_t no_peer = UINT32_MAX;

bool gw__socket_listen(struct gw__socket *s, int fd, unsigned peer,
                       unsigned lane)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                .data.u64 = (uint64_t)peer << 32 | lane};
    if (lane == s->lanes)
        event.events = EPOLLIN | EPOLLET;
    else
        s->links[peer].lanes[lane].in.readable = true;
    s->links[peer].control_touched = true;
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0;
}

bool gw__socket_listen_any(struct gw__socket *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                .data.u64 = (uint64_t)no_peer << 32};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void apply_event(struct gw__socket *s, const struct epoll_event *event,
                        bool *ended)
{
    uint32_t peer = (uint32_t)(event->data.u64 >> 32);
    uint32_t lane = (uint32_t)event->data.u64;
    if (peer == no_peer) {
        *ended = true;
    } else if (lane == s->lanes) {
        s->links[peer].control_touched = true;
    } else {
        struct gw__socket_lane *data = &s->links[peer].lanes[lane];
        data->in.readable |=
            !data->in.ended && (event->events & ~(uint32_t)EPOLLOUT);
        data->out.full &= !(event->events & EPOLLOUT);
    }
}

bool gw__socket_doze(struct gw__socket *s, uint64_t ns)
{
    enum { MOST = 64 };
    struct epoll_event events[MOST];
    bool ended = false;
    int count = ns ? gw__epoll_wait_ns(s->epoll_fd, events, MOST, ns)
                   : epoll_wait(s->epoll_fd, events, MOST, 0);
    for (int i = 0; i < count; i++)
        apply_event(s, &events[i], &ended);
    if (ended)
        gw__socket_receive_ends(s);
    return count > 0;
}

/* True: notes changed what the user may do with this link. */
static bool link_changed(struct gw__socket *s, unsigned peer)
{
    enum gw__socket_state state = s->links[peer].state;
    bool over = s->over;
    gw__socket_receive(s, peer);
    return state != s->links[peer].state || over != s->over;
}

static bool has_slice(const struct gw__socket *s,
                      const struct gw__socket_link *link)
{
    return !s->over && link->awaited &&
           gw__socket_in_ready(&link->lanes[link->received % s->lanes].in);
}

/* Changes that were not reported yet. */
static bool any_change(struct gw__socket *s)
{
    bool any = false;
    for (unsigned r = 0; r < s->wire.size; r++) {
        struct gw__socket_link *link = &s->links[r];
        if (r == s->wire.rank)
            continue;
        if (link->control_touched)
            any |= link_changed(s, r);
        if (gw__socket_push(s, r, false) && s->wants_sent)
            any = true;
        if (has_slice(s, link)) {
            link->awaited = false;
            any = true;
        }
    }
    s->wants_sent &= !any;
    return any;
}

/* True while time alone may change a link: a process has ended whose connection
 * is still open, or slices of a lost or closed peer may still arrive. */
static bool is_unsettled(const struct gw__socket_link *link)
{
    switch (link->state) {
    case GW__SOCKET_UP:
        return link->ended_ns || link->broken_ns;
    case GW__SOCKET_CLOSED:
        return link->awaited && link->received < link->due;
    default:
        return link->awaited && !link->drained;
    }
}

static bool any_unsettled(const struct gw__socket *s)
{
    bool any = false;
    for (unsigned r = 0; r < s->wire.size; r++)
        any |= r != s->wire.rank && is_unsettled(&s->links[r]);
    return any;
}

/* True: something came while spinning. */
static bool spin(struct gw__socket *s, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t until_ns = now_ns + s->spin_ns;
    bool any = false;
    until_ns = until_ns < deadline_ns ? until_ns : deadline_ns;
    do {
        any = gw__socket_doze(s, 0) && any_change(s);
        if (!any)
            gw__crowd_yield(&s->crowd, s->wire.size);
    } while (!any && gw_now_ns() < until_ns && !gw__is_crowded(&s->crowd));
    return any;
}

static void sleep_until(struct gw__socket *s, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = gw_now_ns();
        bool unsettled = any_unsettled(s);
        if (now_ns >= deadline_ns)
            return;
        uint64_t left_ns = deadline_ns - now_ns;
        gw__socket_doze(s, unsettled && left_ns > unsettled_ns ? unsettled_ns
                                                               : left_ns);
        if (any_change(s) || unsettled)
            return;
    }
}

void gw__socket_wait(struct gw__wire *wire, uint64_t ns)
{
    struct gw__socket *s = gw__socket_of(wire);
    uint64_t begin = gw_now_ns(), deadline = begin + gw__wire_nap_ns(wire, ns);
    if (any_change(s))
        return;
    if (gw__is_crowded(&s->crowd) || !spin(s, begin, deadline)) {
        sleep_until(s, deadline);
        gw__crowd_slept(&s->crowd);
    }
    s->spin_ns = gw__epoll_next_spin(s->spin_ns, gw_now_ns() - begin);
}
