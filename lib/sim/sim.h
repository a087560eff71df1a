/* SPDX-License-Identifier: MIT
 *
 * A virtual network for protocol state machines (base/machine.h). It runs the
 * same object code as the daemons, in virtual time, with messages that are
 * lost, duplicated, late and out of order, and nodes that crash, restart, pause
 * and have wrong clocks (see faults.h). A run is one sequence of events in one
 * thread. All randomness comes from the seed, so a seed determines the
 * schedule, and equal runs have equal `gw__sim_hash`.
 *
 *   sim.c         creation, event loop, queries
 *   sim_node.c    a node's life: start, crash, inputs, pause
 *   sim_actions.c the actions of a state machine's step
 *   sim_link.c    transport of messages
 *   sim_inject.c  begin and end of faults
 *   disk.c        persisted data of a node
 *   node_clock.c  local time of a node
 *   queue.c, event_pool.c  the event queue
 *
 * campaign.h uses it to run many seeds and to shrink a failing one.
 *
 * Each message draws the same number of random numbers from its link's own
 * sequence, independent of its fate. So removing a fault changes little else,
 * which makes shrinking effective.
 *
 * A network belongs to one thread. Hooks are called during a run. They may
 * query the network, call gw__sim_request, add faults and fail the run, but
 * must not run or destroy it.
 */
#ifndef GW__SIM_H
#define GW__SIM_H

#include <sim/faults/faults.h>

struct gw__sim;

/* A directed link. A message takes `delay_ns` and a random part of `jitter_ns`,
 * at least 1 ns. */
struct gw__sim_link_profile {
    uint64_t delay_ns;
    uint64_t jitter_ns;
    double drop;  /* probability of loss */
    double dup;   /* probability of a duplicate */
    bool ordered; /* messages do not overtake, as in a connection */
};

struct gw__sim_options {
    uint64_t seed;
    struct gw__sim_link_profile link; /* initial profile of every link */
    const void *config;               /* payload of each START; not copied */
    size_t config_bytes;
    struct gw_nodes nodes_down; /* nodes that are down until a restart */
    uint64_t start_spread_ns;   /* the others start within this time */
    uint64_t timer_late_ns;     /* maximum delay of a timer */
    /* Messages to a node that crashes reach its next incarnation, as from a
     * sender's queue. Otherwise they are lost. */
    bool mail_survives;

    /* GW__DIED: for each node i the set of nodes that are notified when i
     * crashes, the delay, and the probability that a notification is lost. It
     * is never false. */
    struct gw_nodes observers[GW__NODES_MAX];
    uint64_t died_delay_ns;
    uint64_t died_jitter_ns;
    double died_lost;

    /* A run fails beyond these limits: events at a time (0: 2^20), total inputs
     * (0: 10^8). */
    size_t events_most;
    uint64_t inputs_most;

    /* Called with `context`; may be NULL. */
    void *context;
    /* A notification by a state machine, during its step, when its state may be
     * inconsistent. */
    void (*on_notify)(void *context, struct gw__sim *sim, uint32_t node,
                      const void *data, size_t bytes);
    /* A node crashes (GW__CRASH), starts (GW__RESTART: before its first input),
     * pauses or continues (GW__RESUME). */
    void (*on_life)(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what);
    /* The process state of `node`, which is up, as `observer` sees it. NULL:
     * process states cannot be observed. A node that is down is seen as ended.
     */
    void (*observe)(void *context, struct gw__sim *sim, uint32_t observer,
                    uint32_t node, struct gw__sight *sight);
    /* A message passed to `send`, which may be lost. */
    void (*on_send)(void *context, struct gw__sim *sim, uint32_t from,
                    uint32_t to, const void *data, size_t bytes);
    /* Called after each delivered input, for checks of invariants. If the step
     * ended in a crash the node is already down. */
    void (*after_step)(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input);
};

