/* SPDX-License-Identifier: MIT
 *
 * Events, and sleeping until there is one. The set reports states, not edges:
 * a socket with unread bytes is reported again.
 */
#include "messenger_socket.h"

#include "wire/epoll_wait.h"

#include <sys/eventfd.h>
#include <unistd.h>

bool gw__messenger_listen(struct gw__messenger_socket *s, int fd,
                          enum gw__messenger_source *owner, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = owner};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void forget_events(struct gw__messenger_socket *s,
                          const enum gw__messenger_source *owner)
{
    for (int i = s->event_at; i < s->event_count; i++)
        if (s->events[i].data.ptr == owner)
            s->events[i].data.ptr = NULL;
}

void gw__messenger_relisten(struct gw__messenger_socket *s, int fd,
                            enum gw__messenger_source *owner, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = owner};
    int set = s->epoll_fd;
    if (events == 0) {
        forget_events(s, owner);
        (void)epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
    } else if (epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) != 0) {
        (void)epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    }
}

void gw__messenger_unlisten(struct gw__messenger_socket *s, int fd,
                            const enum gw__messenger_source *owner)
{
    forget_events(s, owner);
    close(fd);
}

void gw__messenger_remind(struct gw__messenger_socket *s, uint64_t due_ns)
{
    if (s->due_ns > due_ns)
        s->due_ns = due_ns;
}

/* ---- events ---- */

/* The bell only ends a sleep, so it is not counted. */
static void silence_bell(struct gw__messenger_socket *s)
{
    eventfd_t rings;
    forget_events(s, &s->bell_source);
    (void)eventfd_read(s->bell, &rings);
}

static void skip_handled(struct gw__messenger_socket *s)
{
    while (s->event_at < s->event_count && !s->events[s->event_at].data.ptr)
        s->event_at++;
}

/* Waits for `ns` if there are no events yet. */
static void fetch_events(struct gw__messenger_socket *s, uint64_t ns)
{
    if (s->event_at < s->event_count)
        return;
    s->event_at = 0;
    s->event_count =
        ns ? gw__epoll_wait_ns(s->epoll_fd, s->events, GW__MESSENGER_EVENTS, ns)
           : epoll_wait(s->epoll_fd, s->events, GW__MESSENGER_EVENTS, 0);
    for (int i = 0; i < s->event_count; i++)
        if (s->events[i].data.ptr == &s->bell_source)
            silence_bell(s);
    skip_handled(s);
}

static void handle_event(struct gw__messenger_socket *s,
                         const struct epoll_event *event)
{
    enum gw__messenger_source *source = event->data.ptr;
    if (!source)
        return;
    switch (*source) {
    case GW__MESSENGER_BELL:
        break;
    case GW__MESSENGER_DOOR:
        gw__messenger_door_event(s);
        break;
    case GW__MESSENGER_IN:
        gw__messenger_conn_read(s, (struct gw__messenger_conn *)source);
        break;
    case GW__MESSENGER_OUT:
        gw__messenger_stream_event(s, (struct gw__messenger_stream *)source,
                                   event->events);
        break;
    }
}

void gw__messenger_handle_events(struct gw__messenger_socket *s)
{
    fetch_events(s, 0);
    while (s->event_at < s->event_count) {
        struct epoll_event event = s->events[s->event_at++];
        handle_event(s, &event);
    }
}

/* Messages that wait leave also while the user does not want to receive. */
static bool handle_room(struct gw__messenger_socket *s)
{
    bool any = false;
    fetch_events(s, 0);
    for (int i = s->event_at; i < s->event_count; i++) {
        struct epoll_event event = s->events[i];
        enum gw__messenger_source *source = event.data.ptr;
        if (source && *source == GW__MESSENGER_OUT) {
            s->events[i].data.ptr = NULL;
            handle_event(s, &event);
            any = true;
        }
    }
    skip_handled(s);
    return any;
}

static void try_again(struct gw__messenger_socket *s)
{
    s->due_ns = UINT64_MAX;
    if (s->door_shut)
        gw__messenger_door_event(s);
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        struct gw__messenger_stream *out = &s->peers[node].out;
        gw__messenger_stream_push(s, out);
        if (out->known && out->first && out->fd < 0)
            gw__messenger_remind(s, out->dial_ns);
    }
}

bool gw__messenger_socket_tend(struct gw__messenger *messenger)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    if (s->due_ns != UINT64_MAX && gw_now_ns() >= s->due_ns)
        try_again(s);
    return s->full_count > 0 && handle_room(s);
}

/* ---- sleeping ---- */

bool gw__messenger_socket_ready(struct gw__messenger *messenger)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    if (!s->ready)
        fetch_events(s, 0);
    return s->ready || s->event_at < s->event_count;
}

/* The caller has already stored the change that the sleeper checks after
 * setting `sleeping`. */
void gw__messenger_socket_rouse(struct gw__messenger *messenger)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&s->sleeping))
        (void)eventfd_write(s->bell, 1);
}

void gw__messenger_socket_sleep(struct gw__messenger *messenger,
                                uint64_t deadline_ns)
{
    static const uint64_t longest_nap_ns = 3600 * 1000000000ULL;
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    atomic_store(&s->sleeping, true);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t now_ns = gw_now_ns();
    if (deadline_ns > s->due_ns)
        deadline_ns = s->due_ns;
    if (!gw__messenger_socket_ready(messenger) &&
        !atomic_load(&messenger->woken) && now_ns < deadline_ns) {
        uint64_t left_ns = deadline_ns - now_ns;
        fetch_events(s, left_ns < longest_nap_ns ? left_ns : longest_nap_ns);
    }
    atomic_store(&s->sleeping, false);
}
