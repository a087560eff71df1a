/* SPDX-License-Identifier: MIT
 *
 * A virtual network that drives protocol machines (base/machine.h): the same
 * object code that a daemon drives over ZeroMQ, under virtual time, with
 * messages that are lost, doubled, late and out of order, and nodes that crash,
 * restart, freeze and tell the time wrongly (faults.h says how). It is one
 * sequence of events in one thread: everything random comes from the seed, so
 * a seed is a schedule, and `gw__sim_hash` tells whether two runs were equal.
 *
 *   sim.c         a network: made, run, looked at
 *   sim_node.c    a node's life: start, crash, inputs, pause
 *   sim_actions.c what a machine's step does
 *   sim_link.c    what becomes of a message
 *   sim_inject.c  faults that begin and end
 *   disk.c        what a node persisted
 *   node_clock.c  what a node takes for the time
 *   queue.c, event_pool.c  what will happen, and when
 *
 * On top of it campaign.h runs many seeds and shrinks the failing one.
 *
 * Each message draws the same count of random numbers from its link's own
 * sequence, whatever happens to it. So a fault that is taken away changes
 * little else, and shrinking a schedule goes well.
 *
 * A network lives in one thread. Hooks are called from inside a run; they may
 * look, ask (gw__sim_ask), add faults and fail the run, but neither run nor
 * destroy it.
 */
#ifndef GW__SIM_H
#define GW__SIM_H

#include <sim/faults/faults.h>

struct gw__sim;

/* A directed link. A message takes `delay_ns`, up to `jitter_ns` more, and at
 * least 1 ns. */
struct gw__link_rule {
    uint64_t delay_ns;
    uint64_t jitter_ns;
    double drop;  /* the chance to be lost, */
    double dup;   /* and to come twice */
    bool ordered; /* messages do not overtake, as in a connection */
};

struct gw__sim_options {
    uint64_t seed;
    struct gw__link_rule link; /* of every link at first */
    const void *config;        /* what each START brings; must stay */
    size_t config_bytes;
    uint64_t nodes_down;      /* the set that begins down, until a restart */
    uint64_t start_spread_ns; /* the others start by then */
    uint64_t timer_late_ns;   /* a timer is up to so much late */
    /* What is under way to a node that crashes is lost; or else reaches its
     * next incarnation, as from a queue that the sender keeps. */
    bool mail_survives;

    /* GW__DIED: who is told when node i crashes (a set, [0] is node 0's), after
     * what time, and the chance that an observer is not told. Never false. */
    uint64_t observers[GW__NODES_MAX];
    uint64_t died_delay_ns;
    uint64_t died_jitter_ns;
    double died_lost;

    /* Bounds, beyond which a run fails: events at a time (0: 2^20), inputs in
     * all (0: 10^8). */
    size_t events_most;
    uint64_t inputs_most;

    /* Called with `context`; NULL where not wanted. */
    void *context;
    /* A machine's `tell`, from inside its step: its state is in between. */
    void (*on_tell)(void *context, struct gw__sim *sim, uint32_t node,
                    const void *data, size_t bytes);
    /* A node crashes (GW__CRASH), starts (GW__RESTART: before its first input),
     * is paused or goes on (GW__RESUME). */
    void (*on_life)(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what);
    /* What `observer` sees who looks at the process of `node`, which is up;
     * NULL: nobody can look. A node that is down is seen to have ended. */
    void (*look)(void *context, struct gw__sim *sim, uint32_t observer,
                 uint32_t node, struct gw__sight *sight);
    /* After each delivered input; the place to check what must always hold. If
     * the step ended in a crash the node is down already. */
    void (*after_step)(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input);
};

/* A network of `nodes` nodes (1 to GW__NODES_MAX), node i driven by kinds[i];
 * kinds and context must outlive it, the options are copied. GW_EINVAL,
 * GW_ENOMEM. */
