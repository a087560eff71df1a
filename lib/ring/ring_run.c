/* SPDX-License-Identifier: MIT
 *
 * Any collective among members that may die. Each member tries it on the
 * communicator of the present view without any agreement. Then an op of the
 * ring confirms it: each member contributes the outcome of its own attempt.
 * That op survives every failure that the ring survives, so all members get the
 * same result:
 *
 *     min of   ring epoch, ~ring epoch   (0, 0: not done)
 *              1: can still be done, 0: it cannot (the root is gone)
 *
 *     all the same epoch   it is done, in the ring in which the op began
 *     a member cannot      GW_ELOST, for all
 *     else                 again, with the next op
 *
 * If the op is decided after a death, no member tries any more: some may
 * already have tried and wait for the op. If joiners come into the op it is
 * restarted, and so is the attempt.
 *
 * An attempt runs the plan of the configuration for the number of members
 * (plans/chosen_plans.h), or one that the library chooses by its built-in costs
 * (coll/elastic.c), so that all members run the same.
 *
 * In the events both have the number of the op, and the op that confirms is not
 * shown (ring_events.c).
 */
#include "ring_parts.h"

#include <string.h>

struct attempt {
    const struct gw_call *call;
    bool known; /* of the first attempt: */
    unsigned count, places[GW__NODES_MAX], ranks[GW__NODES_MAX];
    uint64_t done_epoch;          /* 0: not done */
    unsigned done[GW__NODES_MAX]; /* by rank: the ring in which it was done */
    bool possible;
};

enum { EPOCH, NOT_EPOCH, POSSIBLE, WORDS };

static enum gw_err check_call(const struct gw_call *call, struct gw_error *why)
{
    if ((unsigned)call->collective >= GW_COLLECTIVES)
        return gw_fail(why, GW_EINVAL, "unknown collective");
    if (call->in == GW_IN_PLACE)
        return gw_fail(why, GW_EINVAL,
                       "%s: the call may be repeated, so the input must not be "
                       "part of the result",
                       gw_collective_name(call->collective));
    return GW_OK;
}

/* ---- trying; with the lock ---- */

/* True: all members of the ring take part in the op, and it is not decided. */
static bool may_try(const struct gw_ring *ring)
{
    const struct gw__op_table *ops = &ring->ops;
    const struct gw__op_entry *entry =
        &ops->entries[ops->next_op % GW__OP_TABLE_OPS];
    return !entry->decided && entry->initial_count == ops->view.ring_count;
}

static void copy_ranks(const struct gw_ring *ring, unsigned ranks[])
{
    const struct gw__view *view = &ring->ops.view;
    for (unsigned i = 0; i < view->ring_count; i++)
        ranks[i] = view->ring[i].node;
}

static void remember(struct gw_ring *ring, struct attempt *a)
{
    if (a->known)
        return;
    a->known = true;
    a->count =
        gw__op_table_initial_members(&ring->ops, ring->ops.next_op, a->places);
    copy_ranks(ring, a->ranks);
}

/* Blocks of different sizes belong to the ranks of the first attempt. The root
 * is a place, which is the same for all members. */
static bool is_possible(const struct gw_ring *ring, const struct attempt *a,
                        unsigned *root)
{
    const struct gw__view *view = &ring->ops.view;
    const struct gw_call *call = a->call;
    bool same = view->ring_count == a->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = view->ring[i].node == a->ranks[i];
    if ((call->counts || call->recv_counts) && !same)
        return false;
    if (!gw_collective_rooted(call->collective))
        return true;
    int rank =
        call->root < a->count ? gw__view_rank(view, a->places[call->root]) : -1;
    *root = rank < 0 ? 0 : (unsigned)rank;
    return rank >= 0;
}

/* ---- lockstep: an attempt that is cut, and fails (ring_hold.c) ---- */

/* Makes the program of the transfers before the cut, and keeps it until the
 * communicator has been left. */
static enum gw_err compile_cut(struct gw_ring *ring, const struct gw_call *call,
                               const struct gw_ring_hold *cut, int *algo,
                               struct gw_error *why)
{
    struct gw_comm *comm = ring->comm;
    unsigned ranks[GW__NODES_MAX];
    struct gw__program *program;
    struct gw_plan *begin;
    enum gw_err err = gw__program_for(comm, call, &program, algo, why);
    if (err)
        return err;
    for (unsigned rank = 0; rank < comm->size; rank++)
        ranks[rank] = rank;
    err =
        gw__ring_plan_begin(program->plan, gw__hold_prefix(program->plan, cut),
                            comm->size, ranks, &begin, why);
    if (err)
        return err;
    gw__program_destroy(&ring->recovery);
    return gw__program_new(&begin, comm->rank, GW__WINDOW_NONE, &ring->recovery,
                           why);
}

