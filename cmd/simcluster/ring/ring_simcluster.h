/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simulated cluster with an elastic ring: controllers, whose log is an
 * oracle (simcluster/common/sim_consensus.h); a supervisor; and members with a
 * data path of their own, which do one all-reduce after the other, are killed,
 * cut off and suspended, and join again. All decisions are made by the
 * library's own object code: registry, service, member machine, op table,
 * contributor sets and recovery plans.
 *
 *   node.c      a member or the supervisor: the machine, and its reports
 *   ring.c      a member in the ring: views, flushes, one op after the other
 *   path.c      the data path: transfer by transfer, by messages
 *   plans.c     the plans that are executed
 *   run.h       an op that is executed
 *   joiner.c    copying the state
 *   oracle.c    the invariants
 *   measure.c   the measurements of a run
 *   change.c    the cost of one change of the members (change.h)
 *   ring_events.c  the events
 *   kind.c      all this as a simulation of `ringctl sim`
 *   ring_simcluster.c one network per seed, and its required end
 *
 * Node numbers: members, so that theirs are those of `ringctl up`; then the
 * supervisor, then controllers.
 */
#ifndef SIMCLUSTER_RING_SIMCLUSTER_H
#define SIMCLUSTER_RING_SIMCLUSTER_H

#include "change.h"
#include "plans.h"
#include "run.h"
#include "simcluster/common/lives.h"
#include "simcluster/common/member_machine.h"

#include <gradwire/event.h>
#include <ring/op_table.h>
#include <ring/state_validity.h>
#include <sim/campaign.h>

#include <string.h>

enum {
    CONTROLLERS_MOST = 3,
    MEMBERS_MOST = GW_RING_MEMBERS_MAX,
    DRAWN_MOST = 6,   /* members of a seed, unless more are requested */
    CALM_MEMBERS = 4, /* the same, when a schedule is given */
    NODES_MOST = CONTROLLERS_MOST + 1 + MEMBERS_MOST,
    OPS_MOST = 1024,
    COMPLETIONS_LEAST = 64, /* room of an op, for all members */
    PLANS_MOST = 4096
};

/* ---- the cluster ---- */

struct completion {
    unsigned node;
    struct gw__id incarnation;
    struct gw_nodes contributors;
    uint64_t digest; /* of the state after it */
    uint64_t epoch;  /* in which it was completed */
};

struct made_plan {
    uint64_t ring_epoch, op, hash;
};

struct sim_node;

/* A violation: the contributors of a value, and the right ones. */
struct wrong {
    unsigned node, chunk, who, counted; /* counted: occurrences of who's data */
    uint64_t op;
    struct gw_nodes has, wants;
};

/* Durations, in nanoseconds. */
struct times {
    uint64_t count, sum_ns, least_ns, most_ns;
};

/* A member that has crashed, or sleeps. */
struct wound {
    uint64_t at_ns; /* 0: none */
    struct gw__id incarnation;
    bool suspected;
};

/* The measurements over all seeds, until they are fetched. */
struct measures {
    uint64_t transfers;                    /* of chunks, between members */
    uint64_t crashes;                      /* of members */
    uint64_t ops;                          /* completed by a member */
    uint64_t spread, kept, redone, fresh;  /* chunks of recoveries */
    uint64_t suspicions, false_suspicions; /* by silence; of a living process */
    uint64_t wronged; /* removed alive, without a request */
    uint64_t shaken;  /* seeds with a false suspicion */
    struct times detected, recovered;
    bool found; /* a violation */
    struct wrong wrong;
    /* For the current seed. */
    bool shook;
    struct wound wounds[GW__NODES_MAX];
    struct gw__view view;    /* the newest seen */
    uint64_t recovering_ns;  /* since a crash; 0: no recovery */
    uint64_t ring_epoch;     /* of that recovery, */
    struct gw_nodes resumed; /* and the resumed members */
};

/* The parameters of the runner; zero: drawn from the seed. */
struct simcluster_params {
    unsigned members;
    bool calm;      /* only the given faults occur */
    bool silent;    /* no node is notified of a death */
    bool unordered; /* calm: messages overtake each other */
    const struct gw_suspicion *suspicion; /* NULL: the default rule */
    uint64_t for_ns;
    uint64_t delay_ns;     /* calm: of a message; 0: 1 ms */
    struct gw_nodes later; /* calm: members that are down until a restart */
};

struct simcluster {
    struct sim_consensus consensus; /* the controllers' decisions */
    struct simcluster_params params;
    struct gw__chosen_plans chosen; /* of all members */
    bool any_epoch; /* op tables omit their check of the epoch */
    uint64_t seed;
    struct chance chance;
    struct gw__sim *sim;
    unsigned controllers, members;
    unsigned first; /* preferred number of first members */
    bool all_join;  /* at the end all must be in the ring again */
    struct lives lives;
    bool raids; /* joiners, and the sources of their state, are killed */
    uint64_t fault_end_ns, limit_ns, check_ns;
    bool over;
    bool shocks;
    bool eager; /* members begin before they have all met */
    /* The intended order of the ring. It changes now and then, by its own
     * random numbers, and members learn it late. */
    bool order_changes;
    struct gw_rng order_rng;
    struct gw__order order;
    uint64_t order_ns; /* when it changes next */

