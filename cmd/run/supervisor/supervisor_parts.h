/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The data of a supervisor, private to supervisor*.c. One thread uses all of
 * it; the library's threads (an embedded controller's, the observer's) reach it
 * only through struct control, which has a lock.
 *
 *   supervisor.c            the life of a run: start, forming, loop, end
 *   supervisor_start.c      starting a supervisor, in the process of `up`
 *   supervisor_options.c    the options of a run
 *   supervisor_order.c      the order of work for its members
 *   supervisor_child.c      its processes: start, orders, messages, end
 *   supervisor_control.c    its controllers and its observer: updates
 *   supervisor_program.c    members that are a user's program
 *   supervisor_ps.c         parameter servers: members, reports, errands
 *   supervisor_placement.c  the placement of slots
 *   supervisor_progress.c   the progress of a run, and the values of conditions
 *   supervisor_servers.c    the status of parameter servers as JSON
 *   supervisor_links.c      the link profiles
 *   supervisor_serve.c      requests and answers
 *   supervisor_lockstep.c   faults at places in the work
 *   supervisor_commands.c   the commands of the run, as a script
 *   supervisor_verbs.c      the verbs, and those about the run as a whole
 *   supervisor_train.c      the verbs about work and the trained model
 *   supervisor_net.c        the verbs about links
 *   supervisor_topo.c       a topology over all links
 *   supervisor_ring.c       the order of the ring
 *   supervisor_life.c       the verbs about one node's life
 *   supervisor_wait.c       answers that come later
 *   supervisor_status.c     the run as JSON
 *   supervisor_recovery.c   deaths, and the recovery from them
 *   supervisor_resumed.c    the end of a recovery
 *   supervisor_known.c      joins that take too long
 *   supervisor_events.c     the event stream and the recording
 *   supervisor_report.c     events about parameter servers
 */
#ifndef SUPERVISOR_PARTS_H
#define SUPERVISOR_PARTS_H

#include "common/key.h"
#include "common/process.h"
#include "common/rpc_server.h"
#include "policy.h"
#include "run/condition.h"
#include "run/lockstep.h"
#include "run/rate.h"
#include "run/ring_algos.h"
#include "supervisor_links.h"
#include "supervisor_options.h"
#include "supervisor_program.h"
#include "supervisor_recovery.h"
#include "supervisor_report.h"

#include <cluster/messages/protocol.h>
#include <cluster/routes/slot_load.h>

#include <limits.h>
#include <stdio.h>

enum {
    CHILDREN_MAX = RUN_RANKS_MAX + RUN_SERVERS_MAX + RUN_CONTROLLERS_MAX,
    CURVE_MAX = 1024,
    RECOVERIES_MAX = 256,
    LATER_MAX = 128,
    SENTENCE_MAX = 400
};

#define STATE_LOST                                                             \
    "the ring has lost its state: all members that had it are dead"

/* ---- children ---- */

struct child {
    enum gw__role role;
    unsigned number;  /* for people: worker 2, controller 0 */
    unsigned node;    /* the library's number */
    bool ps_members;  /* of parameter servers, not of a ring */
    bool known;       /* was ever started */
    pid_t pid;        /* 0: no process */
    uint64_t process; /* upper bits of its incarnations in the ring */
    int fd;           /* its socket; -1 */
    bool late;        /* orders not yet sent */
    bool paused;
    bool leaving;  /* it was asked to leave */
    bool killed;   /* by a request; may not have ended yet */
    bool awaits;   /* starts when its predecessor is out of the ring */
    bool left;     /* it reported its leaving */
    bool finished; /* it has ended with status 0 */
    uint64_t slow_ns;
    double clock_rate;   /* of its clock; 0 or 1: normal */
    uint64_t trouble_ns; /* when a request last disturbed it; or 0 */
    uint64_t ended_ns;
    uint64_t joins_ns;      /* since when it could be a member but is not; 0 */
    uint64_t removed_epoch; /* the view that last removed it from the ring */
    char known_in[PATH_MAX + 32]; /* "", or supervisor_known.c's file */
    bool has_status;
    struct node_status status;
    struct rate item_rate; /* of a worker of parameter servers */
    char text[200];        /* how it ended */
};

/* ---- parameter servers ---- */

/* The sums of a data epoch, from the reports of all workers. */
struct epoch_sums {
    uint64_t items;
    struct gw_sample_sums sums;
    uint64_t ended_ns; /* when its newest item was reported */
};

