/* SPDX-License-Identifier: MIT
 *
 * Moving data: the main thread does one task after the other. With the lock it
 * checks the state, adopts views and compiles; without it, it connects and
 * moves.
 *
 *     quiet --> met? --no--> meet --+
 *       ^        |yes               |
 *       |        v                  |
 *       |     compile, move --------+--> again, until there is no task
 *       +---- stopped, lost: an update will come
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <assert.h>
#include <string.h>

/* ---- one task ---- */

/* The values of the task's op. A complete op has only results: all its chunks
 * are final, so the input is never read. */
static struct gw_call data_of(const struct gw_ring *ring,
                              const struct gw__recovery_task *task,
                              const struct gw_ring_call *call)
{
    static const char nothing;
    const struct gw__kept *kept = &ring->kept[task->op % GW__OP_TABLE_OPS];
    enum gw_redop op = kept->result.redop;
    return (struct gw_call){
        .collective = GW_ALLREDUCE,
        .in = call && !kept->complete ? call->in : &nothing,
        .out = kept->data,
        .count = kept->result.count,
        .type = kept->result.type,
        .op = op == GW_AVG ? GW_SUM : op,
    };
}

/* The result is this member's input alone: copy it, since no transfer writes
 * it. */
static void copy_own_input(const struct gw_ring *ring,
                           const struct gw__recovery_task *task,
                           const struct gw_call *data)
{
    bool complete = ring->kept[task->op % GW__OP_TABLE_OPS].complete;
    struct gw_nodes own = gw__nodes_only(ring->session.node);
    if (!complete && gw__nodes_equal(task->plan.target, own) && data->count)
        memcpy(data->out, data->in, data->count * gw_dtype_size(data->type));
}

/* Data may move: until it has settled, only the main thread uses the
 * contributor sets. */
static enum gw_err begin_move(struct gw_ring *ring,
                              const struct gw__recovery_task *task,
                              struct gw__program **program,
                              struct gw_error *why)
{
    enum gw_err err = gw__ring_compile(ring, task, program, why);
    if (err)
        return err;
    struct gw__contributor_sets *sets = gw__op_table_sets(&ring->ops, task->op);
    ring->contributors = (struct gw__contributors){.sets = sets->sets,
                                                   .own = ring->session.node,
                                                   .target = task->plan.target,
                                                   .recovers = task->recovers};
    ring->moving = true;
    ring->report_requested = false;
    ring->checked_ns = gw_now_ns();
    gw__ring_report_progress(
        ring, task->recovers ? GW__RECOVERING : GW__REDUCING, -1);
    gw__failpoint(task->recovers ? GW__AT_RECOVER_PLAN : GW__AT_RING_MOVE);
    return GW_OK;
}

/* Records the progress. False: stop. */
static bool record_progress(struct gw_ring *ring,
                            const struct gw__recovery_task *task)
{
    gw__session_lock(&ring->session);
    int rank = gw__comm_waits_for(ring->comm), node = -1;
    if (rank >= 0)
        node = (int)ring->ops.view.ring[rank].node;
    const struct gw__contributor_sets *sets =
        gw__op_table_sets(&ring->ops, task->op);
    enum gw__phase phase = GW__REDUCING;
    for (unsigned c = 0; c < sets->chunks; c++)
        if (gw__contributor_sets_final(sets, c))
            phase = GW__GATHERING;
    gw__ring_report_progress(ring, task->recovers ? GW__RECOVERING : phase,
                             node);
    ring->report_requested = false;
    ring->checked_ns = gw_now_ns();
    ring->status_changed = true;
    gw__ring_lower_stop(ring);
    bool goes_on = !atomic_load(&ring->stop);
    gw__session_unlock(&ring->session);
    return goes_on;
}

/* GW_OK, GW_PENDING: stopped, or the communicator's error. */
static enum gw_err transfer(struct gw_ring *ring,
                            const struct gw__recovery_task *task,
                            const struct gw_call *data,
                            struct gw__program *program)
{
    if (!ring->comm)
        return GW_OK;
    enum gw_err err =
        gw__contributors_start(ring->comm, data, program, (uint32_t)task->op,
                               &ring->contributors, &ring->request);
    while (!err) {
        err = gw__contributors_wait(&ring->request, &ring->stop);
        if (err != GW_PENDING)
            return err;
        if (record_progress(ring, task))
            err = GW_OK;
    }
    return err;
}

/* Waits at a cut; the members' connections are left alone. GW_PENDING: stopped,
 * because of a loss. */
static enum gw_err hold(struct gw_ring *ring,
                        const struct gw__recovery_task *task,
                        const struct gw_ring_hold *cut)
{
    do {
        gw__session_lock(&ring->session);
        gw__hold_reached(ring, cut);
        gw__session_nap(&ring->session);
        gw__session_unlock(&ring->session);
    } while (!atomic_load(&ring->stop) || record_progress(ring, task));
    return GW_PENDING;
}