    /* oracle.c */
    unsigned completion_count[OPS_MOST];
    unsigned completion_room;       /* of an op */
    struct completion *completions; /* [op * completion_room + i] */
    unsigned plan_count;
    struct made_plan plans[PLANS_MOST];
    struct plans planned;
    uint64_t epoch, ring_epoch; /* of the log so far */
    unsigned ring_count;
    bool flushing;
    uint64_t marked_epoch, marked_op[NODES_MOST];

    /* Counts of the situations that the seeds reach. */
    struct {
        uint64_t seeds, ops, forwards, excludes, admits, reorders, removals,
            begun_anew, gone, inherited, lost;
    } met;
    struct measures measures; /* measure.c */
    struct change *change;    /* measured by change.c, or NULL */
    struct gw_sink *sink;     /* of ring_events.c, or NULL */
};

/* ---- measure.c: the measurements of a run ---- */

void measure_begin(struct simcluster *cluster);
/* A node crashes, starts, is paused or resumed. */
void measure_life(struct simcluster *cluster, unsigned node,
                  enum gw__fault_kind what);
/* It is suspected: silent, or known to have ended. */
void measure_suspect(struct simcluster *cluster, unsigned node,
                     struct gw__id incarnation, bool certain);
/* The log has a new view. */
void measure_view(struct simcluster *cluster);
void measure_completed(const struct sim_node *node, uint64_t op);
/* Records the first violation. */
void measure_wrong(struct simcluster *cluster, const struct wrong *wrong);

/* ---- ring_events.c: events ---- */

/* A member's event; `value` depends on the kind, as in gradwire/event.h. */
struct member_event {
    enum gw_event_kind kind;
    uint32_t peer, op, step, chunk;
    int64_t value;
};
void report(const struct sim_node *node, const struct member_event *event);
/* The kept and the redone chunks of the current op. */
void report_recovery(const struct sim_node *node,
                     const struct gw__recovery_task *task,
                     const struct gw_nodes *start);
/* For a controller whose log is libraft's. */
void report_controller(struct simcluster *cluster,
                       const struct gw_event *event);
/* For the whole ring: the new view in the log, and the decisions. */
void report_view(struct simcluster *cluster);
void report_decision(struct simcluster *cluster,
                     const struct gw__decision *decision);
void report_missed(struct simcluster *cluster, uint32_t by, unsigned node,
                   enum gw_evidence evidence);

/* The cluster of the current network. START cannot contain the pointer, which
 * would differ each time, as would the hash of the run. */
struct simcluster *simcluster_running(void);
/* Starts this node again after a while, as the same process. */
void simcluster_restart(struct simcluster *cluster, unsigned node);
/* The ring has lost a member, or decided: a moment for another fault. */
void simcluster_shock(struct simcluster *cluster);
/* A member was admitted and may not have the state yet. */
void simcluster_raid(struct simcluster *cluster);
/* `members`: 0, or as in the parameters. */
void simcluster_open(struct simcluster *cluster, unsigned members);
void simcluster_close(struct simcluster *cluster);
/* Prepares a campaign of this one seed. */
void simcluster_campaign(struct simcluster *cluster, uint64_t seed,
                         struct gw__campaign *campaign);

static inline unsigned supervisor_of(const struct simcluster *w)
{
    return w->members;
}

static inline struct gw_nodes supervisors(const struct simcluster *w)
{
    return gw__nodes_only(w->members);
}

static inline bool is_member(const struct simcluster *w, unsigned node)
{
    return node < w->members;
}

static inline unsigned nodes_of(const struct simcluster *w)
{
    return w->members + 1 + w->controllers;
}

static inline unsigned first_controller(const struct simcluster *w)
{
    return w->members + 1;
}

static inline uint64_t simcluster_draw(struct simcluster *w, uint64_t least,
                                       uint64_t most)
{
    return chance_draw(&w->chance, least, most);
}

/* ---- joiner.c ---- */

struct state {
    bool known;
    uint64_t next; /* the state after op next - 1 */
    uint64_t digest;
    uint64_t epoch;                     /* in which that op was completed */
    struct gw__state_validity validity; /* a joiner's */
    bool over; /* the ring that it comes from has ended */
    uint64_t pull_ns;
    unsigned pull_rank; /* of a large ring, the next one to be asked */
    bool ready_sent;
};

struct result {
    bool used;
    uint64_t op, hash;
    struct gw_nodes contributors;
    uint64_t digest, epoch; /* after it; and the epoch of its completion */
};

/* ---- a member (or the supervisor), as a machine ---- */

