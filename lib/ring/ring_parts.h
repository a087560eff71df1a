/* SPDX-License-Identifier: MIT
 *
 * The ring in the real world: two threads and what is between them.
 *
 *   main      the caller's: begins ops, meets peers, moves data, applies
 *   control   the session's (cluster/session/session.h): runs the member machine, which
 *             tells of views and flushes, and answers those who copy the state
 *
 *   ring.c        joining, leaving without a word
 *   ring_tell.c   control: what the machine tells
 *   ring_turn.c   control: what is due now and then
 *   ring_wait.c   main: until nothing stands in the way of moving
 *   ring_meet.c   main: the communicator of the present view
 *   ring_plan.c   main: the program of a task
 *   ring_move.c   main: does tasks
 *   ring_keep.c   results: memory, digest, apply
 *   ring_begin.c  gw_ring_begin, and admission
 *   ring_op.c     gw_ring_allreduce
 *   ring_run.c    other collectives
 *   ring_check.c  are all states equal
 *   ring_leave.c  gw_ring_leave
 *   ring_bounds.c how many members there are to be, and how long to wait
 *   ring_state_fetch.c   a joiner copies the state; ring_copy.c does so in
 *                 gw_ring_join; ring_state_server.c gives it; ring_state_transfer.h is what
 *                 they say to each other
 *   ring_state_confirm.c   a joiner makes sure that it copied what stands, or that
 *                 nobody has the state any more (state_validity.h)
 *   ring_status.c looking at it; ring_events.c what the event stream is told
 *
 * Who may touch what
 *   `lock` guards all that both threads use: the book above all. While `moving`
 *   is true, main reads and writes the ledger and the result of the op under
 *   way without it, and control leaves the book alone but for asking it whether
 *   a view may be adopted: who wants more raises `stop`, and main gives the
 *   book back within 2 ms. That is how a flush gets a report that is true: what
 *   moves has stopped before anybody asks what there is; when nothing moves,
 *   control freezes the book and reports by itself, and main may go on
 *   computing.
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

#define GW__RING_STAND_NS 50000000ULL /* between looks at what moves */

/* The tag of ops that are the ring's own: `apply` does not see them. */
#define GW__RING_OWN_TAG UINT32_MAX

/* The result of an op, kept until the op after the next begins: others may need
 * it to complete the op, joiners to catch up. */
struct gw__kept {
    unsigned char *data; /* gw_alloc; a sum where avg is wanted */
    size_t room;
    bool complete;
    bool applied; /* it is in the state, which has this digest after it */
    uint64_t digest;
    struct gw_ring_result result;
};

/* A compiled task. */
struct gw__compiled {
    struct gw__program *program; /* NULL: none */
    uint64_t ring_epoch;
    unsigned ranks, origin_count;
    unsigned nodes[GW__NODES_MAX], origin[GW__NODES_MAX];
};

/* A sink that two threads may use. */
struct gw__shared_sink {
    struct gw_sink sink;
    pthread_mutex_t lock;
    struct gw_sink *inner;
};

struct gw_ring {
    struct gw_ring_config config;
    struct gw__session session; /* its lock is `lock` */
    struct gw__shared_sink events;

    /* Main must not move, or wait for peers, while it is true: somebody wants
     * the book, or there is nothing to wait for any more. */
    _Atomic bool stop;
    _Atomic bool interrupted;

    /* ---- under `lock` ---- */

    bool member;      /* the book has a view */
    uint64_t few_ns;  /* since when there are too few members; 0: enough */
    uint64_t full_ns; /* a joiner: since when there are too many; 0: room */
    struct gw_error failed; /* sticky: no call will succeed */
    struct gw__op_table book;
    bool moving;
    bool anew;          /* the op under way was begun anew, with newcomers */
    bool poked;         /* `stop` was raised to see how far it is */
    uint64_t looked_ns; /* at how far it is */

    struct gw__view known; /* the newest, whether obeyed yet or not */
    bool view_waits;       /* `next_view` is to be adopted, when it may be */
    struct gw__view next_view;
    bool flushing, reported;
    bool unapplied; /* the newest op has left no trace in the state */
    uint64_t flush_epoch;

    /* meeting */
    uint64_t met_epoch;       /* the ring epoch of `table`, when it is there */
    uint64_t broken_epoch;    /* a ring epoch in which no more data can move */
    uint64_t broken_until_ns; /* when no news has come by then it is `broken`'s
                                 fault; 0: news will come */
    struct gw_error broken;
    struct gw__address table[GW__NODES_MAX];

    /* admission */
    unsigned ready;         /* joiners that are */
    struct gw__order order; /* that the ring is to have; count 0: any */
    bool admitting;         /* main waits for the answer */
    bool admit_due;         /* control has yet to ask */
    uint64_t admit_epoch;   /* of the ring in which that was found */
    uint64_t admit_from_ns; /* not before */
    uint64_t admit_began_ns;

