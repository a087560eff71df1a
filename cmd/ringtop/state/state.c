/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state (state.h): queries, and settling. state_event.c applies
 * events.
 */
#include "state_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rank_init(struct rank *rank)
{
    *rank = (struct rank){
        .member = GW_MEMBER_ALIVE,
        .op = GW_NONE,
        .step = GW_NONE,
        .waits_on = GW_NONE,
        .train_step = -1,
    };
}

enum gw_err state_new(struct state **state, struct gw_error *why)
{
    struct state *s = *state = calloc(1, sizeof *s);
    if (!s)
        return gw_fail(why, GW_ENOMEM, "the state of the view");
    for (unsigned r = 0; r < RANKS_MAX; r++)
        rank_init(&s->ranks[r]);
    s->shown = s->pinned = GW_NONE;
    controllers_init(&s->controllers);
    ps_init(&s->ps);
    pipe_init(&s->pipe);
    return GW_OK;
}

void state_destroy(struct state **state)
{
    struct state *s = *state;
    if (!s)
        return;
    for (unsigned i = 0; i < OPS_KEPT; i++)
        op_fini(&s->ops[i]);
    shapes_fini(&s->shapes);
    pipe_fini(&s->pipe);
    free(s);
    *state = NULL;
}

void state_learn(struct state *s, struct state *other)
{
    shapes_fini(&s->shapes);
    s->shapes = other->shapes;
    other->shapes = (struct shapes){0};
    s->ps.here = s->failovers.ps = other->ps.here;
    s->failovers.nodes = other->failovers.nodes;
    s->pipe.here = other->pipe.here;
    s->rank_count = other->first_ranks ? other->first_ranks : other->rank_count;
    /* Members of a later view are not known yet. */
    for (unsigned r = 0; r < s->rank_count; r++)
        s->ranks[r].known = other->first_ranks ||
                            (other->ranks[r].known && !other->ranks[r].joined);
}

/* ---- settling ---- */

static uint32_t choose_op(const struct state *s)
{
    uint32_t oldest = GW_NONE, newest = GW_NONE;
    for (uint32_t i = 0; i < OPS_KEPT; i++) {
        const struct op *op = &s->ops[i];
        if (!op->used)
            continue;
        if (op->op == s->pinned)
            return i;
        if (newest == GW_NONE || op->op > s->ops[newest].op)
            newest = i;
        if (!op_over(op) && (oldest == GW_NONE || op->op < s->ops[oldest].op))
            oldest = i;
    }
    return oldest != GW_NONE ? oldest : newest;
}

static void expect(struct state *s, const struct op *op)
{
    uint32_t sources[RANKS_MAX];
    const struct shape *shape =
        op && op->evaluated ? shapes_find(&s->shapes, op) : NULL;
    if (shape)
        shape_expect(shape, op, sources, s->rank_count);
    for (unsigned r = 0; r < s->rank_count; r++) {
        struct rank *rank = &s->ranks[r];
        if (rank->wait_reported)
            continue;
        bool waits = shape && rank->in_op && rank->op == op->op;
        rank->waits_on = waits ? sources[r] : GW_NONE;
    }
}

void state_evaluate(struct state *s)
{
    s->shown = choose_op(s);
    struct op *op = s->shown != GW_NONE ? &s->ops[s->shown] : NULL;
    if (op && op_evaluate(op, s->rank_count))
        state_shout(s, op);
    expect(s, op);
}

/* ---- questions ---- */

const struct op *state_op(const struct state *s)
{
    return s->shown != GW_NONE ? &s->ops[s->shown] : NULL;
}

static const struct shape *shape_of_shown(const struct state *s)
{
    const struct op *op = state_op(s);
    return op ? shapes_find(&s->shapes, op) : NULL;
}

unsigned state_steps(const struct state *s)
{
    const struct op *op = state_op(s);
    const struct shape *shape = shape_of_shown(s);
    unsigned seen = op ? op->steps : 0;
    return shape && shape->steps > seen ? shape->steps : seen;
}

unsigned state_chunks(const struct state *s)
{
    const struct op *op = state_op(s);
    const struct shape *shape = shape_of_shown(s);
    unsigned seen = op ? op->chunks : 0;
    return shape && shape->chunks > seen ? shape->chunks : seen;
}

static bool is_late(const struct state *s, const struct rank *rank)
{
    const struct op *op = state_op(s);
    return op && !op_over(op) && op->begun > 0 && rank->known && !rank->in_op &&
           (rank->op == GW_NONE || rank->op < op->op);
}

