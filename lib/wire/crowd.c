/* SPDX-License-Identifier: MIT
 *
 * The load of the machine, as a thread that yields its core notices it.
 */
#include "crowd.h"

#include <gradwire/base.h>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fourth field of the file is "runnable/all". */
unsigned gw__runnable_threads(void)
{
    char text[128];
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    const char *slash = strchr(text, '/');
    while (slash && slash > text && slash[-1] != ' ')
        slash--;
    return slash ? (unsigned)strtoul(slash, NULL, 10) : 0;
}

uint64_t gw__crowd_yield(struct gw__crowd *crowd, unsigned peers)
{
    enum { SLICE_NS = 1000000, WAITS = 1024 };
    uint64_t before_ns = gw_now_ns();
    sched_yield();
    uint64_t took_ns = gw_now_ns() - before_ns;
    if (took_ns > SLICE_NS && gw__runnable_threads() > peers)
        crowd->waits = WAITS;
    return took_ns;
}
