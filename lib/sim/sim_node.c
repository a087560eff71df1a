/* SPDX-License-Identifier: MIT
 *
 * A node's life:
 *
 *              start                      pause
 *     DOWN ------------> UP (running) ------------> UP (paused)
 *       ^                 |  |      ^                 |   |
 *       |      crash      |  v      +-----------------+   |
 *       +-----------------+  inputs       resume          |
 *       |                      crash                      |
 *       +-------------------------------------------------+
 *
 * A crash removes the state, the timers and the backlog of a paused node; the
 * disk and the clock remain. Messages under way are not removed: each has the
 * number of its receiver's life, and is ignored in another life.
 */
#include "sim_parts.h"

#include <base/mix.h>

#include <assert.h>
#include <string.h>

static void hash_input(struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    uint64_t what = (uint64_t)input->kind | (uint64_t)(node & 255) << 8 |
                    (uint64_t)(input->from & 255) << 16 |
                    (uint64_t)input->timer << 24 | (uint64_t)(node >> 8) << 40 |
                    (uint64_t)(input->from >> 8) << 48;
    uint64_t hash = gw__mix_words(sim->hash, sim->now_ns, input->incarnation);
    hash = gw__mix_words(hash, what, input->bytes);
    sim->hash = gw__mix_bytes(hash, input->data, input->bytes);
}

static void notify_life(struct gw__sim *sim, uint32_t node,
                        enum gw__fault_kind what)
{
    if (sim->options.on_life)
        sim->options.on_life(sim->options.context, sim, node, what);
}

/* One step of a state machine that is up and not paused. */
static void deliver(struct gw__sim *sim, uint32_t i, struct gw__input *input)
{
    struct gw__sim_node *node = &sim->nodes[i];
    assert(node->up && !node->paused);
    if (sim->counts.inputs++ >= sim->options.inputs_most)
        gw__sim_fail(sim, "the run needs more than %llu inputs",
                     (unsigned long long)sim->options.inputs_most);
    input->now_ns = gw__clock_at(&node->clock, sim->now_ns);
    hash_input(sim, i, input);
    sim->stepping = i;
    sim->starting = input->kind == GW__START;
    struct gw__actions actions = gw__sim_actions(sim);
    node->kind->step(node->state, input, &actions);
    if (node->armed)
        gw__node_crash(sim, i);
    if (sim->options.after_step)
        sim->options.after_step(sim->options.context, sim, i, input);
}

static bool is_missed(const struct gw__sim *sim, const struct gw__event *event)
{
    const struct gw__sim_node *node = &sim->nodes[event->node];
    bool mail = event->kind == GW__MESSAGE && sim->options.mail_survives;
    bool bound = event->kind == GW__MESSAGE || event->kind == GW__DIED ||
                 event->kind == GW__OBSERVED;
    return !node->up || (bound && !mail && event->life != node->life);
}

void gw__node_arrive(struct gw__sim *sim, struct gw__event *event)
{
    struct gw__sim_node *node = &sim->nodes[event->node];
    if (is_missed(sim, event)) {
        sim->counts.missed++;
    } else if (node->paused) {
        event->next = NULL;
        *node->backlog_end = event;
        node->backlog_end = &event->next;
        return;
    } else {
        struct gw__input input = {
            .kind = (enum gw__input_kind)event->kind,
            .from = event->from,
            .incarnation = event->incarnation,
            .data = event->bytes ? event->data : NULL,
            .bytes = event->bytes,
        };
        if (event->kind == GW__TIMER) {
            input.timer = event->index;
            node->timers[event->index] = NULL;
        }
        deliver(sim, event->node, &input);
    }
    gw__queue_release(&sim->queue, event);
}

static void clear_state(struct gw__sim_node *node)
{
    if (node->kind->clear)
        node->kind->clear(node->state);
    else
        memset(node->state, 0, node->kind->state_bytes);
}

