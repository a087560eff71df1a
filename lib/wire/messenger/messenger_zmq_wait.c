/* SPDX-License-Identifier: MIT
 *
 * Sleeping until a message arrives, lent memory is returned, or another thread
 * wakes us. ZMQ_FD signals commands to a socket, not messages, and each only
 * once: so ZMQ_EVENTS, which processes the commands, is read before every
 * sleep.
 */
#include "messenger_zmq.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

static const uint64_t longest_nap_ns = 3600 * 1000000000ULL;

bool gw__messenger_zmq_ready(struct gw__messenger *messenger)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    int events = 0;
    size_t size = sizeof events;
    return atomic_load_explicit(&zmq->urgent, memory_order_acquire) ||
           zmq->early_changed ||
           zmq_getsockopt(zmq->router, ZMQ_EVENTS, &events, &size) != 0 ||
           (events & ZMQ_POLLIN);
}

/* The caller has already stored the change that the sleeper checks after
 * setting `sleeping`. */
void gw__messenger_zmq_rouse(struct gw__messenger *messenger)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&zmq->sleeping))
        (void)eventfd_write(zmq->bell, 1);
}

void gw__messenger_zmq_sleep(struct gw__messenger *messenger,
                             uint64_t deadline_ns)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    struct pollfd polled[] = {{.fd = zmq->router_fd, .events = POLLIN},
                              {.fd = zmq->bell, .events = POLLIN}};
    eventfd_t rings;
    atomic_store(&zmq->sleeping, true);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t now_ns = gw_now_ns();
    if (!gw__messenger_zmq_ready(messenger) &&
        !atomic_load(&messenger->woken) && now_ns < deadline_ns) {
        uint64_t left_ns = deadline_ns - now_ns;
        if (left_ns > longest_nap_ns)
            left_ns = longest_nap_ns;
        struct timespec limit = {.tv_sec = (time_t)(left_ns / 1000000000U),
                                 .tv_nsec = (long)(left_ns % 1000000000U)};
        if (ppoll(polled, 2, &limit, NULL) > 0 && polled[1].revents)
            (void)eventfd_read(zmq->bell, &rings);
    }
    atomic_store(&zmq->sleeping, false);
}
