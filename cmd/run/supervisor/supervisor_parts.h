/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a supervisor holds, private to supervisor*.c. One thread has it all; the
 * library's threads (an embedded controller's, the observer's) reach it only
 * through struct control, which has a lock.
 *
 *   supervisor.c           the life of a run: begun, formed, looped, ended
 *   supervisor_start.c     the other side of its birth: who typed `up`
 *   supervisor_options.c   what a run is to be
 *   supervisor_order.c     and what its members are to do
 *   supervisor_child.c     its processes: started, told, heard, reaped
 *   supervisor_control.c   its controllers and its own ear at them: news
 *   supervisor_crew.c      parameter servers: who is there, what they are told
 *   supervisor_progress.c  how far the run is, and as values of conditions
 *   supervisor_servers.c   what only they have, as JSON
 *   supervisor_links.c     the rules of links
 *   supervisor_serve.c     requests in, answers out
 *   supervisor_verbs.c     the verbs, and what is asked of the run as a whole
 *   supervisor_train.c     the verbs about work, and what it has learnt
 *   supervisor_net.c       the verbs about links
 *   supervisor_topo.c      a topology over all of them
 *   supervisor_ring.c      the order of the ring
 *   supervisor_life.c      the verbs about one node's life
 *   supervisor_wait.c      answers that come later
 *   supervisor_status.c    the run as JSON
 *   supervisor_recovery.c  deaths, and what became of them
 *   supervisor_resumed.c   until when
 *   supervisor_known.c     joins that take too long
 *   supervisor_events.c    the event stream and the recording
 */
#ifndef SUPERVISOR_PARTS_H
#define SUPERVISOR_PARTS_H

#include "common/key.h"
#include "common/process.h"
#include "common/serving.h"
#include "policy.h"
#include "run/condition.h"
#include "run/rate.h"
#include "supervisor_links.h"
#include "supervisor_options.h"
#include "supervisor_recovery.h"
#include "supervisor_tell.h"

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
    unsigned number;  /* as people say it: worker 2, controller 0 */
    unsigned node;    /* as the library says it */
    bool crew;        /* of parameter servers, not of a ring */
    bool known;       /* was ever started */
    pid_t pid;        /* 0: no process */
    uint64_t process; /* of its incarnations in the ring: the upper bits */
    int fd;           /* its socket; -1 */
    bool late;        /* orders that it has not got */
    bool paused;
    bool leaving; /* was asked to */
    bool killed;  /* by a request, and may not have ended yet */
    bool awaits;  /* is to be started when the ring is rid of the former */
    bool left;    /* said goodbye */
    uint64_t slow_ns;
    double clock_rate;   /* of its clock; 0 or 1: as it should */
    uint64_t trouble_ns; /* when somebody last interfered with it; or 0 */
    uint64_t ended_ns;
    uint64_t joins_ns; /* since when it is no member and might be; 0 */
    char known_in[PATH_MAX + 32]; /* "", or supervisor_known.c's file */
    bool noted;
    struct node_note note;
    struct rate units; /* of a worker of parameter servers */
    char text[200];    /* how it ended */
};

/* ---- parameter servers ---- */

/* A data epoch, from what all workers have told of it. */
struct epoch_sums {
    uint64_t units;
    struct gw_unit_sums sums;
    uint64_t ended_ns; /* when the newest unit of it was told */
};

/* What one worker does for all: one at a time. */
struct errand {
    struct errand_order order; /* id 0: there was none yet */
    uint64_t ended;            /* the id of the newest that has ended */
    uint64_t last;             /* of the snapshot at the end; 0: none yet */
    enum gw_err code;          /* how */
    char text[160];
};

/* ---- answers that come later ---- */

enum later_kind {
    LATER_WAIT,   /* until a condition holds */
    LATER_GONE,   /* until nodes are out of the ring and have ended */
    LATER_BACK,   /* until a node has been started anew */
    LATER_ERRAND, /* until a snapshot is written, a mode is set */
    LATER_ORDER,  /* until the ring has the order wanted */
    LATER_LEADS   /* until a controller leads, whom the request is about */
};

struct later {
    enum later_kind kind;
    struct asker asker;
    uint64_t began_ns, deadline_ns;
    struct condition *condition; /* WAIT */
    char text[200];              /* WAIT: the condition; else what was done */
    struct child *child;
    json_t *request; /* LEADS */
    uint64_t errand; /* ERRAND: its id */
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
    json_t *given;           /* has their texts */
    char snapshot[FILE_MAX]; /* options.work.snapshot, set later */
    struct run_folder folder;
    struct { /* times that all members were asked; their answers */
        uint64_t asked;
        char path[PATH_MAX + 32];
    } known;
    int starter; /* who started us, until it has its answer; -1 */
    struct signal_file signals;
    uint64_t token;
    bool formed, ending;
    struct gw_error failed; /* why it ends by itself */
    bool over;              /* the loop is to end */
    struct asker downer;    /* who said `down`; bytes 0: nobody */

