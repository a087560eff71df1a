/* SPDX-License-Identifier: MIT
 *
 * The effects of a state machine's step on its node and the network. Actions
 * take effect at once, in order; if the node crashes inside the step, only the
 * first ones do. A state machine that violates its contract (base/machine.h)
 * fails the run with a message, since this is also a bug.
 */
#include "sim_parts.h"

#include <string.h>

static struct gw__sim_node *stepping(struct gw__sim *sim)
{
    return &sim->nodes[sim->stepping];
}

/* Does this action still take effect? */
static bool is_spared(struct gw__sim *sim)
{
    struct gw__sim_node *node = stepping(sim);
    if (!node->armed)
        return true;
    if (node->spared == 0)
        return false;
    node->spared--;
    return true;
}

static void act_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    struct gw__sim *sim = driver;
    if (to >= sim->node_count || bytes > GW__MESSAGE_MAX)
        gw__sim_fail(sim,
                     "node %u sends %zu bytes to node %u; a message has at "
                     "most %d bytes, and there are %u nodes",
                     sim->stepping, bytes, to, GW__MESSAGE_MAX,
                     sim->node_count);
    else if (is_spared(sim)) {
        if (sim->options.on_send)
            sim->options.on_send(sim->options.context, sim, sim->stepping, to,
                                 data, bytes);
        gw__link_send(sim, sim->stepping, to, data, bytes);
    }
}

void gw__timer_queue(struct gw__sim *sim, struct gw__event *timer)
{
    struct gw__sim_node *node = &sim->nodes[timer->node];
    uint64_t due_ns = gw__clock_when(&node->clock, timer->at_ns);
    uint64_t late_ns = 0;
    if (sim->options.timer_late_ns)
        late_ns = gw_rng_below(&node->luck, sim->options.timer_late_ns + 1);
    if (due_ns < sim->now_ns)
        due_ns = sim->now_ns;
    if (due_ns < UINT64_MAX - late_ns)
        due_ns += late_ns;
    gw__queue_add(&sim->queue, timer, due_ns);
}

static void cancel_timer(struct gw__sim *sim, struct gw__event **timer)
{
    if (!*timer)
        return;
    gw__queue_remove(&sim->queue, *timer);
    gw__queue_release(&sim->queue, *timer);
    *timer = NULL;
}

static void act_set_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    struct gw__sim *sim = driver;
    if (timer >= GW__TIMERS_MAX) {
        gw__sim_fail(sim, "node %u sets timer %u; timers are numbered below %d",
                     sim->stepping, timer, GW__TIMERS_MAX);
        return;
    }
    if (!is_spared(sim))
        return;
    struct gw__event **set = &stepping(sim)->timers[timer];
    cancel_timer(sim, set);
    if (at_ns == 0 || !(*set = gw__sim_event_new(sim, 0)))
        return;
    (*set)->kind = GW__TIMER;
    (*set)->node = (uint16_t)sim->stepping;
    (*set)->index = (uint16_t)timer;
    (*set)->at_ns = at_ns;
    gw__timer_queue(sim, *set);
}

static void act_persist(void *driver, uint32_t key, const void *data,
                        size_t bytes)
{
    struct gw__sim *sim = driver;
    if (bytes > GW__PERSIST_MAX)
        gw__sim_fail(sim,
                     "node %u persists %zu bytes; a value can have at most %d",
                     sim->stepping, bytes, GW__PERSIST_MAX);
    else if (is_spared(sim) &&
             !gw__disk_write(&stepping(sim)->disk, key, data, bytes) &&
             !sim->error.code)
        gw_fail(&sim->error, GW_ENOMEM, "the persistent data of node %u",
                sim->stepping);
}

static const void *act_load(void *driver, uint32_t key, size_t *bytes)
{
    struct gw__sim *sim = driver;
    if (!sim->starting) {
        gw__sim_fail(sim, "node %u loads its state outside of START",
                     sim->stepping);
        return NULL;
    }
    return gw__disk_read(&stepping(sim)->disk, key, bytes);
}

static void act_notify(void *driver, const void *data, size_t bytes)
{
    struct gw__sim *sim = driver;
    if (is_spared(sim) && sim->options.on_notify)
        sim->options.on_notify(sim->options.context, sim, sim->stepping, data,
                               bytes);
}

/* The answer is an input of its own, delivered at once. */
static void act_observe(void *driver, uint32_t node, uint64_t incarnation)
{
    struct gw__sim *sim = driver;
    struct gw__sight sight = {.state = GW__SIGHT_NONE};
    if (!is_spared(sim) || node >= sim->node_count)
        return;
    const struct gw__sim_node *target = &sim->nodes[node];
    bool ended = !target->up || target->incarnation != incarnation;
    struct gw__event *event = gw__sim_event_new(sim, ended ? 0 : sizeof sight);
    if (!event)
        return;
    if (!ended) {
        sim->options.observe(sim->options.context, sim, sim->stepping, node,
                             &sight);
        memcpy(event->data, &sight, sizeof sight);
    }
    event->kind = ended ? GW__DIED : GW__OBSERVED;
    event->node = (uint16_t)sim->stepping;
    event->from = (uint16_t)node;
    event->incarnation = incarnation;
    event->life = stepping(sim)->life;
    gw__queue_add(&sim->queue, event, sim->now_ns);
}

struct gw__actions gw__sim_actions(struct gw__sim *sim)
{
    return (struct gw__actions){
        .driver = sim,
        .send = act_send,
        .set_timer = act_set_timer,
        .persist = act_persist,
        .load = act_load,
        .notify = act_notify,
        .inspect = sim->options.observe ? act_observe : NULL,
    };
}
