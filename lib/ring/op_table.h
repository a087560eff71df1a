/* SPDX-License-Identifier: MIT
 *
 * The book of one member: its ops that may still be open, and what is to be
 * done about them in the present view. Pure; lib/ring's runtime and the
 * simulator's members keep the same book.
 *
 * Ops are all-reduces, numbered in the ring, done one after the other. Whoever
 * completes op n knows that everybody has begun it, and so has completed
 * n - 1: that is the floor. So at most two are open at a member: the newest
 * complete one, whose result others may still need, and the one under way.
 *
 *              begin               done
 *     (none) --------> under way ---------> complete --done of the next--> over
 *                       |  ^  |
 *                freeze |  |  | admitted: somebody new takes part; begun anew
 *                       v  |  v
 *                      frozen -- resume: as decided
 *
 * What is to be done is a task: an all-reduce among the members of the view
 * that take part in the op, from what they hold (recover.h). An undisturbed op
 * is the same thing with nothing held. All members make equal tasks, since they
 * are made of the log alone.
 *
 * A decision may be about an op that this member has not begun: then it begins
 * as decided. Who answers for whose data is settled by `origin`: the members with
 * which the op began anywhere, in the order of their places (cluster/view.h), so
 * that all agree on who was to bring what, whatever the order of the ring.
 */
#ifndef GW__OP_TABLE_H
#define GW__OP_TABLE_H

#include "contributor_sets.h"
#include "recover.h"

#include <cluster/registry/decide.h>
#include <cluster/registry/view.h>

enum { GW__OP_TABLE_OPS = 2 };

/* A task; who takes part and from what. Pointers are into the book. */
struct gw__task {
    uint64_t op;
    bool recovers;                 /* after a decision */
    enum gw__fate fate;            /* of the decision */
    struct gw__recovery_case plan; /* for gw__recovery_make */
    int rank;                      /* ours among plan.nodes */
};

/* Of one op. */
struct gw__page {
    bool used, begun, complete, task_left;
    uint64_t op;
    struct gw__contributor_sets ledger; /* with `begun` */
    bool decided;
    struct gw__decision decision; /* with `decided` */
    unsigned origin_count;
    unsigned origin[GW__NODES_MAX];
    /* Of the task. */
    unsigned ranks;
    unsigned nodes[GW__NODES_MAX];
    const struct gw__holdings *held[GW__NODES_MAX];
    struct gw__holdings holdings[GW__NODES_MAX]; /* those that `held` names */
};

struct gw__op_table {
    unsigned node;
    uint64_t next_op; /* the first that is not complete here */
    bool frozen;
    /* The rule of gw__op_table_accepts is left out. Nothing but the simulator sets
     * this (cmd/world/ring), to show what the rule is for. */
    bool any_epoch;
    uint64_t settled; /* ring epoch of the newest op that was begun afresh and
                         is complete; 0: none */
    struct gw__view view; /* the one in force; ring_count 0: none yet */
    struct gw__page pages[GW__OP_TABLE_OPS]; /* by op % 2 */
};

/* `next_op` of a joiner is the first op that it takes part in. */
void gw__op_table_init(struct gw__op_table *book, unsigned node,
                       uint64_t next_op);

/* ---- views ---- */

/* A view that admits members or has another order, or the first. False: the op
 * under way is to be begun anew in it (call gw__op_table_begin again). To be
 * adopted only when gw__op_table_may_adopt: an op before the view's `from_op` is
 * finished first, in the old view, where the others do it, too. */
bool gw__op_table_may_adopt(const struct gw__op_table *book,
                            const struct gw__view *view);
bool gw__op_table_adopt(struct gw__op_table *book, const struct gw__view *view);

/* May this member ask to admit joiners from next_op on? At a boundary, once an
 * op that was begun afresh in the view in force is complete. For then everybody
 * has come to this view and finished what was decided before it; who had not
 * might wait for ever for one that has gone on to the next view. */
bool gw__op_table_may_admit(const struct gw__op_table *book);

/* The ring has lost a member: nothing moves until `resume`. */
void gw__op_table_freeze(struct gw__op_table *book);
/* What this member holds; nothing, of one that has yet to begin its first op:
 * it may not know whether everybody has completed the one before. */
void gw__op_table_report(const struct gw__op_table *book,
                         struct gw__report *report);
/* The flush is over; `view` is the one that was decided in. `reports[node]` of
 * the survivors, NULL where there is none. Afterwards tasks are there for
 * decided ops that this member has begun (gw__op_table_task), and the others wait
 * for gw__op_table_begin. */
void gw__op_table_resume(struct gw__op_table *book, const struct gw__view *view,
                         const struct gw__decision *decisions, unsigned count,
                         const struct gw__report *const *reports);

/* ---- ops ---- */

/* Begins op next_op: its task, fresh or as decided, is to be had by
 * gw__op_table_task. Not while frozen, nor twice without an adopt that says so, nor
 * before the first op that this member takes part in. */
void gw__op_table_begin(struct gw__op_table *book);
/* The oldest task that is not done. False: there is none. */
bool gw__op_table_task(struct gw__op_table *book, struct gw__task *task);
/* The ledger of the task's op, to be started with what the plan says:
 * gw__contributor_sets_retarget(ledger, plan.target, recovery.sets of our rank). */
struct gw__contributor_sets *gw__op_table_ledger(struct gw__op_table *book,
                                                 uint64_t op);
/* The task of `op` is done: all of its chunks are final here. */
void gw__op_table_done(struct gw__op_table *book, uint64_t op);
/* Data of this epoch and op may be taken in. All that keeps a message of an
 * earlier view out of this one; `ringctl sim ring --without epoch-check` shows
 * what happens without. */
bool gw__op_table_accepts(const struct gw__op_table *book, uint64_t ring_epoch,
                          uint64_t op);

/* Of an op that is open here: whose data its result holds, and in which ring
 * it began. */
uint64_t gw__op_table_contributors(const struct gw__op_table *book,
                                   uint64_t op);
unsigned gw__op_table_origin(const struct gw__op_table *book, uint64_t op,
                             unsigned origin[GW__NODES_MAX]);

#endif
