/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Applies one event (state.h). Each kind has its function, after the shared
 * ones. Fields that a recording omits are GW_NONE, and a recording may contain
 * anything: every number is checked before it is an index.
 */
#include "state_parts.h"

#include <event/apply.h>

#include <inttypes.h>

/* ---- ranks ---- */

static void open_ops_await_one_more(struct state *s)
{
    for (unsigned i = 0; i < OPS_KEPT; i++)
        if (s->ops[i].used && !op_over(&s->ops[i])) {
            s->ops[i].members++;
            s->ops[i].full++;
        }
}

/* NULL for a number that is not a rank's, or is too large. A rank seen for the
 * first time counts as a member from the beginning. */
static struct rank *rank_of_event(struct state *s, uint32_t number)
{
    if (number >= RANKS_MAX) {
        s->beyond += number != GW_NONE;
        return NULL;
    }
    struct rank *rank = &s->ranks[number];
    if (!rank->known && rank->member == GW_MEMBER_ALIVE) {
        rank->known = true;
        open_ops_await_one_more(s);
    }
    if (number >= s->rank_count)
        s->rank_count = number + 1;
    return rank;
}

/* ---- ops ---- */

static struct op *find_op(struct state *s, uint32_t number)
{
    for (unsigned i = 0; i < OPS_KEPT; i++)
        if (s->ops[i].used && s->ops[i].op == number)
            return &s->ops[i];
    return NULL;
}

/* A free place for one more op, or that of the oldest. */
static struct op *oldest_op(struct state *s)
{
    struct op *oldest = &s->ops[0];
    for (unsigned i = 0; i < OPS_KEPT; i++) {
        if (!s->ops[i].used)
            return &s->ops[i];
        if (s->ops[i].op < oldest->op)
            oldest = &s->ops[i];
    }
    return oldest;
}

/* The op of an event, created if it is new; NULL for one that is long over. */
static struct op *enter_op(struct state *s, const struct gw_event *e)
{
    if (e->op == GW_NONE)
        return NULL;
    struct op *op = find_op(s, e->op);
    if (op)
        return op;
    op = oldest_op(s);
    if (op->used && op->op > e->op)
        return NULL;
    if (op->used)
        inflights_forget_op(&s->inflights, op->op);
    op_begin(op, e->op, e->time_ns, state_members(s));
    op->epoch = e->epoch;
    return op;
}

/* Another communicator starts its counters again: a rank begins an op that it
 * has begun before, and the epoch is not later. Its ranks may be others. */
static void start_over(struct state *s)
{
    if (s->first_ranks == 0)
        s->first_ranks = s->rank_count;
    s->epoch = 0;
    for (unsigned i = 0; i < OPS_KEPT; i++)
        s->ops[i].used = false;
    for (unsigned r = 0; r < s->rank_count; r++) {
        struct rank *rank = &s->ranks[r];
        uint64_t sent = rank->sent_bytes, received = rank->received_bytes;
        rank_init(rank);
        rank->sent_bytes = sent;
        rank->received_bytes = received;
    }
    s->inflights.count = 0;
}

void state_shout(struct state *s, struct op *op)
{
    if (op->shouted || op->sets.doubles == 0)
        return;
    const struct double_count *d = &op->sets.first;
    const char *noun = state_noun(s);
    op->shouted = true;
    s->ops_doubled++;
    event_log_write(&s->log, s->now_ns, WEIGHT_BAD,
                    "DOUBLE COUNT in op %" PRIu32 ": %s %" PRIu32
                    " has %s %u twice in c%" PRIu32 ", step %" PRIu32
                    " from %s %" PRIu32,
                    op->op, noun, d->at.dst, noun, d->who, d->at.chunk,
                    d->at.step + 1, noun, d->at.src);
}

void state_finish(struct state *s, struct op *op, uint64_t time_ns)
{
    char kind[48];
    inflights_forget_op(&s->inflights, op->op);
    if (op_evaluate(op, s->rank_count)) {
        state_shout(s, op);
        if (op->sets.doubles == 0)
            shapes_learn(&s->shapes, op);
    }
    if (op->finished)
        return;
    op->finished = true;
    s->ops_done++;
    op_kind(op, kind);
    event_log_op(&s->log, time_ns, op->op, kind,
                 time_ns > op->begin_ns ? time_ns - op->begin_ns : 0);
}

/* ---- one kind each ---- */

/* In a new epoch all ranks begin from their inputs, unless decided otherwise,
 * which may be reported later. */
static void begin_anew(struct op *op, uint32_t epoch)
{
    op->epoch = epoch;
    op->full_before = op->full;
    if (op->decided != epoch)
        op->full = op->members;
}

