/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * This process's controller of a cluster, and an observer: a member machine
 * (lib/cluster/member/member.h) that receives membership updates, sets the
 * number of slots and replicas, and may report that a process has ended. Both
 * run in threads of the library.
 */
#ifndef PSNODE_CONTROLLERS_H
#define PSNODE_CONTROLLERS_H

#include <gradwire/gradwire.h>
#include <wire/security.h>

struct controllers_config {
    unsigned index, count;        /* which one, of how many */
    const char *const *endpoints; /* [count]: the endpoints of all */
    const char *const *raft;      /* [count]: "host:port" of their log */
    const char *directory;        /* of this one's log */
    bool accept_loss;             /* damaged entries may be dropped */
    const char *observer;         /* the observer's endpoint */
    struct gw__security security;
    /* Of the cluster. The first values set count; different ones are an error.
     */
    unsigned slots, replicas, servers; /* `servers` are needed to begin */
    unsigned ring; /* members needed before a ring begins; 0: none */
};

struct controllers;

GW_MUST_CHECK enum gw_err
controllers_start(const struct controllers_config *config,
                  struct controllers **controllers, struct gw_error *why);
void controllers_stop(struct controllers **controllers);
/* GW_OK without an error. Otherwise a thread has ended, or the cluster has
 * another number of slots. */
GW_MUST_CHECK enum gw_err controllers_error(struct controllers *controllers,
                                            struct gw_error *why);

/* The state of the cluster as this process knows it. */
struct controllers_status {
    int leader; /* the leading controller; -1: none */
    unsigned servers, workers, ring;
    unsigned slots, assigned; /* slots with a primary */
};
struct controllers_status
controllers_get_status(struct controllers *controllers);
/* To be called now and then: admits the members of an elastic ring once there
 * are enough of them. */
void controllers_admit(struct controllers *controllers);
/* Waits at most `ms` for a change that controllers_get_status may report. */
void controllers_wait(struct controllers *controllers, unsigned ms);

#endif