/* A task that one worker does for the run: one at a time. */
struct directive {
    struct directive_order order; /* id 0: none yet */
    uint64_t ended;               /* the id of the newest that has ended */
    uint64_t last;                /* of the snapshot at the end; 0: none yet */
    enum gw_err code;             /* its result */
    char text[160];
};

/* ---- answers that come later ---- */

enum later_kind {
    LATER_WAIT,      /* until a condition holds */
    LATER_GONE,      /* until nodes are out of the ring and have ended */
    LATER_BACK,      /* until a node has been restarted */
    LATER_DIRECTIVE, /* until a snapshot is written, a mode is set */
    LATER_ORDER,     /* until the ring has the requested order */
    LATER_LEADS      /* until a controller leads, for a request about it */
};

struct later {
    enum later_kind kind;
    struct requester requester;
    uint64_t began_ns, deadline_ns;
    struct condition *condition; /* WAIT */
    char text[200];              /* WAIT: the condition; else the answer */
    struct child *child;
    json_t *request;    /* LEADS */
    uint64_t directive; /* ERRAND: its id */
};

/* ---- the order of a ring ---- */

struct ring_order {
    enum ring_order_by { ORDER_NUMBERS, ORDER_RACKS, ORDER_LIST } by;
    struct gw__order list; /* ORDER_LIST */
};

/* ---- the run ---- */

struct control;
struct recording;

struct run {
    struct run_options options;
    struct ring_algos algos; /* of the options */
    json_t *options_json;    /* owns their texts */
    uint64_t commands_op;    /* the last op that `commands` waits for */
    char snapshot[FILE_MAX]; /* options.work.snapshot, set later */
    struct run_folder folder;
    struct { /* requests to all members; their answers */
        uint64_t request_count;
        char path[PATH_MAX + 32];
    } known;
    int starter; /* the waiting starter's socket, until answered; -1 */
    struct signal_file signals;
    uint64_t token;
    bool formed, ending;
    struct gw_error failed;  /* the error that ends it */
    bool over;               /* the loop should end */
    struct requester downer; /* requested `down`; bytes 0: none */

    struct child workers[RUN_RANKS_MAX];
    struct child servers[RUN_SERVERS_MAX];
    struct child controllers[RUN_CONTROLLERS_MAX];
    unsigned controller_count;
    char raft[RUN_CONTROLLERS_MAX][32];
    struct links links;
    char topology[GW_TOPOLOGY_NAME_MAX]; /* the one that sets the links; "" */
    uint16_t rack_of[RUN_RANKS_MAX];     /* for each node, the lowest node of
                                            its rack */
    struct ring_order order;
    uint64_t pace_ns;
    struct work_order work;
    struct lockstep lockstep; /* its schedule */
    unsigned lockstep_done;   /* faults injected */

    struct control *control;
    struct gw__membership_update update; /* the newest */
    unsigned states_lost; /* times that the ring had to start again */

    struct recovery recoveries[RECOVERIES_MAX]; /* the newest ones */
    unsigned recovery_count;                    /* of all */
    struct resumption resumption;
    struct tally most;
    struct chunks chunks; /* of all recoveries */
    uint64_t dropped;     /* events */
    struct {
        uint64_t time_ns;
        int64_t evidence;
    } failures[GW_RING_NODES]; /* the newest event about each node */

    /* Of parameter servers. */
    struct gw_ps_clock_status clock; /* of group 0, from its primary */
    struct epoch_sums curve[CURVE_MAX];
    unsigned curve_count;
    /* The worker that scores the finished model; the one that does errands.
     * NULL: none yet. */
    struct child *evaluates, *scribe;
    struct directive directive;
    uint64_t work_ns; /* when the first item was reported */
    struct reported_state reported;
    struct policy policy; /* of placement */
    struct gw_nodes
        placement_servers; /* the servers last passed to it, as bits */
    struct gw__slot_load load;
    uint64_t load_ns; /* when its window began */
    struct rpc_server rpc;
    struct later later[LATER_MAX];
    unsigned later_count;
    unsigned listeners, chunk_listeners;
    struct recording *recording;
    _Alignas(16) char buffer[CHILD_CHANNEL_BYTES_MAX];
};

/* ---- supervisor_child.c ---- */

/* Every child that was ever started, i from 0; NULL past the last. */
struct child *child_at(struct run *run, unsigned i);
void child_init(struct child *child, enum gw__role role, unsigned number);
/* "node 2", "worker 2", "server 0", "controller 1" */
const char *child_name(const struct child *child, char out[32]);
/* "2", "w2", "s0", "c1" */
const char *child_short(const struct child *child, char out[32]);
GW_MUST_CHECK enum gw_err child_start(struct run *run, struct child *child,
                                      struct gw_error *why);