enum { SIM_NODE_TIMER = 8 };

struct sim_node {
    struct simcluster *cluster;
    unsigned node;
    struct gw__id incarnation;
    uint64_t incarnation_low;
    uint64_t now_ns; /* its clock */
    struct gw_rng rng;
    const struct gw__actions *act;
    bool registered, gone, leaves;

    bool reported;     /* a report, since the last check */
    bool wants_report; /* of this flush */
    uint64_t flush_epoch;
    bool has_pending; /* a view to be adopted */
    struct gw__view pending;
    uint64_t met_epoch; /* of ADDRESSES */
    unsigned ready;     /* joiners */

    bool in_ring;   /* it has an op table */
    bool has_state; /* it has the state for its first op */
    struct gw__op_table ops;
    struct run runs[GW__OP_TABLE_OPS];
    struct result results[GW__OP_TABLE_OPS];
    struct state state;
    uint64_t compute_ns;    /* until when */
    uint64_t admit_tried;   /* for this op, plus 1 */
    bool admits;            /* waits for the result */
    struct gw__order order; /* as last received */
    uint64_t place_op;      /* it computes for this op, plus 1, */
    unsigned place;         /* in this place */
    uint64_t address_epoch; /* ADDRESS */
    uint64_t admit_ns;      /* the supervisor: not before */
    uint64_t suspect_ns;
    struct gw__view known; /* from the newest update */

    uint64_t timer_ns;
    _Alignas(16) uint8_t member[]; /* the member machine's state */
};

const struct gw__machine_kind *member_kind(void);

/* node.c */
void scripted_run(struct sim_node *node,
                  const struct gw__member_request *request);
void sim_node_send(const struct sim_node *sim_node, unsigned node,
                   const void *data, size_t bytes);
GW_PRINTF(2, 3)
void sim_node_fail(const struct sim_node *node, const char *format, ...);

/* ring.c */
void ring_notified(struct sim_node *node,
                   const struct gw__notification *notification);
/* Does all work that is possible now. */
void ring_work(struct sim_node *node);
uint64_t ring_due(const struct sim_node *node);
/* An op is complete here. */
void ring_completed(struct sim_node *node, uint64_t op);

/* path.c */
enum sim_node_message {
    SIM_NODE_DATA = 128,
    SIM_NODE_ACK,
    SIM_NODE_PULL,
    SIM_NODE_STATE,
    SIM_NODE_NOTHING
};
void path_start(struct sim_node *node, const struct gw__recovery_task *task);
void path_data(struct sim_node *node, unsigned from, const uint8_t *bytes,
               size_t count);
void path_ack(struct sim_node *node, unsigned from, const uint8_t *bytes,
              size_t count);
void path_work(struct sim_node *node);
uint64_t path_due(const struct sim_node *node);

/* joiner.c */
/* The digest of the state after an op; `hash` is of the result. */
uint64_t state_digest(uint64_t digest, uint64_t op,
                      const struct gw_nodes *contributors, uint64_t hash);
void joiner_work(struct sim_node *node);
uint64_t joiner_due(const struct sim_node *node);
void joiner_pull(struct sim_node *node, unsigned from, const uint8_t *bytes,
                 size_t count);
void joiner_state(struct sim_node *node, unsigned from, uint64_t incarnation,
                  const uint8_t *bytes, size_t count);
void joiner_nothing(struct sim_node *node, unsigned from, const uint8_t *bytes,
                    size_t count);
void joiner_update(struct sim_node *node);

/* ---- oracle.c ---- */

void oracle_begin(struct simcluster *cluster);
/* Checks that the value is that of exactly these nodes. */
void oracle_value(const struct sim_node *node, uint64_t op, unsigned chunk,
                  const struct gw_nodes *set, const struct amount *value);
/* A value that the contributor sets refuse, though these nodes should count. */
void oracle_refused(const struct sim_node *node, uint64_t op, unsigned chunk,
                    const struct gw_nodes *target, const struct amount *value);
void oracle_complete(const struct sim_node *node, uint64_t op,
                     const struct gw_nodes *contributors, uint64_t digest);
/* A joiner is about to take part with this state. */
void oracle_state(const struct sim_node *node);
/* A joiner finds the state lost. */
void oracle_lost(const struct sim_node *node);
/* The plan of a member; verified if it is new. */
void oracle_plan(const struct sim_node *node,
                 const struct gw__recovery_task *task,
                 const struct planned *planned);
/* After an entry of the log. */
void oracle_log(struct simcluster *cluster);
/* Does the process of this member exist, or a later incarnation of it? */
bool oracle_lives(const struct simcluster *cluster,
                  const struct gw__ring_member *m);
bool oracle_active(const struct simcluster *cluster, unsigned node,
                   struct gw__id incarnation);
/* After the last fault: does the ring continue? */
bool oracle_is_done(struct simcluster *cluster);
/* Reports why it does not. */
void oracle_not_done(struct simcluster *cluster);

#endif
