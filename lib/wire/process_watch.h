/* SPDX-License-Identifier: MIT
 *
 * Detects which peers on this host have ended.
 *
 * A pidfd becomes readable when its process ends, even as a zombie, and costs
 * nothing while the process lives. All pidfds of a watch are in one epoll set,
 * whose descriptor a sleeper can add to its own.
 */
#ifndef GW__PROCESS_WATCH_H
#define GW__PROCESS_WATCH_H

#include <gradwire/base.h>

/* The identity of a process for its peers: part of a wire's address. */
struct gw__process_watch_id {
    uint64_t host;  /* hash of boot id and pid namespace; 0: unknown */
    uint64_t start; /* start time in clock ticks, since pids are reused */
    uint32_t pid;
    uint32_t zero;
};

struct gw__process_watch {
    /* For poll(2): readable when gw__process_watch_poll has a result. -1 while
     * there is nothing to watch, or without pidfds. */
    int fd;
    unsigned capacity;
    struct gw__process_watch_entry *entries;
};

/* This process at this moment; a forked child is another one. */
void gw__process_watch_self(struct gw__process_watch_id *id);

/* Names the network namespace of this process on this host. Processes with the
 * same one reach each other's abstract Unix sockets. 0: unknown. */
uint64_t gw__process_watch_network(void);

/* Room for ranks 0 to capacity - 1. A zeroed watch may be passed to fini. */
GW_MUST_CHECK enum gw_err
gw__process_watch_init(struct gw__process_watch *watch, unsigned capacity,
                       struct gw_error *why);
void gw__process_watch_fini(struct gw__process_watch *watch);

/* From now on gw__process_watch_poll returns `rank` once its process has ended.
 * A peer in this very process (ranks as threads) is never returned. GW_ENOTSUP:
 * it runs on another host or in another pid namespace and is not watched. */
GW_MUST_CHECK enum gw_err
gw__process_watch_add(struct gw__process_watch *watch, unsigned rank,
                      const struct gw__process_watch_id *id,
                      struct gw_error *why);

/* Is the process of `rank` stopped, as by SIGSTOP? Reads /proc. False also for a
 * peer that is not watched. */
bool gw__process_watch_stopped(const struct gw__process_watch *watch,
                               unsigned rank);

/* A rank whose process has ended, each one once; -1: no more. */
int gw__process_watch_poll(struct gw__process_watch *watch);

#endif
