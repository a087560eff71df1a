/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A kind of simulated cluster that `ringctl sim` can run. The command
 * (cmd/ringctl/verbs/verb_sim.c) does what all of them share: seeds, fault
 * schedules, events, the output. A kind makes the network of a seed and
 * reports its measurements.
 *
 * To add another one, in cmd/simcluster/NAME:
 *   1. define one `const struct simcluster_kind NAME_simcluster_kind` and
 *      declare it below;
 *   2. add it to the table `sim_kinds` of verb_sim.c;
 *   3. its parameters go into struct simcluster_request and become options
 *      there; a kind refuses in `open` the parameters that it does not support;
 *   4. all kinds are linked into one program, so its names that are not static
 *      need a prefix (the ring has world_, toy_, path_, joiner_, oracle_);
 *   5. its campaign of many seeds is tests/sim/NAME.c.
 */
#ifndef SIMCLUSTER_KIND_H
#define SIMCLUSTER_KIND_H

#include "common/output.h"

#include <gradwire/event.h>
#include <gradwire/plan.h>
#include <gradwire/suspicion.h>
#include <sim/campaign.h>

/* A user's request; zero: defaults. */
struct simcluster_request {
    unsigned nodes; /* members of a ring, workers of servers; 0: drawn from the
                       seed, or 2 */
    /* For servers; 0: three. */
    unsigned servers, replicas, controllers;
    /* For servers: "count" or "load", with few hot keys; NULL: by count, with
     * uniform keys. */
    const char *placement;
    bool ack_primary; /* a push is acknowledged when its primary has it */
    /* Only the given faults occur, and all nodes begin at once. */
    bool calm;
    bool silent;    /* a death is noticed only by the silence */
    bool raft;      /* the controllers' log is libraft's, not an oracle */
    bool unordered; /* calm: a late message is overtaken */
    const struct gw_suspicion *suspicion; /* of a plug-in, or NULL */
    /* Of a ring, as in struct gw_ring_config. */
    const struct gw_algo *const *algos;
    unsigned algo_count;
    uint64_t for_ns;     /* at least; and until the last fault ends */
    const char *without; /* a rule to disable, or NULL */
};

/* Nodes with names: a letter and a number. */
struct simcluster_group {
    char letter; /* 's': s0 is node `first` */
    unsigned first, count;
};
enum { SIMCLUSTER_GROUPS = 3 };

struct simcluster_kind {
    const char *name;
    const char *summary; /* "members that all-reduce ...", for the help */
    const char *checks;  /* for --without: "epoch-check"; or "" */
    /* Its measurements, in this order, and their number. */
    const struct field *fields;
    unsigned field_count;
    /* For output_spare, including the fields common to all kinds. */
    const char *spare;
    /* Opens a cluster for many seeds. GW_EINVAL: an impossible request. */
    enum gw_err (*open)(const struct simcluster_request *request,
                        void **simcluster, struct gw_error *why);
    void (*close)(void *simcluster);
    /* Names for nodes in fault schedules, besides their numbers; NULL: none. */
    void (*groups)(const struct simcluster_request *request,
                   struct simcluster_group groups[SIMCLUSTER_GROUPS]);
    /* The campaign of this seed; its runs emit to `sink`, which may be NULL. */
    void (*campaign)(void *simcluster, uint64_t seed, struct gw_sink *sink,
                     struct gw__campaign *campaign);
    /* The measurements since the last call, over all runs: one value per field.
     * Texts remain valid until the next call. */
    void (*measured)(void *simcluster, union value *values);
};

extern const struct simcluster_kind ring_simcluster_kind, ps_simcluster_kind;

#endif