static enum gw_err start_cut(struct gw_ring *ring, const struct gw_call *call,
                             const struct gw_ring_hold *cut,
                             struct gw_request **request)
{
    struct gw_error why;
    struct gw__signature signature;
    int algo;
    *request = NULL;
    if (compile_cut(ring, call, cut, &algo, &why))
        return gw__call_refuse(ring->comm, &why, call);
    gw__call_sign(call, ring->comm->size, algo, &signature);
    const struct gw__opening opening = {.call = call,
                                        .program = ring->recovery,
                                        .signature = &signature,
                                        .op = ring->comm->next_op};
    return gw__start_program(ring->comm, &opening, request);
}

static void hold_attempt(struct gw_ring *ring, const struct gw_ring_hold *cut)
{
    gw__session_lock(&ring->session);
    while (!atomic_load(&ring->stop)) {
        gw__hold_reached(ring, cut);
        gw__session_nap(&ring->session);
    }
    gw__session_unlock(&ring->session);
}

/* ---- an attempt ---- */

/* A single member needs no peers. */
static enum gw_err run_alone(const struct gw_call *call, struct gw_error *why)
{
    struct gw_comm *alone;
    const struct gw_comm_config config = {.size = 1};
    enum gw_err err = gw_comm_create(&config, &alone, why);
    if (err)
        return err;
    err = gw_run(alone, call);
    if (err)
        gw_fail(why, err, "%s", gw_comm_error(alone)->text);
    gw_comm_destroy(&alone);
    return err;
}

/* Shows for whom it waits, now and then. */
static void report_wait(struct gw_ring *ring)
{
    uint64_t now_ns = gw_now_ns();
    if (now_ns - ring->checked_ns < GW__RING_REPORT_NS)
        return;
    int rank = gw__comm_waits_for(ring->comm), node = -1;
    gw__session_lock(&ring->session);
    if (rank >= 0 && gw__ring_is_connected(ring))
        node = (int)ring->ops.view.ring[rank].node;
    gw__ring_report_progress(ring, GW__GATHERING, node);
    ring->checked_ns = now_ns;
    ring->status_changed = true;
    gw__session_unlock(&ring->session);
}

/* GW_OK: done. GW_PENDING: another event came first. */
static enum gw_err run_together(struct gw_ring *ring,
                                const struct gw_call *call, uint64_t op,
                                struct gw_error *why)
{
    static const uint64_t nap_ns = 1000000;
    const struct gw_ring_hold *cut = gw__hold_cut(ring, op);
    struct gw_comm *comm = ring->comm;
    struct gw_request *request = NULL;
    comm->next_op = (uint32_t)op;
    enum gw_err err = cut ? start_cut(ring, call, cut, &request)
                          : gw_start(comm, call, &request);
    while (!err && request) {
        err = gw_test(&request);
        if (err != GW_PENDING)
            break;
        if (atomic_load(&ring->stop))
            return GW_PENDING;
        comm->wire->ops->wait(comm->wire, nap_ns);
        report_wait(ring);
        err = GW_OK;
    }
    if (!err && cut)
        hold_attempt(ring, cut);
    if (!err)
        return cut ? GW_PENDING : GW_OK;
    err = gw__ring_comm_failed(ring, err, why);
    return err ? err : GW_PENDING;
}

/* The plan of the configuration, if it has one for this ring and root. */
static const struct gw_plan *find_plan(struct gw_ring *ring,
                                       const struct gw_call *call)
{
    const struct gw_plan *plan = gw__chosen_plan(
        &ring->run_plans[call->collective], ring->ops.view.ring_count);
    bool rooted = gw_collective_rooted(call->collective);
    return plan && rooted && plan->root != call->root ? NULL : plan;
}

