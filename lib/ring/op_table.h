/* SPDX-License-Identifier: MIT
 *
 * The op table of one member: its ops that may still be open, and their tasks
 * in the present view. Pure: lib/ring's runtime and the simulator's members use
 * the same code.
 *
 * Ops are all-reduces, numbered in the ring, one after the other. A member that
 * completes op n knows that all members have begun n, and so have completed n -
 * 1: that is the floor. So at most two ops are open at a member: the newest
 * complete one, whose result others may still need, and the one in progress.
 *
 *              begin               done
 *     (none) --------> in progress -------> complete --done of the next--> over
 *                       |  ^  |
 *                freeze |  |  | admitted: a new member takes part; op restarted
 *                       v  |  v
 *                      frozen -- resume: as decided
 *
 * A task is an all-reduce among the members of the view that take part in the
 * op, from the values that they hold (recover.h). An undisturbed op is a task
 * in which no member holds a partial result. All members make equal tasks,
 * since tasks depend on the log alone.
 *
 * A decision may be about an op that this member has not begun: then it begins
 * as decided. `origin` has the initial members of an op, with which it began
 * anywhere, in the order of their places (cluster/registry/view.h). It
 * determines who contributes which chunk, so that all agree, whatever the order
 * of the ring.
 */
#ifndef GW__OP_TABLE_H
#define GW__OP_TABLE_H

#include "contributor_sets.h"
#include "recover.h"

#include <cluster/registry/decide.h>
#include <cluster/registry/view.h>
#include <ring/plans/chosen_plans.h>

enum { GW__OP_TABLE_OPS = 2 };

/* A task: the members that take part, and the values from which they start.
 * Pointers are into the op table. */
struct gw__recovery_task {
    uint64_t op;
    bool recovers;                 /* after a decision */
    enum gw__fate fate;            /* of the decision */
    struct gw__recovery_case plan; /* for gw__recovery_make */
    int rank;                      /* this member's rank among plan.nodes */
};

/* The entry of one op. */
struct gw__op_entry {
    bool used, begun, complete, task_left;
    uint64_t op;
    struct gw__contributor_sets sets; /* with `begun` */
    bool decided;
    struct gw__decision decision; /* with `decided` */
    unsigned initial_count;
    unsigned initial_members[GW__NODES_MAX];
    unsigned chunks; /* determined by initial_count */
    /* Of the task. */
    unsigned ranks;
    int rank; /* this member's among `nodes` */
    unsigned nodes[GW__NODES_MAX];
    const struct gw__holdings *held[GW__NODES_MAX];
    struct gw__holdings holdings[GW__NODES_MAX]; /* `held` points here */
};

struct gw__op_table {
    unsigned node;
    uint64_t next_op; /* the first that is not complete here */
    bool frozen;
    /* Skips the check of gw__op_table_accepts. Only the simulator sets this
     * (cmd/simcluster), to show why the check is needed. */
    bool any_epoch;
    /* The plans of undisturbed ops; NULL: built-in ones. Not owned. */
    struct gw__chosen_plans *chosen;
    /* Ring epoch of the newest complete op that was begun without a decision;
     * 0: none. */
    uint64_t completed_epoch;
    struct gw__view view; /* in force; ring_count 0: none yet */
    struct gw__op_entry entries[GW__OP_TABLE_OPS]; /* by op % 2 */
};

/* `next_op` of a joiner is the first op that it takes part in. */
void gw__op_table_init(struct gw__op_table *ops, unsigned node,
                       uint64_t next_op);

/* ---- views ---- */

/* A view that admits members or has another order, or the first view. `adopt`
 * returns false if the op in progress must be restarted in it: call
 * gw__op_table_begin again. Adopt a view only when gw__op_table_may_adopt: an
 * op before the view's `from_op` is finished first, in the old view, as the
 * other members do. */
bool gw__op_table_may_adopt(const struct gw__op_table *ops,
                            const struct gw__view *view);
bool gw__op_table_adopt(struct gw__op_table *ops, const struct gw__view *view);

/* May this member request the admission of joiners from next_op on? Only
 * between ops, once an op begun in the view in force, without a decision, is
 * complete. Then all members have adopted this view and finished the ops
 * decided before it. Otherwise a member that has not might wait forever for one
 * that has gone on to the next view. */
bool gw__op_table_may_admit(const struct gw__op_table *ops);

/* The ring has lost a member: nothing moves until `resume`. */
void gw__op_table_freeze(struct gw__op_table *ops);
/* The values that this member holds. None, if it has yet to begin its first op:
 * it may not know whether all members have completed the one before. */
void gw__op_table_report(const struct gw__op_table *ops,
                         struct gw__report *report);
/* The flush is over; `view` is the one of the decision. `reports[node]` are
 * those of the survivors; NULL: no report. Afterwards decided ops that this
 * member has begun have tasks (gw__op_table_recovery_task), and the others wait
 * for gw__op_table_begin. */
void gw__op_table_resume(struct gw__op_table *ops, const struct gw__view *view,
                         const struct gw__decision *decisions, unsigned count,
                         const struct gw__report *const *reports);

/* ---- ops ---- */

/* Begins op next_op; gw__op_table_recovery_task then returns its task, new or
 * as decided. Not while frozen, nor twice unless an adopt requires it, nor
 * before the first op that this member takes part in. */
void gw__op_table_begin(struct gw__op_table *ops);
/* The oldest task that is not done. False: there is none. */
bool gw__op_table_recovery_task(struct gw__op_table *ops,
                                struct gw__recovery_task *task);
/* The contributor sets of the task's op, to be started with the plan's:
 * gw__contributor_sets_retarget(sets, plan.target, recovery.sets of this
 * rank). */
struct gw__contributor_sets *gw__op_table_sets(struct gw__op_table *ops,
                                               uint64_t op);
/* The task of `op` is done: all of its chunks are final here. */
void gw__op_table_done(struct gw__op_table *ops, uint64_t op);
/* May data of this epoch and op be used? Only this check keeps messages of an
 * earlier view out of this one; `ringctl sim ring --without epoch-check` shows
 * the effect of leaving it out. */
bool gw__op_table_accepts(const struct gw__op_table *ops, uint64_t ring_epoch,
                          uint64_t op);

/* The contributors of the result of an open op, and its initial members. */
struct gw_nodes gw__op_table_contributors(const struct gw__op_table *ops,
                                          uint64_t op);
unsigned gw__op_table_initial_members(const struct gw__op_table *ops,
                                      uint64_t op,
                                      unsigned initial_members[GW__NODES_MAX]);

#endif
