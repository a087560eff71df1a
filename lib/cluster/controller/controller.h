/* SPDX-License-Identifier: MIT
 *
 * A controller in the real world: the service machine (service.h) on a driver,
 * its log by libraft on libuv in a second thread. One of 1, 3 or 5; on disk in
 * `directory`, so that it can be killed and started again.
 *
 * The two threads speak by queues: what the service proposes goes to Raft; what
 * Raft has committed comes back as APPLIED, in order.
 *
 * Link rules between controllers: those of the mesh keep Raft's messages back,
 * too, where they arrive; to a controller that is cut off they are dropped on
 * sending (libraft is told that there is no connection).
 */
#ifndef GW__CLUSTER_CONTROLLER_H
#define GW__CLUSTER_CONTROLLER_H

#include "service.h"

#include <wire/control_channel/control_channel.h>

struct gw__controller_config {
    unsigned index; /* which of `count` */
    unsigned count;
    /* [index]: mesh node and Raft's "127.0.0.1:port", which is behind the same
     * key; the same for all. */
    const unsigned *nodes;
    const char *const *raft_addresses;
    const char *directory; /* made if missing; one process at a time */
    bool accept_loss;      /* of what is damaged there (raft_dir.h) */
    /* Node and endpoint of ours; an incarnation of 0 is drawn. */
    struct gw__control_channel_config mesh;
    unsigned election_ms;  /* 0: 150 */
    unsigned heartbeat_ms; /* 0: 30 */
    void *context;
    /* In the driver's thread: after each entry that was applied. */
    void (*on_applied)(void *context, const struct gw__registry *registry);
    void (*on_leader)(void *context, unsigned node); /* GW__NODES_MAX: none */
    struct gw_sink *events; /* used in the driver's thread; NULL: none */
};

struct gw__controller;

GW_MUST_CHECK enum gw_err
gw__controller_start(const struct gw__controller_config *config,
                     struct gw__controller **controller, struct gw_error *why);
/* Drains what is being written, then ends both threads. */
void gw__controller_stop(struct gw__controller **controller);
/* GW_OK while it runs. */
enum gw_err gw__controller_error(struct gw__controller *controller,
                                 struct gw_error *why);
/* Where it stands. Its own log may have entries that are not committed yet, and
 * entries of Raft's own, which the registry does not count. */
struct gw__controller_status {
    unsigned leader;                /* a node; GW__NODES_MAX: none is known */
    uint64_t term, last, committed; /* of Raft */
    uint64_t applied;               /* entries of the registry */
    uint64_t hellos, leases;        /* heard and given since it began */
};
void gw__controller_status(struct gw__controller *controller,
                           struct gw__controller_status *status);
/* The rule of the link to another controller changed (sending side). */
void gw__controller_cut(struct gw__controller *controller, unsigned node,
                        bool down);

#endif