static void on_begin(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    if (!rank)
        return;
    if (rank->op != GW_NONE && e->op <= rank->op &&
        e->epoch <= rank->op_epoch) {
        start_over(s);
        (void)rank_of_event(s, e->rank);
    }
    struct op *op = enter_op(s, e);
    rank->op = e->op;
    rank->op_epoch = e->epoch;
    rank->step = GW_NONE;
    rank->in_op = true;
    rank->error = 0;
    rank->acted = false;
    if (!op)
        return;
    op->collective = e->value;
    op->bytes = e->bytes;
    if (op->epoch < e->epoch)
        begin_anew(op, e->epoch);
    if (!rank->out)
        op_rank_begins(op, e->rank);
    if (op->begun > op->members)
        op->members = op->begun; /* a joiner */
    if (op->begun > op->full && op->decided != op->epoch)
        op->full = op->begun;
}

/* A rank that still ends an op successfully is not gone. */
static void lift_suspicion(struct state *s, const struct gw_event *e)
{
    struct rank *rank = &s->ranks[e->rank];
    if (!rank->suspected || rank->out || e->value != 0 ||
        e->time_ns <= rank->suspected_ns)
        return;
    rank->suspected = false;
    failovers_clear_suspect(&s->failovers, e->rank);
    event_log_write(&s->log, e->time_ns, WEIGHT_INFO,
                    "%s %" PRIu32 " responds again", state_noun(s), e->rank);
}

static void on_end(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    if (!rank)
        return;
    lift_suspicion(s, e);
    rank->in_op = false;
    rank->op = e->op;
    rank->error = e->value;
    rank->waits_on = GW_NONE;
    struct op *op = enter_op(s, e);
    if (e->value != 0) {
        s->ops_failed++;
        event_log_write(&s->log, e->time_ns, WEIGHT_BAD,
                        "op %" PRIu32 " failed at %s %" PRIu32 ": %s", e->op,
                        state_noun(s), e->rank,
                        gw_err_text((enum gw_err)e->value));
    }
    if (!op || rank->out)
        return;
    op->partial |= !op_has_begun(op, e->rank);
    op_rank_ends(op, e->rank);
    if (op_over(op))
        state_finish(s, op, e->time_ns);
}

/* A late event of a rank that is out of the ring starts no transfer. */
static void follow_chunk(struct state *s, const struct op *op,
                         const struct gw_event *e)
{
    bool late = e->epoch < s->epoch || (op ? op->finished : e->op != GW_NONE);
    if (!late)
        inflights_event(&s->inflights, e);
}

static void on_send(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    (void)rank_of_event(s, e->peer);
    const struct op *op = enter_op(s, e);
    follow_chunk(s, op, e);
    if (!rank)
        return;
    rank->sent_bytes += e->bytes;
    rates_add(&s->rates, e->rank, e->time_ns, e->bytes);
    if (rank->op == GW_NONE)
        rank->op = e->op;
}

static void on_apply(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    struct rank *peer = rank_of_event(s, e->peer);
    struct op *op = enter_op(s, e);
    struct gw__apply apply;
    follow_chunk(s, op, e);
    if (!rank || !peer || !gw__apply_parse(e->value, &apply))
        return;
    rank->received_bytes += e->rank == e->peer ? 0 : e->bytes;
    rank->step = e->step;
    rank->action = (enum action)apply.action;
    rank->acted = true;
    if (!op)
        return;
    op->partial |= op->begun > 0 && !op_has_begun(op, e->rank) && !rank->out;
    const struct applied action = {
        .epoch = e->epoch,
        .step = e->step,
        .dst = e->rank,
        .src = e->peer,
        .chunk = e->chunk,
        .src_scratch = (uint16_t)apply.src_scratch,
        .dst_scratch = (uint16_t)apply.dst_scratch,
        .action = rank->action,
    };
    op_action(op, &action);
}

static void on_wait(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    if (!rank)
        return;
    rank->waits_on = e->peer;
    rank->wait_reported = true;
}

static void on_missed(struct state *s, const struct gw_event *e)
{
    struct rank *peer = rank_of_event(s, e->peer);
    (void)rank_of_event(s, e->rank);
    if (!peer)
        return;
    peer->lost |= e->kind == GW_EV_LOST;
    if (e->kind == GW_EV_FAILURE && e->rank != e->peer) {
        peer->suspected = true;
        peer->suspected_ns = e->time_ns;
        if (peer->out && e->value == GW_BY_EXIT) /* it changes no view */
            peer->member = GW_MEMBER_DEAD;
    }
}

static void on_epoch(struct state *s, const struct gw_event *e)
{
    s->epoch = e->epoch;
    inflights_forget_before(&s->inflights, e->epoch);
}

/* EXCLUDE: the survivors are the contributors. In both cases the epoch
 * continues with the partial results. */
static void on_decision(struct state *s, const struct gw_event *e)
{
    struct op *op = find_op(s, e->op);
    if (!op)
        return;
    if (e->value == 1)
        op->full = op->members;
    else if (op->epoch == e->epoch)
        op->full = op->full_before;
    op->decided = e->epoch;
    const struct applied action = {.epoch = e->epoch, .action = ACTION_KEEP};
    op_action(op, &action);
}

