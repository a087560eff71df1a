/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member's ops, one after the other; work.h has their order. New work is read
 * when its order comes. It begins with the first tick for which all members
 * have read it: the least of their work numbers.
 */
#include "node.h"

#include <base/clock.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS  UINT64_C(30000000)
#define AWHILE_S 1000000000

/* ---- waiting ---- */

void node_nap(struct node *node, uint64_t ns)
{
    struct timespec end = gw__clock_until(gw_now_ns() + ns);
    pthread_mutex_lock(&node->lock);
    uint64_t work = node->desired.work.id;
    int waited = 0;
    while (waited == 0 && (!node->leave || node->stays) &&
           node->desired.work.id == work)
        waited = pthread_cond_timedwait(&node->changed, &node->lock, &end);
    pthread_mutex_unlock(&node->lock);
}

void node_be_slow(struct node *node)
{
    uint64_t began = gw_now_ns();
    int waited = 0;
    pthread_mutex_lock(&node->lock);
    while (waited == 0 && !node->leave && node->desired.slow_ns > 0) {
        struct timespec end = gw__clock_until(began + node->desired.slow_ns);
        waited = pthread_cond_timedwait(&node->changed, &node->lock, &end);
    }
    pthread_mutex_unlock(&node->lock);
}

/* ---- new work ---- */

static struct work_order *newest(struct node *node)
{
    struct work_order *order = malloc(sizeof *order);
    if (!order)
        return NULL;
    pthread_mutex_lock(&node->lock);
    *order = node->desired.work;
    pthread_mutex_unlock(&node->lock);
    return order;
}

static enum gw_err read_work(struct node *node, struct work **work,
                             struct gw_error *why)
{
    struct work_order *order = newest(node);
    enum gw_err code = order
                           ? work_load(order, node->config.seed, work, why)
                           : gw_fail(why, GW_ENOMEM, "no memory for an order");
    free(order);
    return code;
}

static uint64_t ordered(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    uint64_t id = node->desired.work.id;
    pthread_mutex_unlock(&node->lock);
    return id;
}

static enum gw_err make_state(struct node *node, const struct work *work,
                              struct gw_error *why)
{
    void *state = calloc(1, work->state_bytes);
    if (!state)
        return gw_fail(why, GW_ENOMEM, "no memory for a state of %zu bytes",
                       work->state_bytes);
    work_begin(work, state);
    if (node->ring)
        gw_ring_state(node->ring, state, work->state_bytes);
    free(node->state);
    node->state = state;
    node->state_bytes = work->state_bytes;
    return GW_OK;
}

enum gw_err node_fresh(struct node *node, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    work_destroy(&node->next);
    node->stale = false;
    if (!node->work || node->work->order.id != ordered(node)) {
        work_destroy(&node->work);
        code = read_work(node, &node->work, why);
    }
    return code ? code : make_state(node, node->work, why);
}

static enum gw_err read_next(struct node *node, struct gw_error *why)
{
    uint64_t id = ordered(node);
    if (id <= node->work->order.id ||
        (node->next && node->next->order.id == id))
        return GW_OK;
    work_destroy(&node->next);
    return read_work(node, &node->next, why);
}

/* All have read work `id`. */
static void begin_work(struct node *node, uint64_t id)
{
    const struct work_head *head = node->state;
    if (id <= head->id)
        return;
    if (node->work->order.id == id) { /* a joiner made room for it already */
        work_begin(node->work, node->state);
    } else if (node->next && node->next->order.id == id) {
        if (make_state(node, node->next, &node->wrong))
            return;
        work_destroy(&node->work);
        node->work = node->next;
        node->next = NULL;
    } else {
        node->stale = true;
    }
}

/* ---- results ---- */

void node_apply(void *context, const struct gw_ring_result *result)
{
    struct node *node = context;
    if (node->stale || node->wrong.code)
        return;
    if (result->tag == WORK_TICK) {
        const uint64_t *id = result->data;
        begin_work(node, *id);
        return;
    }
    if (work_evaluate(node->work, result, &node->wrong))
        return;
    work_apply(node->work, node->state, result);
}

static void emit(struct node *node, enum gw_event_kind kind,
                 const struct gw_ring_result *result, int64_t value)
{
    const struct work_head *head = node->state;
    const struct gw_event event = {
        .time_ns = gw_now_ns(),
        .value = value,
        .kind = kind,
        .rank = node->config.number,
        .peer = GW_NONE,
        .epoch = (uint32_t)result->epoch,
        .op = (uint32_t)result->op,
        .step = (uint32_t)head->step,
        .chunk = GW_NONE,
    };
    gw_emit(event_queue_sink(node->queue), &event);
}

