/* SPDX-License-Identifier: MIT
 *
 * The log's half of ring.pml: the effect of each command on the registry. `now`
 * is Spin's state.
 */
#include "ring_size.h"

extern void (*uerror)(char *); /* Spin's */

static int has(unsigned set, int i)
{
    return set >> i & 1;
}

static int sets_count(unsigned set)
{
    return __builtin_popcount(set);
}

static int page(int i, int op)
{
    return i * OPS + op;
}

static int cell(int i, int op, int chunk)
{
    return page(i, op) * CHUNKS + chunk;
}

/* A violated invariant: an error of the model, with its trail. */
static void fail(const char *what)
{
    uerror((char *)what);
}

static void log_init(void)
{
    now.epoch = 1;
    now.ring = (1 << MEMBERS) - 1;
}

/* The nodes of a ring that take part in an op. */
static unsigned part_takers(unsigned ring, int op)
{
    unsigned set = 0;
    for (int i = 0; i < NODES; i++)
        if (has(ring, i) && now.from_op[i] <= op)
            set |= 1u << i;
    return set;
}

/* ---- decisions: lib/cluster/registry/decide.c ---- */

/* A survivor that began the op in another ring than the origin holds other
 * chunks. */
static int holds(int i, int op, unsigned origin)
{
    unsigned began = now.report_initial[page(i, op)];
    return has(part_takers(now.ring, op), i) && began &&
           sets_count(began) == sets_count(origin);
}

/* The set of a surviving final copy: `wanted`, or any. */
static unsigned final_set(int op, int chunk, unsigned origin, unsigned wanted)
{
    for (int i = 0; i < NODES; i++) {
        int at = cell(i, op, chunk);
        if (holds(i, op, origin) && now.report_final[at] &&
            (!wanted || now.report_set[at] == wanted))
            return now.report_set[at];
    }
    return 0;
}

static unsigned complete_set(int op, unsigned origin, unsigned wanted)
{
    unsigned set = final_set(op, 0, origin, wanted);
    for (int chunk = 1; set && chunk < CHUNKS; chunk++)
        set = final_set(op, chunk, origin, set);
#ifdef NEVER_FORWARD
    set = 0;
#endif
    return set;
}

static void decide_op(int op)
{
    int earlier = now.decided_in[op] != 0;
    unsigned origin = earlier ? now.origin[op] : part_takers(now.before, op);
    unsigned set = complete_set(op, origin, earlier ? now.contributors[op] : 0);
    now.contributors[op] = set ? set : part_takers(now.ring, op);
    now.origin[op] = origin;
    now.decided_in[op] = now.epoch;
}

static int was_begun(int op)
{
    for (int i = 0; i < NODES; i++)
        if (has(now.ring, i) && now.report_initial[page(i, op)])
            return 1;
    return 0;
}

static void decide(void)
{
    int low_watermark = now.op_low_watermark;
    for (int i = 0; i < NODES; i++)
        if (has(now.ring, i) && now.report_low_watermark[i] > low_watermark)
            low_watermark = now.report_low_watermark[i];
    for (int op = 0; op < OPS; op++) {
        if (op >= low_watermark && was_begun(op))
            decide_op(op);
        else if (op >= low_watermark)
            now.decided_in[op] = now.contributors[op] = now.origin[op] = 0;
    }
    now.op_low_watermark = low_watermark;
    now.flushing = 0;
}

static void check_flush(void)
{
    if (now.flushing && (now.reported & now.ring) == now.ring)
        decide();
}

/* ---- commands ---- */

static int may_confirm_dead(int who)
{
    return now.losses < LOSSES && has(now.ring, who) &&
           sets_count(now.ring) > 1;
}

/* Clears values that are not read again, which saves states. */
static void forget_reports(void)
{
    now.before = now.reported = 0;
    memset(now.report_low_watermark, 0, sizeof now.report_low_watermark);
    memset(now.report_initial, 0, sizeof now.report_initial);
    memset(now.report_set, 0, sizeof now.report_set);
    memset(now.report_final, 0, sizeof now.report_final);
}

static void flush_begin(void)
{
    forget_reports();
    now.flushing = 1;
    now.before = now.ring;
}

static void log_confirm_dead(int who)
{
    if (!now.flushing)
        flush_begin();
    now.ring &= (unsigned char)~(1u << who);
    now.epoch++;
    now.losses++;
    check_flush();
}

/* The newest complete op and the one under way. */
static int is_open(int i, int op)
{
    return has(now.begun[i], op) && op + 1 >= now.next_op[i];
}

static int has_to_report(int i)
{
    return now.flushing && has(now.ring, i) && !has(now.reported, i);
}

static void report_op(int i, int op)
{
    now.report_initial[page(i, op)] = now.began[page(i, op)];
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int at = cell(i, op, chunk);
        now.report_set[at] = now.sum[at];
        now.report_final[at] = now.sum[at] == now.target[page(i, op)];
    }
}

/* A report also freezes the member. */
static void log_report(int i)
{
    now.frozen[i] = 1;
    for (int op = OPS - 1; op >= 0; op--)
        if (is_open(i, op)) {
            report_op(i, op);
            now.report_low_watermark[i] = (unsigned char)op;
        }
    now.reported |= (unsigned char)(1u << i);
    check_flush();
}

static int first_of(unsigned set)
{
    return __builtin_ctz(set);
}

/* By the first of the ring, between two ops, once an op that began again in the
 * current view is complete; not for an op that is decided. */
static int is_boundary(int i)
{
    int next = now.next_op[i];
    return !now.flushing && !now.frozen[i] && first_of(now.ring) == i &&
           now.view[i] == now.epoch && now.resumed[i] == now.epoch &&
           next < OPS && !has(now.begun[i], next) && !now.decided_in[next];
}

static int may_admit(int i)
{
    return now.joins < JOINERS && is_boundary(i);
}

/* Another order, without a joiner. */
static int may_order(int i)
{
    return now.orders < ORDERS && is_boundary(i);
}

static void log_order(int i)
{
    now.orders++;
    now.epoch++;
    now.view_from = now.next_op[i];
}

/* The joiner has copied all results before `next`. */
static void log_admit(int i)
{
    now.joins++;
    now.epoch++;
    now.view_from = now.next_op[i];
    now.from_op[JOINER] = now.next_op[JOINER] = now.next_op[i];
    now.ring |= 1 << JOINER;
}
