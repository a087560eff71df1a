/* SPDX-License-Identifier: MIT
 *
 * The ring in real time: two threads, and their shared state.
 *
 *   main      the caller's: begins ops, connects, moves data, applies
 *   control   the session's (cluster/session/session.h): runs the member
 *             machine, which reports views and flushes, and serves joiners
 *             that copy the state
 *
 *   ring.c        joining, destroying
 *   ring_notify.c control: the machine's reports
 *   ring_turn.c   control: periodic work
 *   ring_wait.c   main: until data may move
 *   ring_connect.c main: the communicator of the present view
 *   ring_plan.c   main: the program of a task
 *   ring_move.c   main: does tasks
 *   ring_keep.c   results: memory, digest, apply
 *   ring_begin.c  gw_ring_begin, and admission
 *   ring_op.c     gw_ring_allreduce
 *   ring_run.c    other collectives
 *   ring_check.c  are all states equal
 *   ring_leave.c  gw_ring_leave
 *   ring_hold.c   lockstep: places where all members hold
 *   ring_bounds.c bounds on the number of members, and how long to wait
 *   ring_state_fetch.c     a joiner copies the state; ring_copy.c does so in
 *                          gw_ring_join
 *   ring_state_server.c    serves the state
 *   ring_state_transfer.h  their messages
 *   ring_state_confirm.c   a joiner confirms that its copy is valid, or that
 *                          all copies are lost (state_validity.h)
 *   ring_status.c the status; ring_events.c the events
 *   ring_env.c    joining from the environment; supervised/ the member
 *                 of a program that ringctl has started
 *
 * Access
 *   `lock` guards all state that both threads use, above all the op table.
 *   While `moving` is true, the main thread uses the contributor sets and the
 *   result of the op in progress without it, and the control thread only
 *   reads in the op table whether a view may be adopted. To do more it raises
 *   `stop`, and main gives the op table back within 2 ms. So a flush gets a
 *   true report: moving has stopped before the report is made. When nothing
 *   moves, control freezes the op table and reports by itself, and main may
 *   go on computing.
 *   `state_lock` guards the application's state while it changes: main holds
 *   it in `apply`, control when it takes a snapshot. It comes first: `lock` may
 *   be taken under it.
 */
#ifndef GW__RING_PARTS_H
#define GW__RING_PARTS_H

#include "op_table.h"
#include "ring_copy.h"
#include "state_validity.h"

#include <cluster/session/session.h>
#include <coll/elastic.h>
#include <gradwire/ring.h>

#include <pthread.h>
#include <stdatomic.h>

#define GW__RING_REPORT_NS 50000000ULL /* between checks of moving data */

/* The tag of the ring's own ops: `apply` does not see them. */
#define GW__RING_OWN_TAG UINT32_MAX

/* The result of an op, kept until the op after the next begins: others may need
 * it to complete the op, joiners to catch up. */
struct gw__kept {
    unsigned char *data; /* gw_alloc; a sum where avg is wanted */
    size_t room;
    bool complete;
    bool applied; /* to the state, which then has this digest */
    uint64_t digest;
    struct gw_ring_result result;
};

/* A compiled task. */
struct gw__compiled {
    struct gw__program *program; /* NULL: none */
    uint64_t ring_epoch;
    unsigned ranks, initial_count;
    unsigned nodes[GW__NODES_MAX], initial_members[GW__NODES_MAX];
};

/* The op that confirms an attempt of ring_run.c has the number of the attempt.
 * Only the attempt is shown, whenever the op is completed. */
struct gw__confirmation {
    uint32_t op;
    enum gw__confirmed {
        GW__CONFIRMS_NOTHING,
        GW__CONFIRMS_DONE, /* the attempt has reported its end itself */
        GW__CONFIRMS_LOST  /* the attempt ends with this op */
    } confirms;
};

/* A sink that two threads may use. */
struct gw__shared_sink {
    struct gw_sink sink;
    pthread_mutex_t lock;
    struct gw_sink *wrapped;
    struct gw__confirmation confirmations[GW__OP_TABLE_OPS]; /* by op % 2 */
};

struct gw_ring {
    struct gw_ring_config config;
    struct gw__session session;     /* its lock is `lock` */
    struct gw__chosen_plans chosen; /* under `lock`, as are these: */
    struct gw__chosen_plans run_plans[GW_COLLECTIVES]; /* of gw_ring_run */
    struct gw__shared_sink events;

    /* While true, the main thread must not move data or wait for peers: the
     * control thread wants the op table, or there is nothing left to wait for.
     */
    _Atomic bool stop;
    _Atomic bool interrupted;