enum condition state_condition(const struct state *s, unsigned r)
{
    const struct rank *rank = &s->ranks[r];
    if (rank->paused)
        return RANK_PAUSED;
    switch (rank->member) {
    case GW_MEMBER_JOINING:
        return RANK_JOINING;
    case GW_MEMBER_PARKED:
        return RANK_PARKED;
    case GW_MEMBER_LEFT:
        return RANK_LEFT;
    case GW_MEMBER_DEAD:
        return RANK_DEAD;
    case GW_MEMBER_ALIVE:
        break;
    }
    if (rank->lost)
        return RANK_LOST;
    if (rank->suspected)
        return RANK_SUSPECT;
    if (rank->in_op)
        return RANK_BUSY;
    if (rank->error)
        return RANK_FAILED;
    if (is_late(s, rank))
        return RANK_LATE;
    return rank->has_reported ? RANK_IDLE : RANK_UNKNOWN;
}

bool state_has_nodes(const struct state *s)
{
    return s->failovers.nodes;
}

const char *state_noun(const struct state *s)
{
    return state_has_nodes(s) ? "node" : "rank";
}

bool state_gone(const struct state *s, unsigned r)
{
    enum condition condition = state_condition(s, r);
    return condition == RANK_LEFT || condition == RANK_DEAD;
}

bool state_minds(const struct state *s, unsigned r)
{
    static const uint64_t LONG_NS = 10000000000;
    const struct rank *rank = &s->ranks[r];
    return rank->known &&
           !(state_gone(s, r) && s->now_ns - rank->gone_ns > LONG_NS);
}

static bool is_member(const struct rank *rank)
{
    return rank->known && !rank->out &&
           (rank->member == GW_MEMBER_ALIVE ||
            rank->member == GW_MEMBER_PARKED);
}

unsigned state_members(const struct state *s)
{
    unsigned members = 0;
    for (unsigned r = 0; r < s->rank_count; r++)
        members += is_member(&s->ranks[r]);
    return members;
}

void state_usual_node(const struct state *s, char out[4])
{
    *out = 0;
    unsigned count = s->ps.here ? s->ps.worker_count : s->rank_count;
    for (unsigned i = 0; i < count; i++)
        if (s->ps.here ? s->ps.workers[i].known && !s->ps.workers[i].gone_ns
                       : is_member(&s->ranks[i]))
            snprintf(out, 4, "%u", i % 100);
}

unsigned state_ring(const struct state *s, unsigned ring[RANKS_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->ring_count; i++)
        if (is_member(&s->ranks[s->ring[i]]))
            ring[count++] = s->ring[i];
    unsigned ordered = count;
    for (unsigned r = 0; r < s->rank_count; r++) {
        bool there = false;
        for (unsigned i = 0; i < ordered; i++)
            there = there || ring[i] == r;
        if (is_member(&s->ranks[r]) && !there)
            ring[count++] = r;
    }
    return count;
}

/* ---- the last event in words ---- */

static void transfer_text(const struct state *s, char *out, size_t size)
{
    const struct gw_event *e = &s->last;
    const char *noun = state_noun(s);
    static const char *const verbs[] = {"replaces", "adds", "learns of"};
    if (e->kind == GW_EV_SEND)
        snprintf(out, size,
                 "%s %" PRIu32 " sends c%" PRIu32 " to %s %" PRIu32
                 ", step %" PRIu32,
                 noun, e->rank, e->chunk, noun, e->peer, e->step + 1);
    else
        snprintf(out, size,
                 "%s %" PRIu32 " %s c%" PRIu32 " from %s %" PRIu32
                 ", step %" PRIu32,
                 noun, e->rank,
                 e->value >= 0 && e->value <= 2 ? verbs[e->value] : "takes",
                 e->chunk, noun, e->peer, e->step + 1);
}

void state_last_text(const struct state *s, char *out, size_t size)
{
    const struct gw_event *e = &s->last;
    enum gw_event_kind kind = (enum gw_event_kind)e->kind;
    size_t used;
    if (s->events == 0) {
        snprintf(out, size, "nothing yet");
        return;
    }
    if (kind == GW_EV_SEND || kind == GW_EV_APPLY) {
        transfer_text(s, out, size);
        return;
    }
    used = (size_t)snprintf(out, size, "%s", gw_event_name(kind));
    if (e->rank != GW_NONE && used < size)
        used += (size_t)snprintf(out + used, size - used, ": %s %" PRIu32,
                                 state_noun(s), e->rank);
    if (e->peer != GW_NONE && used < size)
        used += (size_t)snprintf(out + used, size - used, ", of %s %" PRIu32,
                                 state_noun(s), e->peer);
    if (e->op != GW_NONE && used < size)
        snprintf(out + used, size - used, ", op %" PRIu32, e->op);
}
