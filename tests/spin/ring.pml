/* SPDX-License-Identifier: MIT
 *
 * The ring's protocol as a model for Spin: flush, decision, commit, a join and
 * a new order, for MEMBERS members, LOSSES deaths, JOINERS joiners (0 or 1)
 * and ORDERS orders. What an order does to neighbours is left out; what it does
 * to views is not: it is an admission of no joiner, from an op on.
 * `ringctl sim` runs the library's own code under many random schedules; this
 * model is small enough to look at every schedule there is.
 *
 * What is modelled, and where the code is:
 *
 *   the log       one sequence of commands, which is what Raft promises, and
 *                 the registry that applies them: declare dead, report, decide,
 *                 admit (lib/cluster/registry/registry_flush.c, registry_members.c)
 *   a member      hears of the log when it likes; freezes and reports, resumes,
 *                 adopts, begins, completes (lib/ring/op_table.c, book_decide.c)
 *   the data      a chunk's sum goes from rank to rank, the last one's is final
 *                 and is spread; a recovery does so from what the reports say
 *                 (lib/ring/recover.c). Values are the sets of those whose data
 *                 is in them. Messages lie in queues, also those of members
 *                 that were declared dead.
 *
 * What an entry of the log does, and what a member makes of it, is
 * deterministic: that is C, in ring_log.h and ring_op_table.h. What may happen when
 * is below. A declaration of death meets a process that has ended or one that lives; then
 * it goes on until it hears of it. A process that has ended is one that is
 * never scheduled again, so one move is both.
 *
 * What is asserted (fail in ring_log.h):
 *   exactly once  nobody is added to a sum that has him, and a final sum is
 *                 that of the op's contributors
 *   agreement     a result that a member of the ring may have used is that of
 *                 every other member of the ring that has one
 *   survivors     whoever stands in the ring at the end and took part is in it
 *   progress      when nothing can move any more, all have completed all ops
 *
 * Four models are wrong on purpose, and Spin must find out. ANY_EPOCH leaves
 * out the rule of gw__op_table_accepts: sums of an old view come into a new one.
 * NEVER_FORWARD lets a decision ignore finals: a result that was used is taken
 * back. NEVER_CONFIRMED lets a joiner begin before the op that it has copied is
 * complete everywhere: when the others are cut short in it, its report raises
 * the floor above that op, and they never finish it. ANY_OP lets a view with
 * another order be adopted in the middle of an op before it. check.sh runs all
 * of them.
 */
#include "ring_size.h"

/* ---- the log, and the registry that it makes ---- */

byte epoch, ring, from_op[NODES], losses, joins, orders, op_low_watermark;
byte view_from; /* the first op in the newest view that was admitted to */
bool flushing;
byte before, reported; /* sets of nodes, as bits */
byte report_low_watermark[NODES];
byte report_initial[NODES * OPS]; /* 0: holds nothing of this op */
byte report_set[NODES * OPS * CHUNKS];
byte report_final[NODES * OPS * CHUNKS];
byte decided_in[OPS]; /* epoch; 0: not decided */
byte contributors[OPS], origin[OPS];

/* ---- what each member knows and holds ---- */

byte view[NODES]; /* the epoch of its view; 0: none yet */
byte members[NODES]; /* of that view */
byte frozen[NODES], next_op[NODES], resumed[NODES];
byte begun[NODES], used[NODES], left[NODES], decided[NODES]; /* ops, as bits */
byte target[NODES * OPS], began[NODES * OPS], ranks[NODES * OPS];
byte sum[NODES * OPS * CHUNKS];
byte share[NODES * OPS * CHUNKS];  /* what this member adds */
byte source[NODES * OPS * CHUNKS]; /* who spreads a final; NODES: nobody has it */
byte arrived[NODES * OPS * CHUNKS]; /* the chain has come to here */
byte passed[NODES * OPS * CHUNKS]; /* to whom the chunk has gone, as bits */


/* ---- the message on its way from a node to another ---- */

byte mail_epoch[NODES * NODES]; /* 0: there is none */
byte mail_op[NODES * NODES], mail_chunk[NODES * NODES], mail_set[NODES * NODES];
byte mail_final[NODES * NODES];

c_code {
\#include "ring_log.h"
\#include "ring_op_table.h"
}

/* If it may be, it is done, in one move. */
#define CONVICT(who)                                                           \
    d_step { c_expr { (may_confirm_dead(who)) } -> c_code { log_confirm_dead(who); } }
#define MOVE(may, does)                                                        \
    d_step { c_expr { (may(Pmember->i)) } -> c_code { does(Pmember->i); } }
#define TAKE(from)                                                             \
    d_step { c_expr { (may_apply(Pmember->i, from)) } ->                        \
        c_code { book_apply(Pmember->i, from); } }

/* Declarations of death come from the controllers, whatever a member is doing. */
active proctype controllers() {
    do
    :: break
    :: CONVICT(0)
    :: CONVICT(1)
    :: CONVICT(2)
#if NODES > 3
    :: CONVICT(3)
#endif
#if NODES > 4
    :: CONVICT(4)
#endif
    od
}

proctype member(byte i) {
end:
    do
    :: d_step { c_expr { (has_gone(Pmember->i)) } ->
        c_code { book_leave(Pmember->i); } }; break
    /* The log. */
    :: MOVE(has_to_report, log_report)
    :: MOVE(may_resume, book_resume)
    :: MOVE(may_adopt, book_adopt)
    :: MOVE(may_admit, book_admit)
    :: MOVE(may_order, book_order)
    /* Ops. */
    :: MOVE(may_begin, book_begin)
    :: MOVE(may_end, book_done)
    /* Data. */
    :: MOVE(may_send, book_send)
    :: TAKE(0)
    :: TAKE(1)
    :: TAKE(2)
#if NODES > 3
    :: TAKE(3)
#endif
#if NODES > 4
    :: TAKE(4)
#endif
    od
}

init {
    byte i;
    atomic {
        c_code { log_init(); };
        do
        :: i < NODES -> run member(i); i++
        :: else -> break
        od
    };
    timeout -> c_code { check_end(); }
}
