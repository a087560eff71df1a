/* SPDX-License-Identifier: MIT
 *
 * Certain facts about peers on this host: which of them have ended.
 *
 * A pidfd becomes readable when its process ends, a zombie included, and costs
 * nothing while the process lives. All pidfds of a watch sit behind one epoll
 * descriptor, so that a sleeper can have it among what wakes it.
 */
#ifndef GW__PROCESS_WATCH_H
#define GW__PROCESS_WATCH_H

#include <gradwire/base.h>

/* Who a process is, as its peers need to know it: part of a wire's address. */
struct gw__process_watch_id {
    uint64_t host;  /* hash of boot id and pid namespace; 0: unknown */
    uint64_t start; /* when it began, in clock ticks: pids come again */
    uint32_t pid;
    uint32_t zero;
};

struct gw__process_watch {
    int fd; /* readable when gw__process_watch_poll has something to tell, for poll(2);
               -1 while it cannot tell so (nobody watched, or no pidfds) */
    unsigned capacity;
    struct gw__process_watch_entry *entries;
};

/* This process, at this moment (a fork is another). */
void gw__process_watch_self(struct gw__process_watch_id *id);

/* Room for ranks 0 to capacity - 1. A zeroed watch may be given to fini. */
GW_MUST_CHECK enum gw_err
gw__process_watch_init(struct gw__process_watch *watch, unsigned capacity,
                       struct gw_error *why);
void gw__process_watch_fini(struct gw__process_watch *watch);

/* From now on gw__process_watch_poll names `rank` when its process has ended. A peer
 * in this very process (ranks as threads) is never named. GW_ENOTSUP: it lives
 * on another host or in another pid namespace, and is not watched. */
GW_MUST_CHECK enum gw_err
gw__process_watch_add(struct gw__process_watch *watch, unsigned rank,
                      const struct gw__process_watch_id *id,
                      struct gw_error *why);

/* A rank whose process has ended, each once; -1: no further one. */
int gw__process_watch_poll(struct gw__process_watch *watch);

#endif