/* Creates a network of `nodes` nodes (1 to GW__NODES_MAX); kinds[i] is the
 * state machine of node i. kinds and context must outlive the network; the
 * options are copied. GW_EINVAL, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err
gw__sim_new(const struct gw__machine_kind *const *kinds, unsigned nodes,
            const struct gw__sim_options *options, struct gw__sim **sim,
            struct gw_error *why);
void gw__sim_destroy(struct gw__sim **sim);

/* ---- events ---- */

/* Replaces the profile of one link; messages under way are not affected. */
void gw__sim_set_link(struct gw__sim *sim, uint32_t from, uint32_t to,
                      const struct gw__sim_link_profile *profile);
/* Adds future faults; those in the past begin at once. A schedule of
 * GW__FAULTS_MAX faults may be added more than once. GW_ENOMEM. GW_EINVAL: more
 * than 65535 in all. If the run has failed, its failure. */
GW_MUST_CHECK enum gw_err gw__sim_add_faults(struct gw__sim *sim,
                                             const struct gw__fault *faults,
                                             size_t count,
                                             struct gw_error *why);
/* Schedules an application request (GW__REQUESTED) to `node` at `at_ns` (not
 * before now). It is lost if the node is down then. `data` is copied, at most
 * GW__MESSAGE_MAX. */
void gw__sim_request(struct gw__sim *sim, uint64_t at_ns, uint32_t node,
                     const void *data, size_t bytes);
/* Ends the run successfully. */
void gw__sim_end(struct gw__sim *sim);
/* Ends the run with a failure: "at 12ms: TEXT". The first one is kept. */
GW_PRINTF(2, 3)
void gw__sim_fail(struct gw__sim *sim, const char *format, ...);

/* ---- running ---- */

/* Processes the next event: an input, or the begin or end of a fault. False: no
 * event is left, or the run has failed or ended. */
bool gw__sim_step(struct gw__sim *sim);
/* Runs until `predicate` holds (checked after each event; may be NULL), the
 * time is `limit_ns`, or the run ends. GW_OK: the predicate holds, the limit is
 * reached without a predicate, or gw__sim_end was called. GW_ETIMEOUT: the
 * predicate does not hold at the limit. Otherwise the failure, GW_EWRONG from
 * gw__sim_fail. */
GW_MUST_CHECK enum gw_err
gw__sim_run_until(struct gw__sim *sim,
                  bool (*predicate)(void *context, const struct gw__sim *sim),
                  uint64_t limit_ns, struct gw_error *why);

/* ---- queries ---- */

struct gw__sim_counts {
    uint64_t inputs;  /* delivered */
    uint64_t sent;    /* messages passed to `send` */
    uint64_t cut;     /* lost because of a cut */
    uint64_t dropped; /* lost at random */
    uint64_t doubled; /* duplicated */
    uint64_t missed; /* inputs whose receiver was down or restarted meanwhile */
    uint64_t starts;
    uint64_t crashes;
    uint64_t arenas; /* blocks of memory for events */
};

unsigned gw__sim_nodes(const struct gw__sim *sim);
uint64_t gw__sim_now(const struct gw__sim *sim);
bool gw__sim_up(const struct gw__sim *sim, uint32_t node);
bool gw__sim_paused(const struct gw__sim *sim, uint32_t node);
/* The local time of `node`. */
uint64_t gw__sim_clock(const struct gw__sim *sim, uint32_t node);
/* 0 if the node is down. */
uint64_t gw__sim_incarnation(const struct gw__sim *sim, uint32_t node);
/* The state machine's state; NULL if the node is down. */
const void *gw__sim_state(const struct gw__sim *sim, uint32_t node);
/* The data that `node`, up or down, has persisted under `key`; NULL: none. */
const void *gw__sim_persisted(const struct gw__sim *sim, uint32_t node,
                              uint32_t key, size_t *bytes);
const struct gw__sim_counts *gw__sim_counts(const struct gw__sim *sim);
/* A hash of all delivered inputs: time, node and contents. */
uint64_t gw__sim_hash(const struct gw__sim *sim);
/* GW_OK if the run has not failed. */
enum gw_err gw__sim_error(const struct gw__sim *sim, struct gw_error *why);

#endif