/* ---- when it is done ---- */

/* Members that took part and are still there, but are missing in the result: 0
 * unless there is a fault. */
static unsigned count_lost(const struct gw__view *view,
                           const struct gw_ring_result *result)
{
    unsigned lost = 0;
    for (unsigned i = 0; i < result->initial_count; i++) {
        int rank = gw__view_rank(view, result->initial_members[i]);
        lost +=
            rank >= 0 && view->ring[rank].from_op <= result->op &&
            !gw_nodes_has(&result->contributors, result->initial_members[i]);
    }
    return lost;
}

static void completed(struct gw_ring *ring,
                      const struct gw__recovery_task *task)
{
    struct gw__kept *kept = &ring->kept[task->op % GW__OP_TABLE_OPS];
    struct gw_ring_result *result = &kept->result;
    result->op = task->op;
    result->epoch = ring->ops.view.epoch;
    result->contributors = gw__op_table_contributors(&ring->ops, task->op);
    result->initial_count = gw__op_table_initial_members(
        &ring->ops, task->op, result->initial_members);
    kept->complete = true;
    ring->unapplied = result->tag == GW__RING_OWN_TAG;
    ring->status.ops_done++;
    ring->status.lost += count_lost(&ring->ops.view, result);
    ring->status_changed = true;
}

static void done(struct gw_ring *ring, const struct gw__recovery_task *task)
{
    bool in_progress = task->op == ring->ops.next_op;
    gw__op_table_done(&ring->ops, task->op);
    if (in_progress)
        completed(ring, task);
    gw__status_resumed(ring);
    gw__ring_report_progress(ring, GW__COMPUTE, -1);
    gw__failpoint(task->recovers ? GW__AT_RECOVER_DONE : GW__AT_RING_COMPLETE);
}

/* ---- all tasks ---- */

/* With the lock. The task is a copy, but its plan is in the op table, where it
 * does not change while `moving`. */
static enum gw_err do_task(struct gw_ring *ring,
                           const struct gw__recovery_task *task,
                           const struct gw_ring_call *call,
                           struct gw_error *why)
{
    struct gw__program *program;
    struct gw_call data = data_of(ring, task, call);
    const struct gw_ring_hold *cut = gw__ring_cut(ring, task);
    enum gw_err err = begin_move(ring, task, &program, why);
    if (err)
        return err;
    gw__ring_lower_stop(ring);
    gw__session_unlock(&ring->session);
    err = transfer(ring, task, &data, program);
    if (!err && cut)
        err = hold(ring, task, cut);
    if (!err) {
        copy_own_input(ring, task, &data);
        gw__failpoint(task->recovers ? GW__AT_RECOVER_MOVED
                                     : GW__AT_RING_MOVED);
    }
    gw__session_lock(&ring->session);
    if (!err)
        done(ring, task);
    gw__ring_end_move(ring);
    if (!err || err == GW_PENDING)
        return GW_OK;
    gw__session_unlock(&ring->session);
    err = gw__ring_comm_failed(ring, err, why);
    gw__session_lock(&ring->session);
    return err;
}

static enum gw_err connect_unlocked(struct gw_ring *ring, struct gw_error *why)
{
    gw__session_unlock(&ring->session);
    enum gw_err err = gw__ring_connect(ring, why);
    gw__session_lock(&ring->session);
    return err;
}

/* Does the oldest task, or the work that must come before it. */
static enum gw_err one(struct gw_ring *ring, const struct gw_ring_call *call,
                       bool *any, struct gw_error *why)
{
    struct gw__recovery_task task;
    enum gw_err err = gw__ring_quiet(ring, why);
    if (!err && call && ring->stops_on_restart && ring->restarted)
        err = GW_PENDING;
    if (err)
        return err;
    *any = gw__op_table_recovery_task(&ring->ops, &task) &&
           task.op < ring->moves_below;
    if (!*any)
        return GW_OK;
    return gw__ring_is_connected(ring) ? do_task(ring, &task, call, why)
                                       : connect_unlocked(ring, why);
}

enum gw_err gw__ring_move(struct gw_ring *ring, const struct gw_ring_call *call,
                          struct gw_error *why)
{
    gw__session_lock(&ring->session);
    uint64_t op = ring->ops.next_op;
    enum gw_err err = GW_OK;
    bool any = true;
    ring->moves_below = call ? op + 1 : op;
    while (!err && any && ring->ops.next_op == op)
        err = one(ring, call, &any, why);
    ring->moves_below = 0;
    gw__session_unlock(&ring->session);
    return err;
}

enum gw_err gw__ring_fail(struct gw_ring *ring, enum gw_err err)
{
    if (err)
        gw__ring_disconnect(ring);
    return err;
}