GW_MUST_CHECK enum gw_err
gw__sim_new(const struct gw__machine_kind *const *kinds, unsigned nodes,
            const struct gw__sim_options *options, struct gw__sim **sim,
            struct gw_error *why);
void gw__sim_destroy(struct gw__sim **sim);

/* ---- what happens to it ---- */

/* Replaces the rule of one link; what is under way is not touched. */
void gw__sim_set_link(struct gw__sim *sim, uint32_t from, uint32_t to,
                      const struct gw__link_rule *rule);
/* Faults to come; one whose time is past begins at once. A schedule of
 * GW__FAULTS_MAX faults may be added more than once. GW_ENOMEM; GW_EINVAL for
 * more than 65535 in all; the failure of a run that has failed. */
GW_MUST_CHECK enum gw_err gw__sim_add_faults(struct gw__sim *sim,
                                             const struct gw__fault *faults,
                                             size_t count,
                                             struct gw_error *why);
/* The application's request (GW__ASKED) to `node` at `at_ns` (not before now):
 * lost if the node is down then. `data` is copied, at most GW__MESSAGE_MAX. */
void gw__sim_ask(struct gw__sim *sim, uint64_t at_ns, uint32_t node,
                 const void *data, size_t bytes);
/* Nothing more is to be seen: the run ends here, and well. */
void gw__sim_end(struct gw__sim *sim);
/* Ends the run: "at 12ms: SENTENCE". The first failure stays. */
GW_PRINTF(2, 3)
void gw__sim_fail(struct gw__sim *sim, const char *format, ...);

/* ---- running ---- */

/* Handles the next event, be it an input, a fault's begin or its end. False
 * when there is none or the run has failed or ended. */
bool gw__sim_step(struct gw__sim *sim);
/* Runs until `predicate` holds (asked after each event; NULL: never), time has
 * reached `limit_ns`, or the run fails. GW_OK when the predicate holds, or when
 * there is none and the limit is reached, or when it was ended; GW_ETIMEOUT
 * when it does not hold by then; else the failure, GW_EWRONG from gw__sim_fail.
 */
GW_MUST_CHECK enum gw_err
gw__sim_run_until(struct gw__sim *sim,
                  bool (*predicate)(void *context, const struct gw__sim *sim),
                  uint64_t limit_ns, struct gw_error *why);

/* ---- looking at it ---- */

struct gw__sim_counts {
    uint64_t inputs;  /* delivered */
    uint64_t sent;    /* messages given to `send` */
    uint64_t cut;     /* of them lost to a cut, */
    uint64_t dropped; /* or by chance; */
    uint64_t doubled; /* those that came twice */
    uint64_t missed;  /* inputs whose receiver was down or another by then */
    uint64_t starts;
    uint64_t crashes;
    uint64_t arenas; /* pieces of memory taken for events */
};

unsigned gw__sim_nodes(const struct gw__sim *sim);
void *gw__sim_context(const struct gw__sim *sim);
uint64_t gw__sim_now(const struct gw__sim *sim);
bool gw__sim_up(const struct gw__sim *sim, uint32_t node);
bool gw__sim_paused(const struct gw__sim *sim, uint32_t node);
/* What `node` takes for the time. */
uint64_t gw__sim_clock(const struct gw__sim *sim, uint32_t node);
/* 0 when it is down. */
uint64_t gw__sim_incarnation(const struct gw__sim *sim, uint32_t node);
/* The machine's state, NULL when the node is down. */
const void *gw__sim_state(const struct gw__sim *sim, uint32_t node);
/* What `node` has persisted under `key`, up or down; NULL when nothing. */
const void *gw__sim_persisted(const struct gw__sim *sim, uint32_t node,
                              uint32_t key, size_t *bytes);
const struct gw__sim_counts *gw__sim_counts(const struct gw__sim *sim);
/* A hash over every delivered input: time, node and content. */
uint64_t gw__sim_hash(const struct gw__sim *sim);
/* GW_OK while nothing has failed. */
enum gw_err gw__sim_error(const struct gw__sim *sim, struct gw_error *why);

#endif
