/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the controllers of a simulated cluster agree on, without a consensus
 * protocol (or with one: rafts.h): an oracle keeps one log. What the leader proposes is appended, as
 * long as a majority of controllers is up and connected to it; who only
 * believes that it leads mostly talks to the wind. Entries reach every
 * controller in order, each after its own delay, if it is connected to a
 * majority. One that restarts gets the log again from the beginning, or a
 * snapshot and the rest.
 *
 * A controller is the library's service machine (cluster/service.h) in a
 * wrapper that throws away what the oracle sent to an earlier life.
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

/* What the log knows of a controller. */
struct agreed_replica {
    uint64_t incarnation; /* of the sim: of this life */
    size_t applied;       /* entries */
    bool under_way;       /* one is on its way to it */
    unsigned told_leader;
    uint64_t leader_ns; /* when it hears that */
};

struct agreed {
    /* Set by the world before agreed_begin: */
    struct gw__sim *sim;
    struct chance *chance;
    unsigned first, controllers; /* their nodes */
    uint64_t restless_ns;        /* until then who leads may change by itself */
    void *context;
    void (*on_entry)(void *context); /* `truth` has one entry more */
    /* With rafts: LEADER, VOTE and COMMIT, all but their time. */
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

/* Memory, for any number of networks. */
GW_MUST_CHECK enum gw_err agreed_open(struct agreed *agreed,
                                      struct gw_error *why);
void agreed_close(struct agreed *agreed);

/* A new network, the only one until the next. */
void agreed_begin(struct agreed *agreed);
/* A controller proposes: its machine told so. */
void agreed_propose(struct agreed *agreed, unsigned node, const void *data,
                    size_t bytes);
/* Time has passed. */
void agreed_tick(struct agreed *agreed, uint64_t now_ns);
/* A new life of a controller. */
void agreed_started(struct agreed *agreed, unsigned node);
/* With rafts: a controller has committed command `index`, counted from 1. */
void agreed_committed(struct agreed *agreed, unsigned node, size_t index,
                      const void *data, size_t bytes);

const struct gw__machine_kind *controller_kind(const struct agreed *agreed);

#endif