void gw__node_start(struct gw__sim *sim, uint32_t i)
{
    struct gw__sim_node *node = &sim->nodes[i];
    assert(!node->up && !node->backlog);
    clear_state(node);
    node->up = true;
    node->life++;
    node->incarnation = gw_rng_next(&node->lives) | 1; /* never 0 */
    sim->counts.starts++;
    struct gw__input start = {
        .kind = GW__START,
        .from = i,
        .data = sim->options.config,
        .bytes = sim->options.config_bytes,
        .incarnation = node->incarnation,
        .seed = gw_rng_next(&node->lives),
    };
    notify_life(sim, i, GW__RESTART);
    deliver(sim, i, &start);
}

/* Notifies `observer` that node `i` has ended. */
static void notify_death(struct gw__sim *sim, uint32_t i, uint32_t observer)
{
    const struct gw__sim_options *options = &sim->options;
    struct gw__sim_node *node = &sim->nodes[observer];
    double lost = gw_rng_unit(&node->luck);
    uint64_t jitter_ns = gw_rng_below(&node->luck, options->died_jitter_ns + 1);
    struct gw__event *event;
    if (lost < options->died_lost || !(event = gw__sim_event_new(sim, 0)))
        return;
    event->kind = GW__DIED;
    event->node = (uint16_t)observer;
    event->from = (uint16_t)i;
    event->incarnation = sim->nodes[i].incarnation;
    event->life = node->life;
    gw__queue_add(&sim->queue, event,
                  sim->now_ns + options->died_delay_ns + jitter_ns);
}

/* A timer in the backlog is not in the queue. */
static void drop_backlog(struct gw__sim *sim, struct gw__sim_node *node)
{
    while (node->backlog) {
        struct gw__event *event = node->backlog;
        node->backlog = event->next;
        if (event->kind == GW__TIMER)
            node->timers[event->index] = NULL;
        else
            sim->counts.missed++;
        gw__queue_release(&sim->queue, event);
    }
    node->backlog_end = &node->backlog;
}

static void drop_timers(struct gw__sim *sim, struct gw__sim_node *node)
{
    for (unsigned i = 0; i < GW__TIMERS_MAX; i++)
        if (node->timers[i]) {
            gw__queue_remove(&sim->queue, node->timers[i]);
            gw__queue_release(&sim->queue, node->timers[i]);
            node->timers[i] = NULL;
        }
}

void gw__node_crash(struct gw__sim *sim, uint32_t i)
{
    struct gw__sim_node *node = &sim->nodes[i];
    assert(node->up);
    node->up = node->paused = node->armed = false;
    sim->counts.crashes++;
    drop_backlog(sim, node);
    drop_timers(sim, node);
    const struct gw_nodes *observers = &sim->options.observers[i];
    for (uint32_t observer = gw__nodes_next(observers, 0);
         observer < sim->node_count;
         observer = gw__nodes_next(observers, observer + 1))
        if (observer != i)
            notify_death(sim, i, observer);
    notify_life(sim, i, GW__CRASH);
}

void gw__node_pause(struct gw__sim *sim, uint32_t i)
{
    assert(sim->nodes[i].up);
    sim->nodes[i].paused = true;
    notify_life(sim, i, GW__PAUSE);
}

/* A program that continues may handle its timers first or its sockets first.
 * Each of the two keeps its order. */
void gw__node_resume(struct gw__sim *sim, uint32_t i)
{
    enum { AS_IT_CAME, TIMERS_FIRST, TIMERS_LAST, ORDER_COUNT };
    struct gw__sim_node *node = &sim->nodes[i];
    uint64_t order = gw_rng_below(&node->luck, ORDER_COUNT);
    struct gw__event *waiting = node->backlog;
    node->paused = false;
    node->backlog = NULL;
    node->backlog_end = &node->backlog;
    for (int turn = 0; turn < 2; turn++)
        for (struct gw__event *e = waiting, *next; e; e = next) {
            bool timer = e->kind == GW__TIMER;
            int its_turn = order == AS_IT_CAME ? 0
                           : timer             ? order == TIMERS_LAST
                                               : order == TIMERS_FIRST;
            next = e->next;
            if (its_turn == turn)
                gw__queue_add(&sim->queue, e, sim->now_ns);
        }
    notify_life(sim, i, GW__RESUME);
}