    /* ---- under `lock` ---- */

    bool member;      /* the op table has a view */
    uint64_t few_ns;  /* since when there are too few members; 0: enough */
    uint64_t full_ns; /* a joiner: since when there are too many; 0: room */
    struct gw_error failed; /* sticky: no call will succeed */
    struct gw__op_table ops;
    bool moving;
    bool restarted; /* the op in progress was restarted with new members */
    bool report_requested; /* `stop` was raised to check the progress */
    uint64_t checked_ns;   /* the last check of the progress */

    struct gw__view known; /* the newest, adopted or not */
    bool view_waits;       /* adopt `next_view` as soon as it may be */
    struct gw__view next_view;
    bool flushing, reported;
    bool unapplied; /* the newest op has left no trace in the state */
    uint64_t flush_epoch;

    /* connecting */
    uint64_t
        connected_epoch;   /* the ring epoch of `table`, once it is complete */
    uint64_t broken_epoch; /* a ring epoch in which no more data can move */
    /* Without a membership update by then, the fault is `broken`'s; 0: an
     * update will come. */
    uint64_t broken_until_ns;
    struct gw_error broken;
    struct gw__address table[GW__NODES_MAX];
    struct gw_comm *next; /* our end of the next communicator; NULL: none */
    uint64_t next_epoch;  /* its ring epoch */
    /* Main is in a call and will do the tasks of all ops below this; 0: is not.
     */
    uint64_t moves_below;

    /* admission */
    unsigned ready;         /* joiners that are ready */
    struct gw__order order; /* the requested order of the ring; count 0: any */
    bool admitting;         /* the main thread waits for the answer */
    bool admit_due;         /* control has yet to send the request */
    uint64_t admit_epoch;   /* the ring epoch at that time */
    uint64_t admit_from_ns; /* not before */
    uint64_t admit_began_ns;

    struct gw__kept kept[GW__OP_TABLE_OPS]; /* by op % 2 */

    /* copying */
    bool has_state; /* the state is complete: others may copy it */
    struct gw__fetch fetch;
    struct gw__state_validity validity; /* the validity of the copy */
    uint64_t confirm_sent_ns;

    /* leaving: completed ops that each node has reported; nodes that are
     * leaving */
    uint64_t passed[GW__NODES_MAX];
    struct gw_nodes leaving;

    /* status */
    struct gw_ring_status status; /* counters, `last`, and the text */
    bool status_changed;
    uint64_t noticed_ns; /* of the loss being recovered from; 0 */
    pthread_t recovers;  /* the thread of the last step of that recovery */
    unsigned hops;       /* changes from one thread to the other in it */
    struct gw__progress_report report,
        sent_report; /* now; last sent to the machine */
    uint64_t sent_report_ns;
    bool joining;                     /* gw_ring_join has not returned */
    struct gw_nodes reported_joiners; /* joiners reported by an event */

    /* ---- under `state_lock` ---- */

    pthread_mutex_t state_lock;
    uint64_t state_op;    /* ops in the state */
    uint64_t digest;      /* over these ops */
    uint64_t state_epoch; /* in which the newest of them was completed */

    /* ---- only the control thread ---- */

    struct gw__ring_snapshot snapshots[GW__RING_SNAPSHOTS];

    /* ---- only the main thread ---- */

    struct gw_comm *comm;
    /* The communicator's ring epoch; 0: none. A single member has no
     * communicator. */
    uint64_t comm_epoch;
    struct gw__compiled undisturbed; /* the program of undisturbed ops */
    struct gw__program *recovery;
    struct gw__contributors contributors;
    struct gw_request *request;
    bool stops_on_restart;   /* return when the op in progress is restarted */
    unsigned char *averages; /* the result, where it is not the sum */
    size_t averages_room;
};

/* ---- ring_notify.c, ring_turn.c: hooks of the session ---- */

void gw__ring_on_notification(void *context,
                              const struct gw__notification *notification);
uint64_t gw__ring_on_turn(void *context);
void gw__ring_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes);

/* ---- ring_leave.c: control thread ---- */

void gw__leave_requested(struct gw_ring *ring, unsigned from);
void gw__leave_answered(struct gw_ring *ring, unsigned from, uint64_t ops);

/* ---- ring_hold.c; with `lock` held ---- */

/* The cut in this op; NULL: none. */
const struct gw_ring_hold *gw__hold_cut(const struct gw_ring *ring,
                                        uint64_t op);
/* The newest hold that determines the size of the ring for the next op; NULL:
 * none. */