static void show_step(struct node *node, const struct gw_ring_result *result)
{
    const struct work_head *head = node->state;
    if (result->tag != WORK_STEP)
        return;
    emit(node, GW_EV_STEP, result, (int64_t)head->step);
    if (node->work->order.kind == WORK_TRAIN)
        emit(node, GW_EV_LOSS, result, llround(head->loss * 1e9));
}

void node_report(struct node *node, enum node_stage stage)
{
    const struct work_head *head = node->state;
    const struct work *work = node->work;
    pthread_mutex_lock(&node->lock);
    struct node_status *status = &node->status;
    status->stage = stage;
    status->work = head->id;
    status->done = head->done && work->order.kind != WORK_NONE &&
                   head->id == work->order.id;
    status->diverged = head->diverged;
    status->until = head->until;
    status->step = head->step;
    status->loss = work->order.kind == WORK_TRAIN && head->step > 0
                       ? head->loss
                       : (double)NAN;
    if (head->id == work->order.id)
        work_audit(work, head, status);
    pthread_mutex_unlock(&node->lock);
}

/* Scores the finished model on all rows, once. */
static void evaluate_model(struct node *node)
{
    const struct work_head *head = node->state;
    struct score score;
    if (!head->done || node->scored == head->id ||
        node->work->order.kind != WORK_TRAIN ||
        node->work->order.id != head->id)
        return;
    uint64_t ended_ns = gw_now_ns();
    node->scored = head->id;
    work_score(node->work, node->state, &score);
    score.ns = node->began == head->id ? ended_ns - node->began_ns : 0;
    pthread_mutex_lock(&node->lock);
    node->status.score = score;
    node->status.scored = true;
    pthread_mutex_unlock(&node->lock);
}

static void record_begin(struct node *node)
{
    const struct work_head *head = node->state;
    if (node->began == head->id)
        return;
    node->began = head->id;
    node->began_ns = gw_now_ns();
    pthread_mutex_lock(&node->lock);
    node->status.scored = false;
    pthread_mutex_unlock(&node->lock);
}

/* ---- an op ---- */

static enum gw_err tick(struct node *node, struct gw_ring_result *result,
                        struct gw_error *why)
{
    const struct work *newer = node->next ? node->next : node->work;
    const uint64_t id = newer->order.id;
    struct gw_ring_turn turn;
    const struct gw_ring_call call = {
        .in = &id, .count = 1, .type = GW_U64, .op = GW_MIN, .tag = WORK_TICK};
    enum gw_err code = gw_ring_begin(node->ring, &turn, why);
    return code ? code : gw_ring_allreduce(node->ring, &call, result, why);
}

static enum gw_err work_on(struct node *node, struct gw_ring_result *result,
                           struct gw_error *why)
{
    struct gw_ring_turn turn;
    struct gw_ring_call call;
    enum gw_err code = gw_ring_begin(node->ring, &turn, why);
    if (code)
        return code;
    record_begin(node);
    bool is_step = work_next(node->state) == WORK_STEP;
    if (is_step && work_is_whole(node->work)) {
        code = node_collective(node, &turn, why);
        is_step = false; /* the hashes are not delayed */
    }
    if (!code)
        code = work_contribute(node->work, node->state, node->config.number,
                               turn.place, &call, why);
    if (code)
        return code;
    if (is_step)
        node_be_slow(node);
    return gw_ring_allreduce(node->ring, &call, result, why);
}

/* The error that `apply` could not return. */
static enum gw_err verdict(struct node *node, struct gw_error *why)
{
    const struct work_head *head = node->state;
    if (node->wrong.code)
        return gw_fail(why, node->wrong.code, "%s", node->wrong.text);
    if (head->unequal == 0)
        return GW_OK;
    enum gw_err code = gw_ring_check(node->ring, why);
    return code ? code
                : gw_fail(why, GW_EWRONG,
                          "after step %llu the states of the members differ",
                          (unsigned long long)head->step);
}

enum gw_err node_turn(struct node *node, struct gw_error *why)
{
    struct gw_ring_result result = {.tag = 0};
    enum gw_err code = read_next(node, why);
    if (code)
        return code;
    if (work_next(node->state) == WORK_TICK) {
        evaluate_model(node);
        node_report(node, STAGE_MEMBER);
        if (!node->next)
            node_nap(node, TICK_NS);
        if (node->config.lockstep)
            return GW_OK; /* ticks would follow the clock */
        code = tick(node, &result, why);
    } else {
        code = work_on(node, &result, why);
        if (code == GW_PENDING)
            return GW_OK; /* the same step again */
    }
    if (!code)
        code = verdict(node, why);
    if (code)
        return code;
    show_step(node, &result);
    node_report(node, STAGE_MEMBER);
    return GW_OK;
}
