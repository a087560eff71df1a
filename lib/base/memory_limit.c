/* SPDX-License-Identifier: MIT
 *
 * See memory_limit.h.
 */
#include "memory_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The limit of this process's container; without one UINT64_MAX. */
static uint64_t container_bytes(void)
{
    char text[32] = "";
    uint64_t bytes = UINT64_MAX;
    int fd = open("/sys/fs/cgroup/memory.max", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bytes;
    if (read(fd, text, sizeof text - 1) > 0 &&
        sscanf(text, "%" SCNu64, &bytes) != 1)
        bytes = UINT64_MAX; /* "max" */
    close(fd);
    return bytes;
}

uint64_t gw__memory_limit(void)
{
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = container_bytes();
    if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page < bytes)
        bytes = (uint64_t)pages * (uint64_t)page;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes;
}
