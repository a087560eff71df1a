/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The agreement of the controllers of a simulated cluster, without a consensus
 * protocol (or with one: rafts.h): an oracle keeps one log. Proposals of the
 * leader are appended while a majority of controllers is up and connected to
 * it. Proposals of a controller that wrongly believes that it leads are mostly
 * lost. Entries reach every controller in order, each after its own delay, if
 * it is connected to a majority. A controller that restarts gets the log again
 * from the beginning, or a snapshot and the rest.
 *
 * A controller is the library's service machine (cluster/service.h) in a
 * wrapper that drops the oracle's messages to an earlier life.
 */
#ifndef WORLD_AGREED_H
#define WORLD_AGREED_H

#include "chance.h"

#include <cluster/controller/service.h>
#include <gradwire/event.h>

enum { AGREED_ENTRIES = 4096 };

struct agreed_entry {
    size_t bytes;
    uint8_t data[GW__COMMAND_BYTES_MAX];
};

/* The log's state of a controller. */
struct agreed_replica {
    uint64_t incarnation; /* of the sim: of this life */
    size_t applied;       /* entries */
    bool under_way;       /* one is being sent to it */
    unsigned told_leader;
    uint64_t leader_ns; /* when it learns the leader */
};

struct agreed {
    /* Set by the world before agreed_begin: */
    struct gw__sim *sim;
    struct chance *chance;
    unsigned first, controllers; /* their nodes */
    uint64_t restless_ns;        /* random elections until then */
    void *context;
    void (*on_entry)(void *context); /* `truth` has a new entry */
    /* With rafts: LEADER, VOTE and COMMIT, without their time. */
    void (*on_event)(void *context, const struct gw_event *event);

    struct rafts *rafts; /* rafts.h; NULL: the oracle */

    struct agreed_entry *entries;
    size_t count;
    struct gw__registry *truth; /* the whole log, applied */
    uint8_t *snapshot;
    struct agreed_replica replicas[GW__NODES_MAX]; /* by node */
    unsigned leader;                               /* GW__NODES_MAX: none */
    uint64_t elect_ns, depose_ns, tick_ns;
};

/* Allocates memory, for any number of networks. */
GW_MUST_CHECK enum gw_err agreed_open(struct agreed *agreed,
                                      struct gw_error *why);
void agreed_close(struct agreed *agreed);

/* Begins a new network, the only one until the next. */
void agreed_begin(struct agreed *agreed);
/* A controller's machine requests a proposal. */
void agreed_propose(struct agreed *agreed, unsigned node, const void *data,
                    size_t bytes);
/* To be called when time has passed. */
void agreed_tick(struct agreed *agreed, uint64_t now_ns);
/* A new life of a controller. */
void agreed_started(struct agreed *agreed, unsigned node);
/* With rafts: a controller has committed command `index`, counted from 1. */
void agreed_committed(struct agreed *agreed, unsigned node, size_t index,
                      const void *data, size_t bytes);

const struct gw__machine_kind *controller_kind(const struct agreed *agreed);

#endif
