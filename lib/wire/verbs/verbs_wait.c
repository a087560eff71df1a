/* SPDX-License-Identifier: MIT
 *
 * Sleeping until something changes.
 *
 * Each change is reported once: a link with an event since the user last looked
 * at it ends one wait, and only one. Before the sleep the queue is polled for a
 * while, since waking up takes longer than a small message. The time is doubled
 * when something came within it and halved when nothing did, from 1 to 50 us.
 * Then the bell is armed, the queue polled once more, and one epoll set waits
 * for the completion channel, the connection manager and the ends of processes.
 */
#include "verbs.h"
#include "wire/epoll_wait.h"

/* While a change can be noticed only by the passing of time. */
static const uint64_t ended_poll_ns = 5 * 1000000U;

static bool read_changes(struct gw__verbs *verbs)
{
    bool any = verbs->state_changed;
    verbs->state_changed = false;
    for (unsigned r = 0; r < verbs->wire.size; r++) {
        struct gw__verbs_link *link = &verbs->links[r];
        any |= link->in_changed || link->out_changed;
        link->in_changed = link->out_changed = false;
    }
    return any;
}

/* Is there a process that has ended while its connection is still open? */
static bool has_ended_peer(const struct gw__verbs *verbs)
{
    bool any = false;
    for (unsigned r = 0; r < verbs->wire.size; r++)
        any |=
            verbs->links[r].ended_ns && verbs->links[r].state == GW__VERBS_UP;
    return any;
}

static bool spin(struct gw__verbs *verbs, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t end_ns = now_ns + verbs->spin_ns;
    end_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
    while (now_ns < end_ns) {
        if (gw__verbs_progress(verbs)) {
            verbs->spin_ns = gw__epoll_next_spin(verbs->spin_ns, 0);
            return true;
        }
        now_ns = gw_now_ns();
    }
    verbs->spin_ns = gw__epoll_next_spin(verbs->spin_ns, UINT64_MAX);
    return false;
}

static void answer_bell(struct gw__verbs *verbs)
{
    struct ibv_cq *queue;
    void *context;
    if (ibv_get_cq_event(verbs->bell, &queue, &context) != 0)
        return;
    ibv_ack_cq_events(queue, 1);
    verbs->armed = false;
}

void gw__verbs_doze(struct gw__verbs *verbs, uint64_t ns)
{
    enum { MOST = 4 };
    struct epoll_event events[MOST];
    if (!verbs->armed) {
        verbs->armed = ibv_req_notify_cq(verbs->queue, 0) == 0;
        if (gw__verbs_progress(verbs))
            return;
    }
    int count = gw__epoll_wait_ns(verbs->epoll_fd, events, MOST, ns);
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == verbs->bell->fd)
            answer_bell(verbs);
        else if (events[i].data.fd == verbs->events->fd)
            gw__verbs_receive_events(verbs);
        else
            gw__verbs_receive_ends(verbs);
    }
}

void gw__verbs_wait(struct gw__wire *wire, uint64_t ns)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    uint64_t deadline = gw_now_ns() + gw__wire_nap_ns(wire, ns);
    for (;;) {
        gw__verbs_progress(verbs);
        uint64_t now = gw_now_ns();
        if (read_changes(verbs) || now >= deadline)
            return;
        if (spin(verbs, now, deadline))
            continue;
        bool ended_peer = has_ended_peer(verbs);
        uint64_t left = deadline - now;
        gw__verbs_doze(verbs, ended_peer && left > ended_poll_ns ? ended_poll_ns
                                                                 : left);
        if (ended_peer)
            return;
    }
}
