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
#ifndef SIMCLUSTER_SIM_CONSENSUS_H
#define SIMCLUSTER_SIM_CONSENSUS_H

#include "chance.h"

#include <cluster/controller/service.h>
#include <gradwire/event.h>

enum { SIM_CONSENSUS_ENTRIES = 1 << 16 };

struct sim_consensus_entry {
    size_t bytes;
    uint8_t *data;
};

/* The log's state of a controller. */
struct sim_consensus_replica {
    uint64_t incarnation; /* of the sim: of this life */
    size_t applied;       /* entries */
    bool in_progress;     /* one is being sent to it */
    unsigned reported_leader;
    uint64_t leader_ns; /* when it learns the leader */
};

struct sim_consensus {
    /* Set by the cluster before sim_consensus_begin: */
    struct gw__sim *sim;
    struct chance *chance;
    unsigned first, controllers; /* their nodes */
    uint64_t restless_ns;        /* random elections until then */
    void *context;
    void (*on_entry)(void *context); /* `truth` has a new entry */
    /* With rafts: LEADER, VOTE and COMMIT, without their time. */
    void (*on_event)(void *context, const struct gw_event *event);

    struct rafts *rafts; /* rafts.h; NULL: the oracle */

    struct sim_consensus_entry *entries;
    size_t count;
    struct gw__registry *truth; /* the whole log, applied */
    uint8_t *snapshot;
    struct sim_consensus_replica replicas[GW__NODES_MAX]; /* by node */
    unsigned leader; /* GW__NODES_MAX: none */
    uint64_t elect_ns, depose_ns, tick_ns;
};

/* Allocates memory, for any number of networks. */
GW_MUST_CHECK enum gw_err sim_consensus_open(struct sim_consensus *consensus,
                                             struct gw_error *why);
void sim_consensus_close(struct sim_consensus *consensus);

/* Begins a new network, the only one until the next. */
void sim_consensus_begin(struct sim_consensus *consensus);
/* A controller's machine requests a proposal. */
void sim_consensus_propose(struct sim_consensus *consensus, unsigned node,
                           const void *data, size_t bytes);
/* To be called when time has passed. */
void sim_consensus_tick(struct sim_consensus *consensus, uint64_t now_ns);
/* A new life of a controller. */
void sim_consensus_started(struct sim_consensus *consensus, unsigned node);
/* With rafts: a controller has committed command `index`, counted from 1. */
void sim_consensus_committed(struct sim_consensus *consensus, unsigned node,
                             size_t index, const void *data, size_t bytes);

const struct gw__machine_kind *
controller_kind(const struct sim_consensus *consensus);

#endif