static enum gw_err try_once(struct gw_ring *ring, struct attempt *a,
                            unsigned root, struct gw_error *why)
{
    struct gw_call call = *a->call;
    uint64_t epoch = ring->ops.view.ring_epoch, op = ring->ops.next_op;
    copy_ranks(ring, a->done); /* control may adopt a view meanwhile */
    gw__events_confirm(ring, op, GW__CONFIRMS_NOTHING);
    call.root = root;
    if (!call.plan && !call.algo)
        call.plan = find_plan(ring, &call);
    gw__ring_lower_stop(ring);
    gw__ring_report_progress(ring, GW__GATHERING, -1);
    ring->checked_ns = gw_now_ns();
    gw__session_unlock(&ring->session);
    enum gw_err err =
        ring->comm ? run_together(ring, &call, op, why) : run_alone(&call, why);
    gw__session_lock(&ring->session);
    if (err)
        return err;
    a->done_epoch = epoch;
    return GW_OK;
}

/* Tries until it is done, or cannot be done in this op. */
static enum gw_err try(struct gw_ring *ring, struct attempt *a,
                       struct gw_error *why)
{
    unsigned root = a->call->root;
    enum gw_err err = GW_PENDING;
    a->done_epoch = 0;
    gw__session_lock(&ring->session);
    ring->moves_below = ring->ops.next_op + 1;
    while (err == GW_PENDING) {
        err = gw__ring_quiet(ring, why);
        if (err)
            break;
        ring->restarted = false;
        remember(ring, a);
        a->possible = is_possible(ring, a, &root);
        if (!a->possible || !may_try(ring))
            break;
        if (gw__ring_is_connected(ring)) {
            err = try_once(ring, a, root, why);
            continue;
        }
        gw__session_unlock(&ring->session);
        err = gw__ring_connect(ring, why);
        gw__session_lock(&ring->session);
        err = err ? err : GW_PENDING;
    }
    ring->moves_below = 0;
    gw__session_unlock(&ring->session);
    return err;
}

/* ---- confirming ---- */

static enum gw_err confirm(struct gw_ring *ring, const struct attempt *a,
                           uint64_t common[WORDS],
                           struct gw_ring_result *result, struct gw_error *why)
{
    uint64_t ours[WORDS] = {[EPOCH] = a->done_epoch,
                            [NOT_EPOCH] = a->done_epoch ? ~a->done_epoch : 0,
                            [POSSIBLE] = a->possible};
    const struct gw_ring_call call = {.in = ours,
                                      .out = common,
                                      .count = WORDS,
                                      .type = GW_U64,
                                      .op = GW_MIN,
                                      .tag = GW__RING_OWN_TAG};
    gw__events_confirm(ring, ring->ops.next_op,
                       a->done_epoch ? GW__CONFIRMS_DONE : GW__CONFIRMS_LOST);
    ring->stops_on_restart = true;
    enum gw_err err = gw__ring_op(ring, &call, result, why);
    ring->stops_on_restart = false;
    return err;
}

/* One op of the ring: tried, tried again after a restart, and confirmed. */
static enum gw_err attempt(struct gw_ring *ring, struct attempt *a,
                           uint64_t common[WORDS],
                           struct gw_ring_result *result, struct gw_error *why)
{
    enum gw_err err = gw__ring_begin(ring, why);
    if (err)
        return err;
    do {
        err = try(ring, a, why);
        if (!err)
            err = confirm(ring, a, common, result, why);
    } while (err == GW_PENDING);
    return err;
}

static enum gw_err run_attempts(struct gw_ring *ring,
                                const struct gw_call *call,
                                struct gw_ring_result *result,
                                struct gw_error *why)
{
    struct attempt a = {.call = call};
    uint64_t common[WORDS];
    for (;;) {
        enum gw_err err = attempt(ring, &a, common, result, why);
        if (err)
            return gw__ring_fail(ring, err);
        if (!common[POSSIBLE])
            return gw_fail(why, GW_ELOST,
                           gw_collective_rooted(call->collective)
                               ? "%s: the root has left or is dead"
                               : "%s: the members have changed, so the blocks "
                                 "no longer fit",
                           gw_collective_name(call->collective));
        if (common[EPOCH] && common[EPOCH] == ~common[NOT_EPOCH]) {
            memcpy(result->initial_members, a.done, sizeof a.done);
            return GW_OK;
        }
    }
}

enum gw_err gw_ring_run(struct gw_ring *ring, const struct gw_call *call,
                        struct gw_ring_result *result, struct gw_error *why)
{
    struct gw_ring_result unwanted, *outcome = result ? result : &unwanted;
    enum gw_err err = check_call(call, why);
    if (!err)
        err = run_attempts(ring, call, outcome, why);
    if (err)
        return err;
    outcome->tag = 0;
    outcome->data = call->out;
    outcome->count = call->count;
    outcome->type = call->type;
    outcome->redop = call->op;
    return GW_OK;
}
