/* SPDX-License-Identifier: MIT
 *
 * Waiting on an epoll set with a timeout in nanoseconds. epoll_pwait2 has one,
 * but not every kernel has epoll_pwait2, and a communicator that waits together
 * with another one sleeps less than a millisecond at a time. Also the adaptive
 * time to spin before a sleep.
 */
#ifndef GW__EPOLL_H
#define GW__EPOLL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

/* As epoll_wait, for at most `ns`. */
static inline int gw__epoll_wait_ns(int epoll_fd, struct epoll_event *events,
                                    int most, uint64_t ns)
{
    enum { MS = 1000000 };
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000U),
                             .tv_nsec = (long)(ns % 1000000000U)};
    int count = epoll_pwait2(epoll_fd, events, most, &limit, NULL);
    if (count < 0 && errno != EINTR)
        count = epoll_wait(epoll_fd, events, most, (int)((ns + MS - 1) / MS));
    return count;
}

/* The next time to spin: doubled if the last wait was short enough to spin for
 * it, else halved; 1 to 50 us. */
static inline uint64_t gw__epoll_next_spin(uint64_t spin_ns, uint64_t waited_ns)
{
    enum { LEAST_NS = 1000, MOST_NS = 50 * 1000 };
    spin_ns = waited_ns < MOST_NS ? spin_ns * 2 : spin_ns / 2;
    if (spin_ns < LEAST_NS)
        return LEAST_NS;
    return spin_ns < MOST_NS ? spin_ns : MOST_NS;
}

#endif