    struct gw__kept kept[GW__OP_TABLE_OPS]; /* by op % 2 */

    /* copying */
    bool gives; /* the state is whole: others may copy it */
    struct gw__pull pull;
    struct gw__state_validity claim; /* what the copy is worth */
    uint64_t sure_asked_ns;

    /* leaving: how many ops a node has completed, it says; who says that it
     * leaves */
    uint64_t passed[GW__NODES_MAX];
    uint64_t leaving;

    /* looking at it */
    struct gw_ring_status status; /* what is counted, `last`, and the text */
    bool status_changed;
    uint64_t noticed_ns; /* of the loss that is being recovered from; 0 */
    struct gw__standing standing, stood; /* now; what the machine was told */
    uint64_t stood_ns;
    bool joining;       /* gw_ring_join has not returned */
    uint64_t announced; /* joiners that an event has told of */

    /* ---- under `state_lock` ---- */

    pthread_mutex_t state_lock;
    uint64_t state_op;    /* ops that are in it */
    uint64_t digest;      /* over these ops */
    uint64_t state_epoch; /* in which the newest of them was completed */

    /* ---- control's own ---- */

    struct gw__ring_snapshot snapshots[GW__RING_SNAPSHOTS];

    /* ---- main's own ---- */

    struct gw_comm *comm;
    uint64_t comm_epoch; /* its ring epoch; 0: none. Of one member alone there
                            is no communicator */
    struct gw__compiled undisturbed; /* the program of ops that are */
    struct gw__program *recovery;
    struct gw__contributors shares;
    struct gw_request *request;
    bool watches; /* it is to hear when the op under way is begun anew */
    unsigned char *averages; /* the result, where it is not the sum */
    size_t averages_room;
};

/* ---- ring_tell.c, ring_turn.c: hooks of the session ---- */

void gw__ring_on_told(void *context, const struct gw__told *told);
void gw__ring_on_turn(void *context);
void gw__ring_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes);

/* ---- ring_leave.c: control ---- */

void gw__leave_asked(struct gw_ring *ring, unsigned from);
void gw__leave_answered(struct gw_ring *ring, unsigned from, uint64_t ops);

/* ---- ring_bounds.c; all but `keep` with `lock` held ---- */

/* Too few members: the op is not to begin now. */
bool gw__bounds_wait(const struct gw_ring *ring);
/* GW_ETIMEOUT: for too long. */
GW_MUST_CHECK enum gw_err gw__bounds_check(struct gw_ring *ring,
                                           struct gw_error *why);
/* May somebody be admitted? */
bool gw__bounds_room(const struct gw_ring *ring);
/* A joiner looks: GW_EINVAL: there is no room. */
GW_MUST_CHECK enum gw_err gw__bounds_join(struct gw_ring *ring,
                                          struct gw_error *why);
/* A new member looks, and leaves: GW_EINVAL. */
GW_MUST_CHECK enum gw_err gw__bounds_keep(struct gw_ring *ring,
                                          struct gw_error *why);
/* No majority of the controllers was heard for too long. */
bool gw__bounds_abandoned(const struct gw_ring *ring);

/* ---- ring_state_confirm.c ---- */

/* Control. */
void gw__sure_asked(struct gw_ring *ring, unsigned from);
void gw__sure_answered(struct gw_ring *ring, unsigned from,
                       const struct gw__foreign_state *state);
void gw__sure_nothing(struct gw_ring *ring, unsigned from, uint64_t ring_epoch);
/* With `lock` held: there are news. */
void gw__sure_news(struct gw_ring *ring);
/* Main, with `lock` held: something was copied; false: it is void. What it is
 * worth. Asks who has to be asked. */
bool gw__sure_copied(struct gw_ring *ring);
enum gw__worth gw__sure_worth(const struct gw_ring *ring);
void gw__sure_ask(struct gw_ring *ring);

/* ---- ring_wait.c; all with `lock` held ---- */

/* Asks the machine; the ring fails when it cannot be asked. */
void gw__ring_ask(struct gw_ring *ring,
                  const struct gw__member_request *request);
/* Either thread: raises `stop` if there is a reason. It stays up until main has
 * looked: a reason that comes and goes has left another view behind. */
void gw__ring_raise_stop(struct gw_ring *ring);
/* Main: `stop` as it should be. */
void gw__ring_lower_stop(struct gw_ring *ring);
/* GW_OK, or why the ring is of no use any more. */
enum gw_err gw__ring_alive(const struct gw_ring *ring, struct gw_error *why);
/* Waits until nothing stands in the way of moving; adopts what is to be
 * adopted. GW_OK, or as `alive`. */
