/* SPDX-License-Identifier: MIT
 *
 * Watches processes through pidfds: see process_watch.h. A pid may have been
 * reused since its owner announced it, so the start time is compared after the
 * pidfd is open: from then on the pidfd refers to that very process.
 *
 * Kernels before 5.3 and some sandboxes lack pidfd_open. There each poll reads
 * the same facts from /proc, which costs more and cannot wake a sleeper.
 */
#include "process_inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum entry_state { UNMONITORED, BY_PIDFD, BY_PROC, ENDED };

struct gw__process_watch_entry {
    enum entry_state state;
    int pidfd; /* BY_PIDFD */
    struct gw__process_watch_id id;
};

/* Hash of the kernel's boot id and a namespace; 0: unknown. */
static uint64_t namespace_id(const char *path)
{
    char boot[64];
    struct stat space;
    if (!gw__process_watch_read("/proc/sys/kernel/random/boot_id", boot,
                                sizeof boot) ||
        stat(path, &space) != 0)
        return 0;
    uint64_t numbers[2] = {space.st_dev, space.st_ino};
    return gw_hash(numbers, sizeof numbers, gw_hash(boot, strlen(boot), 0));
}

uint64_t gw__process_watch_network(void)
{
    return namespace_id("/proc/self/ns/net");
}

static bool process_has_ended(const struct gw__process_watch_id *id)
{
    return gw__process_watch_state(id->pid, id->start) ==
           GW__PROCESS_WATCH_ENDED;
}

void gw__process_watch_self(struct gw__process_watch_id *id)
{
    char state;
    unsigned long long start = 0;
    *id = (struct gw__process_watch_id){.pid = (uint32_t)getpid()};
    if (gw__process_watch_stat(id->pid, &state, &start))
        id->host = namespace_id("/proc/self/ns/pid");
    id->start = start;
}

enum gw_err gw__process_watch_init(struct gw__process_watch *watch,
                                   unsigned capacity, struct gw_error *why)
{
    *watch = (struct gw__process_watch){.fd = -1, .capacity = capacity};
    watch->entries = calloc(capacity, sizeof *watch->entries);
    if (!watch->entries)
        return gw_fail(why, GW_ENOMEM, "watch of %u peers", capacity);
    return GW_OK;
}

void gw__process_watch_fini(struct gw__process_watch *watch)
{
    if (!watch->entries)
        return;
    for (unsigned r = 0; r < watch->capacity; r++)
        if (watch->entries[r].state == BY_PIDFD)
            close(watch->entries[r].pidfd);
    if (watch->fd >= 0)
        close(watch->fd);
    free(watch->entries);
    *watch = (struct gw__process_watch){.fd = -1};
}

/* False: no pidfds here. */
static bool add_pidfd(struct gw__process_watch *watch, unsigned rank, int pidfd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = rank};
    if (watch->fd < 0)
        watch->fd = epoll_create1(EPOLL_CLOEXEC);
    return watch->fd >= 0 &&
           epoll_ctl(watch->fd, EPOLL_CTL_ADD, pidfd, &event) == 0;
}

enum gw_err gw__process_watch_add(struct gw__process_watch *watch,
                                  unsigned rank,
                                  const struct gw__process_watch_id *id,
                                  struct gw_error *why)
{
    struct gw__process_watch_id self;
    gw__process_watch_self(&self);
    if (id->host == 0 || id->host != self.host)
        return gw_fail(why, GW_ENOTSUP,
                       "rank %u is on another host or in another pid namespace",
                       rank);
    struct gw__process_watch_entry *entry = &watch->entries[rank];
    entry->id = *id;
    if (id->pid == self.pid)
        return GW_OK;
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)id->pid, 0U);
    if (pidfd >= 0 && add_pidfd(watch, rank, pidfd)) {
        entry->state = BY_PIDFD;
        entry->pidfd = pidfd;
    } else {
        entry->state = BY_PROC;
        if (pidfd >= 0)
            close(pidfd);
    }
    if (process_has_ended(id)) {
        if (entry->state == BY_PIDFD)
            close(pidfd);
        entry->state = ENDED;
    }
    return GW_OK;
}

/* A forked child's copy of the pidfd would keep it in the epoll set, so it is
 * removed explicitly. */
static int ended_by_pidfd(struct gw__process_watch *watch)
{
    struct epoll_event event;
    if (watch->fd < 0 || epoll_wait(watch->fd, &event, 1, 0) != 1)
        return -1;
    struct gw__process_watch_entry *entry = &watch->entries[event.data.u32];
    epoll_ctl(watch->fd, EPOLL_CTL_DEL, entry->pidfd, NULL);
    close(entry->pidfd);
    entry->state = UNMONITORED;
    return (int)event.data.u32;
}

static int ended_otherwise(struct gw__process_watch *watch)
{
    for (unsigned r = 0; r < watch->capacity; r++) {
        struct gw__process_watch_entry *entry = &watch->entries[r];
        if (entry->state == ENDED ||
            (entry->state == BY_PROC && process_has_ended(&entry->id))) {
            entry->state = UNMONITORED;
            return (int)r;
        }
    }
    return -1;
}

bool gw__process_watch_stopped(const struct gw__process_watch *watch,
                               unsigned rank)
{
    const struct gw__process_watch_entry *entry = &watch->entries[rank];
    return (entry->state == BY_PIDFD || entry->state == BY_PROC) &&
           gw__process_watch_state(entry->id.pid, entry->id.start) ==
               GW__PROCESS_WATCH_STOPPED;
}

int gw__process_watch_poll(struct gw__process_watch *watch)
{
    int rank = ended_by_pidfd(watch);
    return rank >= 0 ? rank : ended_otherwise(watch);
}