/* Sends its orders again: one of them has changed. */
void child_send_desired(struct run *run, struct child *child);
void children_send_desired(struct run *run);
/* Reads its messages, at most so many. */
void child_receive(struct run *run, struct child *child, unsigned most);
/* Reaps the children that have ended. */
void children_reap(struct run *run);
/* Is it in the ring or among the servers and workers of the newest update? */
bool child_is_member(const struct run *run, const struct child *child);
/* NULL: no worker or server has this number in the library. */
struct child *child_of_node(struct run *run, unsigned node);
/* It has a process, or will have. */
bool child_lives(const struct child *child);
/* The views since `before` have removed members from the ring. Reports that
 * these sent before their removal do not describe a later membership. */
void children_removed(struct run *run,
                      const struct gw__membership_update *before);
/* It also has the state: its join is complete. True of all members of
 * parameter servers. */
bool child_is_whole(const struct run *run, const struct child *child);
/* The number of such members that have processes. */
unsigned members_alive(const struct run *run);
bool controller_is_alive(const struct run *run, unsigned number);
unsigned controllers_alive(const struct run *run);
/* The intended number; 1 for the one inside. */
unsigned controllers_all(const struct run *run);
/* Asks all to end, waits 500 ms, ends them. */
void children_end(struct run *run);
/* Starts the children whose predecessors have left the ring. */
void children_start_awaited(struct run *run);

/* ---- supervisor_placement.c ---- */

/* Opens the policy of the options. */
GW_MUST_CHECK enum gw_err placement_begin(struct run *run,
                                          struct gw_error *why);
/* Measures the load of the slots and calls the policy when necessary. */
void placement_update(struct run *run);

/* ---- supervisor_control.c ---- */

GW_MUST_CHECK enum gw_err control_start(struct run *run, struct gw_error *why);
void control_stop(struct run *run);
int control_fd(const struct run *run);
/* Takes the newest update into run->news, and acts on it. */
void control_apply_update(struct run *run);
/* Reports members of the ring whose processes have ended as dead. */
void control_suspect(struct run *run);
/* All first members take part from op 0 on. */
void control_admit(struct run *run);
/* Sets the link profiles of the controller inside, if there is one. */
void control_set_links(struct run *run);
/* The controller that leads; -1: none known. */
int control_leader(const struct run *run);
/* Its status; false: it has sent none. */
bool control_status(const struct run *run, unsigned number,
                    struct gw__controller_status *status);
/* GW_OK while the controller inside and the observer run. */
enum gw_err control_error(struct run *run, struct gw_error *why);
/* The latest trouble that the observer has reported; "". */
const char *control_text(struct run *run, char out[200]);
/* Sends a command to the controllers; if it is refused, control_admit tries
 * again. */
void control_command(struct run *run, const struct gw__command *command);
/* Reports a process as dead, unless it did so a moment ago. */
void control_suspect_one(struct run *run, unsigned node, struct gw__id id);

/* ---- supervisor_ps.c ---- */

/* Does the run have parameter servers? */
static inline bool has_servers(const struct run *run)
{
    return run->options.servers > 0;
}
/* From the newest update; NULL: not a member. */
const struct gw__ps_member *
ps_members_find(const struct gw__membership_update *update, unsigned node);
unsigned ps_members_alive(const struct run *run, enum gw__role role);
/* Reports members of parameter servers whose processes have ended as dead. */
void ps_members_suspect(struct run *run);
/* The number of slots and replicas. */
unsigned ps_members_slots(const struct run_options *options);
unsigned ps_members_replicas(const struct run_options *options);
/* Requests that the slots be opened. */
void ps_members_open_slots(struct run *run);
/* Has the slot, or has every slot, a primary that knows its role? */
bool ps_members_serves_slot(const struct run *run, unsigned slot);
bool ps_members_serves(const struct run *run);
/* Have all first servers and workers joined, and are all slots served? */
bool ps_members_is_complete(const struct run *run);
void ps_members_on_status(struct run *run, struct child *child,
                          const struct node_status *before);
/* Chooses the workers that score the model and write snapshots, and starts the
 * final snapshot. */
void ps_members_update(struct run *run);
/* Adds the orders for parameter servers. */
void ps_members_desired_state(const struct run *run, const struct child *child,
                              struct desired_state *desired);
/* Starts an errand when none is under way, and returns its new id. */
uint64_t ps_members_request(struct run *run,
                            const struct directive_order *order);

/* ---- supervisor_progress.c, supervisor_servers.c ---- */

