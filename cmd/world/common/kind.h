/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A world: a kind of simulated cluster that `ringctl sim` can run. What is the
 * same for all of them is done by the command (cmd/ringctl/verbs/verb_sim.c): seeds,
 * fault schedules, events, the output. A world makes the network of a seed and
 * says what it has measured in it.
 *
 * A second one, in cmd/world/NAME:
 *   1. it defines one `const struct world_kind world_NAME` and declares it
 *      below;
 *   2. verb_sim.c has it in its table `worlds`;
 *   3. what it wants to be told goes into struct world_request and becomes an
 *      option there; a world refuses in `open` what is not for it;
 *   4. all worlds are linked into one program, so what is not static has a name
 *      of its own (the ring has world_, toy_, path_, joiner_, oracle_);
 *   5. its campaign of many seeds is tests/sim/NAME.c.
 */
#ifndef WORLD_KIND_H
#define WORLD_KIND_H

#include "common/output.h"

#include <gradwire/event.h>
#include <gradwire/suspicion.h>
#include <sim/campaign.h>

/* What a user asks of a world; zero: nothing in particular. */
struct world_request {
    unsigned nodes; /* members of a ring, workers of servers; 0: as the seed
                       has it, or 2 */
    /* Of servers; 0: three. */
    unsigned servers, replicas, controllers;
    /* Of servers: "count" or "load", with keys of which few are hot; NULL: by
     * count, and all keys are alike. */
    const char *placement;
    bool ack_primary; /* a push is acknowledged when its primary has it */
    /* Nothing happens but the faults that are given: no others, and all begin
     * at once. */
    bool calm;
    bool silent;    /* nobody is told of a death: only silence tells */
    bool raft;      /* the controllers' log is libraft's, and no oracle */
    bool unordered; /* calm: a message that is late is overtaken */
    const struct gw_suspicion *suspicion; /* of a plug-in, or NULL */
    uint64_t for_ns;     /* it lasts so long, and until the last fault ends */
    const char *without; /* a rule that is left out, or NULL */
};

/* Nodes that have a name: letter and number. */
struct world_group {
    char letter; /* 's': s0 is node `first` */
    unsigned first, count;
};
enum { WORLD_GROUPS = 3 };

struct world_kind {
    const char *name;
    const char *summary; /* "members that all-reduce ...", for the help */
    const char *rules;   /* which --without knows: "epoch-check"; or "" */
    /* What it measures, in this order, and how many. */
    const struct field *fields;
    unsigned field_count;
    /* As output_spare wants them, also of those that all worlds have. */
    const char *spare;
    /* A world that lasts for many seeds. GW_EINVAL: what is asked cannot be. */
    enum gw_err (*open)(const struct world_request *request, void **world,
                        struct gw_error *why);
    void (*close)(void *world);
    /* Names for nodes in fault schedules, beside their numbers; NULL: none. */
    void (*groups)(const struct world_request *request,
                   struct world_group groups[WORLD_GROUPS]);
    /* The campaign of this seed; its runs emit to `sink`, which may be NULL. */
    void (*campaign)(void *world, uint64_t seed, struct gw_sink *sink,
                     struct gw__campaign *campaign);
    /* What was measured since the last call, over all runs: a value a field.
     * Texts stay until the next call. */
    void (*measured)(void *world, union value *values);
};

extern const struct world_kind world_ring, world_servers;

#endif