const struct gw_ring_hold *gw__hold_size(const struct gw_ring *ring);
/* This member holds there. */
void gw__hold_reached(struct gw_ring *ring, const struct gw_ring_hold *hold);
/* The number of transfers before the cut. */
size_t gw__hold_prefix(const struct gw_plan *plan,
                       const struct gw_ring_hold *hold);

/* ---- ring_bounds.c; all but `keep` with `lock` held ---- */

/* Too few members: do not begin the op now. */
bool gw__bounds_wait(struct gw_ring *ring);
/* GW_ETIMEOUT: too few for too long. */
GW_MUST_CHECK enum gw_err gw__bounds_check(struct gw_ring *ring,
                                           struct gw_error *why);
/* Is there room for another member? */
bool gw__bounds_room(const struct gw_ring *ring);
/* A joiner's check. GW_EINVAL: there is no room. */
GW_MUST_CHECK enum gw_err gw__bounds_join(struct gw_ring *ring,
                                          struct gw_error *why);
/* A new member's check. GW_EINVAL: no room, and it has left. */
GW_MUST_CHECK enum gw_err gw__bounds_keep(struct gw_ring *ring,
                                          struct gw_error *why);
/* Has the majority of the controllers been out of reach for too long? */
bool gw__bounds_abandoned(const struct gw_ring *ring);

/* ---- ring_state_confirm.c ---- */

/* Control thread. */
void gw__confirm_requested(struct gw_ring *ring, unsigned from);
void gw__confirm_answered(struct gw_ring *ring, unsigned from,
                          const struct gw__state_transfer_state *state);
void gw__confirm_nothing(struct gw_ring *ring, unsigned from,
                         uint64_t ring_epoch);
/* With `lock` held: there is a membership update. */
void gw__confirm_update(struct gw_ring *ring);
/* Main thread, with `lock` held. `copied`: an item was copied; false: the copy
 * is void. `status`: its validity. `query`: asks the members whose answers are
 * missing. */
bool gw__confirm_copied(struct gw_ring *ring);
enum gw__validity_status gw__confirm_status(const struct gw_ring *ring);
void gw__confirm_query(struct gw_ring *ring);

/* ---- ring_wait.c; all with `lock` held ---- */

/* Sends a request to the machine; the ring fails if that is impossible. */
void gw__ring_request(struct gw_ring *ring,
                      const struct gw__member_request *request);
/* Either thread: raises `stop` if there is a reason. It stays up until the main
 * thread has checked: even a reason that has gone may have left another view.
 */
void gw__ring_raise_stop(struct gw_ring *ring);
/* Main thread: clears `stop` unless there is a reason. */
void gw__ring_lower_stop(struct gw_ring *ring);
/* GW_OK, or the reason why the ring has failed. */
enum gw_err gw__ring_alive(const struct gw_ring *ring, struct gw_error *why);
/* Waits until data may move, and adopts the next view if it may. GW_OK, or as
 * `alive`. */
enum gw_err gw__ring_quiet(struct gw_ring *ring, struct gw_error *why);
/* Reports the held values, if a flush wants it and nothing moves. */
void gw__ring_report(struct gw_ring *ring);
/* The main thread has stopped moving: reports if that is wanted. */
void gw__ring_end_move(struct gw_ring *ring);
/* Has the op in progress begun? */
bool gw__ring_has_begun(const struct gw_ring *ring);
void gw__ring_report_progress(struct gw_ring *ring, enum gw__phase phase,
                              int waits_for);

/* ---- ring_connect.c ---- */

/* With `lock` held: is the communicator that of the present view? */
bool gw__ring_is_connected(const struct gw_ring *ring);
/* With `lock` held, either thread: makes our end of the communicator of the
 * present view and sends its address, unless that is done. */
enum gw_err gw__ring_prepare(struct gw_ring *ring, struct gw_error *why);
/* Without `lock`. GW_OK: connected, or an update came in between. */
GW_MUST_CHECK enum gw_err gw__ring_connect(struct gw_ring *ring,
                                           struct gw_error *why);
/* The communicator has failed. A loss is reported to the machine (GW_OK: an
 * update will come). Any other error makes the ring fail. */
GW_MUST_CHECK enum gw_err gw__ring_comm_failed(struct gw_ring *ring,
                                               enum gw_err err,
                                               struct gw_error *why);
void gw__ring_disconnect(struct gw_ring *ring);

/* ---- ring_plan.c; with `lock` held ---- */

/* The program of a task, for the communicator. Sets the contributor sets to the
 * plan's start. */