/* The progress of the whole run. */
struct progress_of {
    uint64_t step, op, data_epoch, lost, doubled;
    unsigned parked, workers, servers;
    bool all_parked, done, diverged, until;
    /* The newest of a ring, or the mean of the workers' last reports. NaN:
     * unknown. */
    double loss;
    const struct node_status *evaluates; /* the note with a score, if any */
    uint64_t work_ns;                    /* the time that it took */
    /* of parameter servers */
    uint64_t rounds, expected; /* of the plan */
    uint64_t replicas, slots_lost;
    double clock; /* of the slowest; NaN */
};
void run_progress(const struct run *run, struct progress_of *progress);
void servers_progress(const struct run *run, struct progress_of *progress);
/* "idle", "training", "done", "parked", "ended" */
const char *progress_state(const struct run *run,
                           const struct progress_of *progress);
void status_values(const struct run *run, struct condition_values *values);
double servers_uneven(const struct run *run);
/* A warning when the run has more workers than a round has parts; else "". */
const char *servers_warn_idle(const struct run *run, char out[SENTENCE_MAX]);
/* The parameter servers' part of the status and its result; their nodes. */
void servers_status(const struct run *run, const struct progress_of *progress,
                    json_t *status);
void servers_result(const struct run *run, const struct score *score,
                    json_t *result);
void servers_nodes(const struct run *run, json_t *list);
/* A worker in the clock's status; NULL: it has not asked yet. */
const struct gw_ps_worker_status *servers_clock_of(const struct run *run,
                                                   unsigned node);

/* ---- supervisor_serve.c ---- */

void serve_requests(struct run *run);
/* Executes a request, or refuses it; again, for requests that had to wait. */
void serve_request(struct run *run, const struct requester *requester,
                   const json_t *json);
/* One sentence; steals `data`, which may be NULL. */
void serve_answer(struct run *run, const struct requester *requester,
                  enum gw_err code, json_t *data, const char *format, ...)
    GW_PRINTF(5, 6);

/* "epoch 2, ring 0 1 3"; "epoch 9, 2 servers, 4 workers" */
const char *ring_text(const struct run *run, char out[SENTENCE_MAX]);

/* ---- supervisor_topo.c ---- */

/* Sets the links by the topology of the options from the beginning. GW_EDATA:
 * an error in the file; GW_EINVAL: it has too few ranks. */
GW_MUST_CHECK enum gw_err topo_begin(struct run *run, struct gw_error *why);

/* ---- supervisor_ring.c ---- */

/* The intended order of the ring: all nodes. */
void ring_wanted(const struct run *run, struct gw__order *out);
bool ring_is_ordered(const struct run *run);
/* Stores which nodes share a rack of this topology. */
void ring_racks(struct run *run, const struct gw_topology *topology);
/* Inserts this node at this rank. */
void ring_insert(struct run *run, unsigned rank, unsigned node);
/* "order", "crossings" */
void ring_status(const struct run *run, json_t *status);
void ring_answer_order(struct run *run, const struct requester *requester);

/* ---- supervisor_train.c ---- */

/* Sets what ops take from the run: their collective, and how it is run. */
void work_order_ops(const struct run *run, struct work_order *order);
/* Reads the data once, to report errors in it. */
GW_MUST_CHECK enum gw_err work_try(const struct run *run,
                                   const struct work_order *order,
                                   struct gw_error *why);

/* ---- supervisor_wait.c ---- */

/* Answers the requests that are due. */
void later_answer_due(struct run *run);
/* The next deadline; UINT64_MAX: none. */
uint64_t later_due(const struct run *run);
/* Answers all waiting requests with a sentence. */
void later_end(struct run *run);

/* ---- supervisor_status.c ---- */

json_t *status_json(struct run *run);
/* The unexpected states: "node 2 is paused, node 3 is joining". */
const char *status_trouble(const struct run *run, char out[SENTENCE_MAX]);
const char *child_state(const struct run *run, const struct child *child);
/* For JSON: null for NaN and infinity. */
json_t *real_json(double value);
void put(json_t *object, const char *name, uint64_t value);
/* The fields of all members. */
json_t *node_json(const struct run *run, const struct child *child,
                  const char *phase);

/* ---- supervisor_events.c ---- */

void events_publish(struct run *run, const struct gw_event *events,
                    size_t count);
/* A subscription has begun or ended. */
void events_subscriptions(struct run *run);
enum event_level events_level(const struct run *run);
/* The supervisor saw a process end. */
void events_ended(struct run *run, const struct child *child);
void events_close(struct run *run);
void events_status(const struct run *run, json_t *status);

#endif
