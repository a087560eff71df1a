/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * This process's controller of a cluster, and an observer beside it: a member
 * machine (lib/cluster/member/member.h) that hears the news, says how many slots and
 * replicas there are to be, and may say that a process has ended. Both run in
 * threads of the library.
 */
#ifndef PSNODE_CONTROLLERS_H
#define PSNODE_CONTROLLERS_H

#include <gradwire/gradwire.h>

struct controllers_config {
    unsigned index, count;        /* which one, of how many */
    const char *const *endpoints; /* [count]: where they listen */
    const char *const *raft;      /* [count]: "host:port" of their log */
    const char *directory;        /* of this one's log */
    bool accept_loss;             /* of what is damaged there */
    const char *observer;         /* where the observer listens */
    const char *key_file;         /* NULL: none */
    bool insecure;                /* may listen on a network without one */
    uint64_t token;
    /* Of the cluster; whoever says so first counts, another word is an error.
     */
    unsigned slots, replicas, servers; /* `servers` are awaited at first */
    unsigned ring; /* members that are awaited before a ring begins; 0: none */
};

struct controllers;

GW_MUST_CHECK enum gw_err
controllers_start(const struct controllers_config *config,
                  struct controllers **controllers, struct gw_error *why);
void controllers_stop(struct controllers **controllers);
/* GW_OK while all is well; else what is not: a thread has ended, or the cluster
 * has other slots. */
GW_MUST_CHECK enum gw_err controllers_error(struct controllers *controllers,
                                            struct gw_error *why);

/* As this process knows. */
struct controllers_seen {
    int leader; /* which controller; -1: none */
    unsigned servers, workers, ring;
    unsigned slots, placed; /* slots with a primary */
};
struct controllers_seen controllers_look(struct controllers *controllers);
/* To be called now and then: when an elastic ring is awaited and has members
 * enough, they begin. */
void controllers_admit(struct controllers *controllers);
/* Waits at most so long for something that controllers_look may tell. */
void controllers_wait(struct controllers *controllers, unsigned ms);

#endif