static void on_recovery(struct state *s, const struct gw_event *e)
{
    struct op *op = find_op(s, e->op);
    if (!op)
        return;
    const struct applied action = {
        .epoch = e->epoch,
        .dst = e->rank,
        .src = e->rank,
        .chunk = e->chunk,
        .action = e->value ? ACTION_RESTART : ACTION_KEEP,
    };
    op_action(op, &action);
}

static void on_step(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    if (rank)
        rank->train_step = e->value;
}

static void on_loss(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    int64_t step = e->step != GW_NONE ? (int64_t)e->step
                   : rank             ? rank->train_step
                                      : -1;
    losses_add(&s->losses, step >= 0 ? (uint64_t)step : s->losses.last_step + 1,
               (double)e->value * 1e-9);
}

static void on_stage(struct state *s, const struct gw_event *e)
{
    (void)rank_of_event(s, e->rank);
}

/* Stages pass messages on in pairs, and each pair counts its calls: these are
 * not ops of all ranks. Their bytes still count. */
static bool is_of_pairs(const struct state *s, const struct gw_event *e)
{
    return s->pipe.here && (e->kind <= GW_EV_WAIT);
}

static void count_bytes(struct state *s, const struct gw_event *e)
{
    struct rank *rank = rank_of_event(s, e->rank);
    if (rank && e->kind == GW_EV_SEND) {
        rank->sent_bytes += e->bytes;
        rates_add(&s->rates, e->rank, e->time_ns, e->bytes);
    }
    if (rank && e->kind == GW_EV_APPLY)
        rank->received_bytes += e->bytes;
}

/* A plain communicator has no views. */
static bool is_about_views(const struct gw_event *e)
{
    return e->kind == GW_EV_MEMBER || e->kind == GW_EV_EPOCH ||
           e->kind == GW_EV_FAILURE;
}

static void dispatch(struct state *s, const struct gw_event *e)
{
    static void (*const handlers[GW_EVENT_KINDS])(struct state *,
                                                  const struct gw_event *) = {
        [GW_EV_OP_BEGIN] = on_begin,    [GW_EV_OP_END] = on_end,
        [GW_EV_SEND] = on_send,         [GW_EV_APPLY] = on_apply,
        [GW_EV_WAIT] = on_wait,         [GW_EV_LOST] = on_missed,
        [GW_EV_STEP] = on_step,         [GW_EV_LOSS] = on_loss,
        [GW_EV_FAILURE] = on_missed,    [GW_EV_MEMBER] = state_member,
        [GW_EV_EPOCH] = on_epoch,       [GW_EV_DECISION] = on_decision,
        [GW_EV_RECOVERY] = on_recovery, [GW_EV_STAGE] = on_stage,
    };
    if (is_of_pairs(s, e))
        count_bytes(s, e);
    else if (e->kind < GW_EVENT_KINDS && handlers[e->kind])
        handlers[e->kind](s, e);
}

void state_time(struct state *s, uint64_t now_ns)
{
    if (!s->begun)
        s->begin_ns = s->now_ns = now_ns;
    s->begun = true;
    if (now_ns > s->now_ns)
        s->now_ns = now_ns;
    rates_time(&s->rates, s->now_ns);
}

void state_status(struct state *s, const json_t *status, uint64_t now_ns)
{
    state_time(s, now_ns);
    controllers_status(&s->controllers, status);
    if (!json_is_array(json_object_get(status, "slots")))
        state_members_status(s, status);
    ps_status(&s->ps, status, s->now_ns, &s->log);
    s->failovers.ps = s->ps.here;
    ps_end_failovers(&s->ps, &s->failovers, s->now_ns, &s->log);
}

void state_event(struct state *s, const struct gw_event *event)
{
    struct gw_event e = *event;
    if (e.epoch == GW_NONE)
        e.epoch = 0;
    state_time(s, e.time_ns);
    s->events++;
    s->last = e;
    if (controllers_event(&s->controllers, &e, &s->log))
        return;
    ps_event(&s->ps, &e, &s->log);
    s->failovers.ps = s->ps.here;
    pipe_event(&s->pipe, &e, &s->log);
    s->failovers.nodes =
        !s->pipe.here && (s->failovers.nodes || is_about_views(&e));
    if (!s->resyncing)
        failovers_event(&s->failovers, &e, &s->log);
    if (e.kind != GW_EV_MEMBER) /* a view of the failover follows */
        ps_end_failovers(&s->ps, &s->failovers, e.time_ns, &s->log);
    dispatch(s, &e);
    if (e.epoch > s->epoch && !s->ps.here) /* else perhaps a data epoch */
        s->epoch = e.epoch;
    if (e.rank < RANKS_MAX && e.kind != GW_EV_WAIT && e.kind != GW_EV_MEMBER) {
        s->ranks[e.rank].active_ns = s->now_ns;
        s->ranks[e.rank].wait_reported = false;
        s->ranks[e.rank].has_reported = true;
    }
}