GW_MUST_CHECK enum gw_err gw__ring_compile(struct gw_ring *ring,
                                           const struct gw__recovery_task *task,
                                           struct gw__program **program,
                                           struct gw_error *why);
/* The first `count` transfers of a plan, among `size` ranks of a communicator:
 * `ranks` by rank of the plan. */
GW_MUST_CHECK enum gw_err gw__ring_plan_begin(const struct gw_plan *plan,
                                              size_t count, unsigned size,
                                              const unsigned *ranks,
                                              struct gw_plan **made,
                                              struct gw_error *why);
/* Where the task is cut; NULL: nowhere. */
const struct gw_ring_hold *gw__ring_cut(const struct gw_ring *ring,
                                        const struct gw__recovery_task *task);
void gw__ring_forget_plans(struct gw_ring *ring);
/* The plans that events and the status are about. */
struct gw__chosen_plans *gw__ring_reported_plans(struct gw_ring *ring);

/* ---- ring_move.c ---- */

/* Does all tasks: of complete ops and, with a call, of the one in progress,
 * until that is complete. Adopts views on the way. */
GW_MUST_CHECK enum gw_err gw__ring_move(struct gw_ring *ring,
                                        const struct gw_ring_call *call,
                                        struct gw_error *why);
/* A call has failed: leaves the peers, so that they no longer read its buffers.
 */
enum gw_err gw__ring_fail(struct gw_ring *ring, enum gw_err err);

/* ---- ring_keep.c ---- */

/* Memory for the result of `op`. */
GW_MUST_CHECK enum gw_err gw__keep_room(struct gw_ring *ring, uint64_t op,
                                        const struct gw_ring_call *call,
                                        struct gw_error *why);
/* Applies the result that was just completed and updates the digest. *delivered
 * is the result for the application. */
GW_MUST_CHECK enum gw_err gw__keep_apply(struct gw_ring *ring,
                                         const struct gw_ring_result *kept,
                                         struct gw_ring_result *delivered,
                                         struct gw_error *why);
uint64_t gw__keep_hash(const void *data, size_t bytes, uint64_t seed);
/* The digest of a result covers all bytes up to this size, beyond it samples
 * that differ in each op. */
enum { GW__DIGEST_WHOLE_BYTES = 64 << 10 };
uint64_t gw__keep_digest(const void *data, size_t bytes, uint64_t op,
                         uint64_t seed);

/* ---- ring_begin.c, ring_op.c ---- */

GW_MUST_CHECK enum gw_err gw__ring_begin(struct gw_ring *ring,
                                         struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__ring_op(struct gw_ring *ring,
                                      const struct gw_ring_call *call,
                                      struct gw_ring_result *result,
                                      struct gw_error *why);

/* ---- ring_events.c ---- */

void gw__events_init(struct gw__shared_sink *events, struct gw_sink *wrapped);
void gw__events_fini(struct gw__shared_sink *events);
struct gw_sink *gw__events_sink(struct gw_ring *ring);
/* Without `lock`: the meaning of this op's transfers from now on. */
void gw__events_confirm(struct gw_ring *ring, uint64_t op, enum gw__confirmed);
/* Main thread: is it an op that confirms? */
bool gw__events_confirms(const struct gw_ring *ring, uint64_t op);
/* All of these with `lock` held. */
void gw__events_loss(struct gw_ring *ring, unsigned peer,
                     enum gw_evidence evidence);
void gw__events_view(struct gw_ring *ring,
                     const struct gw__membership_update *update);
void gw__events_parked(struct gw_ring *ring);
void gw__events_decision(struct gw_ring *ring,
                         const struct gw__decision *decision);
void gw__events_recovery(struct gw_ring *ring,
                         const struct gw__recovery_task *task,
                         const struct gw__contributor_sets *before,
                         const struct gw_nodes *start);

/* ---- ring_status.c; with `lock` held ---- */

void gw__status_append(struct gw_ring *ring, const char *text);
/* A loss was noticed; the first one counts. */
void gw__status_noticed(struct gw_ring *ring);
/* A step of the recovery: counts the hop if the other thread did the last. */
void gw__status_step(struct gw_ring *ring);
/* The recovery has reached another stage, a step: sets *stage. */
void gw__status_reached(struct gw_ring *ring, uint64_t *stage);
/* The recovery is over if no task is left. */
void gw__status_resumed(struct gw_ring *ring);

/* ---- ring_state.c ---- */

/* `apply` is called with the lock held and may take it again (gw_ring_state).
 */
void gw__state_lock_init(pthread_mutex_t *lock);
size_t gw__state_bytes(struct gw_ring *ring);

#endif