enum gw_err gw__ring_quiet(struct gw_ring *ring, struct gw_error *why);
/* Reports what there is, when a flush wants it and nothing moves. */
void gw__ring_report(struct gw_ring *ring);
/* Main has stopped moving: reports if that is wanted. */
void gw__ring_settle(struct gw_ring *ring);
/* Has begun the op under way. */
bool gw__ring_has_begun(const struct gw_ring *ring);
void gw__ring_stand(struct gw_ring *ring, enum gw__phase phase, int waits_for);

/* ---- ring_meet.c ---- */

/* With `lock` held: is the communicator that of the present view? */
bool gw__ring_is_met(const struct gw_ring *ring);
/* Without it. GW_OK: met, or news came in between. */
GW_MUST_CHECK enum gw_err gw__ring_meet(struct gw_ring *ring,
                                        struct gw_error *why);
/* The communicator has failed: by a loss, which is told to the machine (then
 * GW_OK: news will come), or by what the ring cannot mend. */
GW_MUST_CHECK enum gw_err gw__ring_comm_failed(struct gw_ring *ring,
                                               enum gw_err err,
                                               struct gw_error *why);
void gw__ring_part(struct gw_ring *ring);

/* ---- ring_plan.c; with `lock` held ---- */

/* The program of a task, for the communicator; its ledger begins as the plan
 * says. */
GW_MUST_CHECK enum gw_err gw__ring_compile(struct gw_ring *ring,
                                           const struct gw__task *task,
                                           struct gw__program **program,
                                           struct gw_error *why);
void gw__ring_forget_plans(struct gw_ring *ring);

/* ---- ring_move.c ---- */

/* Does all tasks that there are: of complete ops and, with a call, of the one
 * under way, until that is complete. Views are adopted on the way. */
GW_MUST_CHECK enum gw_err gw__ring_move(struct gw_ring *ring,
                                        const struct gw_ring_call *call,
                                        struct gw_error *why);
/* A call has failed: the peers are left, so that nobody reads its buffers. */
enum gw_err gw__ring_fail(struct gw_ring *ring, enum gw_err err);

/* ---- ring_keep.c ---- */

/* Memory for the result of `op`. */
GW_MUST_CHECK enum gw_err gw__keep_room(struct gw_ring *ring, uint64_t op,
                                        const struct gw_ring_call *call,
                                        struct gw_error *why);
/* The result that was just completed: its digest, and what `apply` makes of it.
 * *seen is what the application is to see. */
GW_MUST_CHECK enum gw_err gw__keep_apply(struct gw_ring *ring,
                                         const struct gw_ring_result *kept,
                                         struct gw_ring_result *seen,
                                         struct gw_error *why);
uint64_t gw__keep_hash(const void *data, size_t bytes, uint64_t seed);
/* Of a result: of all of it up to this size, of samples beyond, which are
 * others in each op. */
enum { GW__DIGEST_WHOLE_BYTES = 64 << 10 };
uint64_t gw__keep_digest(const void *data, size_t bytes, uint64_t op,
                         uint64_t seed);
/* Makes *memory at least `bytes` large. */
GW_MUST_CHECK enum gw_err gw__keep_grow(unsigned char **memory, size_t *room,
                                        size_t bytes, struct gw_error *why);

/* ---- ring_begin.c, ring_op.c ---- */

GW_MUST_CHECK enum gw_err gw__ring_begin(struct gw_ring *ring,
                                         struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__ring_op(struct gw_ring *ring,
                                      const struct gw_ring_call *call,
                                      struct gw_ring_result *result,
                                      struct gw_error *why);

/* ---- ring_events.c ---- */

void gw__events_init(struct gw__shared_sink *events, struct gw_sink *inner);
void gw__events_fini(struct gw__shared_sink *events);
struct gw_sink *gw__events_sink(struct gw_ring *ring);
/* With `lock` held, of all of these. */
void gw__events_loss(struct gw_ring *ring, unsigned peer,
                     enum gw_evidence evidence);
void gw__events_view(struct gw_ring *ring,
                     const struct gw__membership_update *news);
void gw__events_parked(struct gw_ring *ring);
void gw__events_decision(struct gw_ring *ring,
                         const struct gw__decision *decision);
void gw__events_recovery(struct gw_ring *ring, const struct gw__task *task,
                         const struct gw__contributor_sets *before,
                         const uint64_t *start);

/* ---- ring_status.c; with `lock` held ---- */

void gw__status_say(struct gw_ring *ring, const char *text);
/* A loss was noticed; the first one counts. */
void gw__status_noticed(struct gw_ring *ring);
/* Another stage of the recovery is reached: sets *stage. */
void gw__status_reached(struct gw_ring *ring, uint64_t *stage);
/* It is over if no task is left. */
void gw__status_resumed(struct gw_ring *ring);

/* ---- ring_state.c ---- */

/* `apply` is called with the lock and may take it again (gw_ring_state). */
void gw__state_lock_init(pthread_mutex_t *lock);
size_t gw__state_bytes(struct gw_ring *ring);

#endif