    struct child workers[RUN_RANKS_MAX];
    struct child servers[RUN_SERVERS_MAX];
    struct child controllers[RUN_CONTROLLERS_MAX];
    unsigned controller_count;
    char raft[RUN_CONTROLLERS_MAX][32];
    struct links links;
    char topology[GW_TOPOLOGY_NAME_MAX]; /* that was laid over them; "" */
    uint8_t rack_of[RUN_RANKS_MAX];      /* its lowest node, for each node */
    struct ring_order order;
    uint64_t pace_ns;
    struct work_order work;

    struct control *control;
    struct gw__membership_update news; /* the newest */
    unsigned states_lost; /* times that the ring had to begin anew */

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
    struct gw_ps_clock_status clock; /* of group 0, as its primary says */
    struct epoch_sums curve[CURVE_MAX];
    unsigned curve_count;
    /* Looks at the finished model; does errands. NULL: nobody yet. */
    struct child *judge, *scribe;
    struct errand errand;
    uint64_t work_ns; /* when the first unit was told */
    struct told told;
    struct policy policy; /* of placement */
    uint64_t placed_for; /* the servers that it was last asked about, as bits */
    struct gw__slot_load load;
    uint64_t load_ns; /* when its window began */
    struct serving serving;
    struct later later[LATER_MAX];
    unsigned later_count;
    unsigned listeners, chunk_listeners;
    struct recording *recording;
    _Alignas(16) char buffer[POST_BYTES_MAX];
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
/* Something of its orders has changed. */
void child_order(struct run *run, struct child *child);
void children_order(struct run *run);
/* Takes what it has sent, at most so many messages. */
void child_receive(struct run *run, struct child *child, unsigned most);
/* Those that have ended. */
void children_reap(struct run *run);
/* Is in the ring or crew, of which the news tell. */
bool child_is_member(const struct run *run, const struct child *child);
/* NULL: no worker or server has this number in the library. */
struct child *child_of_node(struct run *run, unsigned node);
/* Its process is there, or will be. */
bool child_lives(const struct child *child);
/* And it has the state: it is done with joining. Of a crew all are. */
bool child_is_whole(const struct run *run, const struct child *child);
/* Such members whose processes are there. */
unsigned members_alive(const struct run *run);
bool controller_is_alive(const struct run *run, unsigned number);
unsigned controllers_alive(const struct run *run);
/* Those that there are to be, or the one inside. */
unsigned controllers_all(const struct run *run);
/* Asks all to end, waits 500 ms, ends them. */
void children_end(struct run *run);
/* Starts what awaited that the ring be rid of its former self. */
void children_start_awaited(struct run *run);

/* ---- supervisor_placement.c ---- */

/* Opens what the options name. */
GW_MUST_CHECK enum gw_err placement_begin(struct run *run,
                                          struct gw_error *why);
/* Measures the slots' load; asks the policy when there is reason to. */
void placement_look(struct run *run);

/* ---- supervisor_control.c ---- */

GW_MUST_CHECK enum gw_err control_start(struct run *run, struct gw_error *why);
void control_stop(struct run *run);
int control_fd(const struct run *run);
/* What has come since: run->news, and what follows from it. */
void control_take(struct run *run);
/* Those in the ring whose processes have ended are accused, for certain. */
void control_accuse(struct run *run);
/* All first members take part from op 0 on. */
void control_admit(struct run *run);
/* Rules for the controller inside; nothing when there is none. */
void control_rules(struct run *run);
/* The controller that leads; -1: none, as far as is known. */
int control_leader(const struct run *run);
/* Where it stands; false: it has not said. */
bool control_status(const struct run *run, unsigned number,
                    struct gw__controller_status *status);
/* GW_OK while the controller inside and the observer run. */
enum gw_err control_error(struct run *run, struct gw_error *why);
/* What the observer was last told about trouble; "". */
const char *control_text(struct run *run, char out[200]);
/* A command to the controllers; its refusal makes control_admit try again. */
void control_command(struct run *run, const struct gw__command *command);
/* Accuses a process, unless it was a moment ago. */
void control_accuse_one(struct run *run, unsigned node, struct gw__id id);

/* ---- supervisor_crew.c ---- */

/* Has it parameter servers? */
static inline bool has_servers(const struct run *run)
{
    return run->options.servers > 0;
}
/* Of the news; NULL: is not in the crew. */
const struct gw__crew_member *
crew_find(const struct gw__membership_update *news, unsigned node);
unsigned crew_alive(const struct run *run, enum gw__role role);
/* Those in the crew whose processes have ended are accused. */
void crew_accuse(struct run *run);
/* How many of them there are, and of each. */
unsigned crew_slots(const struct run_options *options);
unsigned crew_replicas(const struct run_options *options);
/* The slots are to be opened. */
void crew_open_slots(struct run *run);
/* The slot has a primary that knows that it is one; all slots have. */
bool crew_serves_slot(const struct run *run, unsigned slot);
bool crew_serves(const struct run *run);
/* All first servers and workers are there, and all slots. */
bool crew_stands(const struct run *run);
void crew_note(struct run *run, struct child *child,
               const struct node_note *before);
/* Sees to who judges, who writes, and what is to be written at the end. */
void crew_look(struct run *run);
/* What is of parameter servers in the orders. */
void crew_orders(const struct run *run, const struct child *child,
                 struct orders *orders);
/* None is under way. Gives it an id, which is returned. */
uint64_t crew_ask(struct run *run, const struct errand_order *order);

/* ---- supervisor_progress.c, supervisor_servers.c ---- */

/* How far the run is as a whole. */
struct progress_of {
    uint64_t step, op, data_epoch, lost, doubled;
    unsigned parked, workers, servers;
    bool all_parked, done, diverged, until;
    double loss; /* newest of a ring; mean of what workers told last; NaN */
    const struct node_note *judge; /* the note with a score, if any */
    uint64_t work_ns;              /* that took so long */
    /* of parameter servers */
    uint64_t rounds, expected; /* units that the plan has */
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
/* More workers than a round of this run has parts: what is said then; else "".
 */
const char *servers_warn_idle(const struct run *run, char out[SENTENCE_MAX]);
/* The part of servers in the status and in its result; their nodes. */
void servers_status(const struct run *run, const struct progress_of *progress,
                    json_t *status);
void servers_result(const struct run *run, const struct score *score,
                    json_t *result);
void servers_nodes(const struct run *run, json_t *list);
/* A worker as the clock has it; NULL: it has not asked yet. */
const struct gw_ps_worker_status *servers_clock_of(const struct run *run,
                                                   unsigned node);

/* ---- supervisor_serve.c ---- */

void serve_requests(struct run *run);
/* Does what is asked, or refuses; once more, for requests that had to wait. */
void serve_request(struct run *run, const struct asker *asker,
                   const json_t *json);
/* One sentence; steals `data`, which may be NULL. */
void serve_answer(struct run *run, const struct asker *asker, enum gw_err code,
                  json_t *data, const char *format, ...) GW_PRINTF(5, 6);

/* "epoch 2, ring 0 1 3"; "epoch 9, 2 servers, 4 workers" */
const char *ring_text(const struct run *run, char out[SENTENCE_MAX]);

/* ---- supervisor_topo.c ---- */

/* Links follow the topology of the options from the beginning. GW_EDATA: the
 * file's; GW_EINVAL: it has too few ranks. */
GW_MUST_CHECK enum gw_err topo_begin(struct run *run, struct gw_error *why);

/* ---- supervisor_ring.c ---- */

/* The order that the ring is to have: all nodes. */
void ring_wanted(const struct run *run, struct gw__order *out);
bool ring_is_ordered(const struct run *run);
/* Which nodes share a rack of this topology. */
void ring_racks(struct run *run, const struct gw_topology *topology);
/* This node is to get this rank. */
void ring_insert(struct run *run, unsigned rank, unsigned node);
/* "order", "crossings" */
void ring_status(const struct run *run, json_t *status);
void ring_answer_order(struct run *run, const struct asker *asker);

/* ---- supervisor_train.c ---- */

/* Reads the data once, so that what is wrong with it is told. */
GW_MUST_CHECK enum gw_err work_try(const struct run *run,
                                   const struct work_order *order,
                                   struct gw_error *why);

/* ---- supervisor_wait.c ---- */

/* Answers what is due. */
void later_look(struct run *run);
/* The next deadline; UINT64_MAX: none. */
uint64_t later_due(const struct run *run);
/* All that wait, with a sentence. */
void later_end(struct run *run);

/* ---- supervisor_status.c ---- */

json_t *status_json(struct run *run);
/* Who does not do what is expected: "node 2 is paused, node 3 is joining". */
const char *status_trouble(const struct run *run, char out[SENTENCE_MAX]);
const char *child_state(const struct run *run, const struct child *child);
/* For JSON: null for what is no number, texts as 16 digits. */
json_t *real_json(double value);
json_t *hex_json(uint64_t digest);
void put(json_t *object, const char *name, uint64_t value);
/* The fields of all members. */
json_t *node_json(const struct run *run, const struct child *child,
                  const char *phase);

/* ---- supervisor_events.c ---- */

void events_publish(struct run *run, const struct gw_event *events,
                    size_t count);
/* Somebody listens, or does so no more. */
void events_subscriptions(struct run *run);
enum event_level events_level(const struct run *run);
/* The supervisor saw a process end. */
void events_ended(struct run *run, const struct child *child);
void events_close(struct run *run);
void events_status(const struct run *run, json_t *status);

#endif
