/* SPDX-License-Identifier: MIT
 *
 * A controller in a real process: the service machine (service.h) on a driver,
 * with its log by libraft on libuv in a second thread. There are 1, 3 or 5
 * controllers. The log is on disk in `directory`, so that a controller can be
 * killed and started again.
 *
 * The two threads communicate by queues: proposals of the service go to Raft,
 * and entries that Raft has committed come back as APPLIED, in order.
 *
 * Link profiles between controllers: delays of the control channel also hold
 * for Raft's messages, on the receiving side. Messages to a controller that is
 * cut off are dropped on the sending side (libraft gets "no connection").
 */
#ifndef GW__CLUSTER_CONTROLLER_H
#define GW__CLUSTER_CONTROLLER_H

#include "service.h"

#include <wire/control_channel/control_channel.h>

struct gw__controller_config {
    unsigned index; /* index of this controller, below `count` */
    unsigned count;
    /* [index]: the node on the control channel, and Raft's address
     * "127.0.0.1:port", which uses the same key; the same for all. */
    const unsigned *nodes;
    const char *const *raft_addresses;
    const char *directory; /* created if missing; for one process at a time */
    bool accept_loss;      /* of damaged data there (raft_dir.h) */
    /* Own node and endpoint; an incarnation of 0 is replaced by a random
     * one. */
    struct gw__control_channel_config channel;
    unsigned election_ms;  /* 0: 150 */
    unsigned heartbeat_ms; /* 0: 30 */
    void *context;
    /* In the driver's thread: after each entry that was applied. */
    void (*on_applied)(void *context, const struct gw__registry *registry);
    void (*on_leader)(void *context, unsigned node); /* GW__NODES_MAX: no
                                                        leader */
    struct gw_sink *events; /* used in the driver's thread; NULL: none */
};

struct gw__controller;

GW_MUST_CHECK enum gw_err
gw__controller_start(const struct gw__controller_config *config,
                     struct gw__controller **controller, struct gw_error *why);
/* Finishes pending writes, then ends both threads. */
void gw__controller_stop(struct gw__controller **controller);
/* GW_OK while it runs. */
enum gw_err gw__controller_error(struct gw__controller *controller,
                                 struct gw_error *why);
/* Progress of a controller. Its own log may have entries that are not committed
 * yet, and entries of Raft itself, which the registry does not count. */
struct gw__controller_status {
    unsigned leader;                /* a node; GW__NODES_MAX: unknown */
    uint64_t term, last, committed; /* of Raft */
    uint64_t applied;               /* entries of the registry */
    uint64_t hellos, leases;        /* received and granted since the start */
};
void gw__controller_status(struct gw__controller *controller,
                           struct gw__controller_status *status);
/* A link to another controller was cut or restored (sending side). */
void gw__controller_cut(struct gw__controller *controller, unsigned node,
                        bool down);

#endif
