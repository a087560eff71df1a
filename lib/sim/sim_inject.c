/* SPDX-License-Identifier: MIT
 *
 * Begin and end of faults (faults.h has their effects). Active faults are in a
 * table. The effects on links and clocks are computed from the whole table
 * whenever it changes, so that faults may overlap and end in any order. A node
 * is down, or paused, as long as an active fault contains it.
 */
#include "sim_parts.h"

#include <stdlib.h>

static bool is_of_link(const struct gw__fault *fault)
{
    return gw__fault_verbs[fault->kind].operand == GW__OF_LINK;
}

static void add_effect(struct gw__link *link, const struct gw__fault *fault)
{
    double spared = 1 - (double)fault->chance / 1e6;
    switch (fault->kind) {
    case GW__CUT:
        link->cut = true;
        break;
    case GW__DROP:
        link->keep *= spared;
        break;
    case GW__DUP:
        link->single *= spared;
        break;
    default:
        link->least_ns += fault->least_ns;
        link->most_ns += fault->most_ns;
        break;
    }
}

static bool names(const struct gw__fault *fault, uint32_t from, uint32_t to)
{
    bool there =
        gw__nodes_has(&fault->nodes, from) && gw__nodes_has(&fault->to, to);
    bool back =
        gw__nodes_has(&fault->nodes, to) && gw__nodes_has(&fault->to, from);
    return from != to && (there || (fault->both_ways && back));
}

static void renew_links(struct gw__sim *sim)
{
    for (uint32_t from = 0; from < sim->node_count; from++)
        for (uint32_t to = 0; to < sim->node_count; to++) {
            struct gw__link *link = &sim->links[from * sim->node_count + to];
            link->cut = false;
            link->keep = link->single = 1;
            link->least_ns = link->most_ns = 0;
            for (size_t i = 0; i < sim->fault_count; i++)
                if (sim->faults[i].lasts && is_of_link(&sim->faults[i].fault) &&
                    names(&sim->faults[i].fault, from, to))
                    add_effect(link, &sim->faults[i].fault);
        }
}

/* A change of the clock's rate changes the time at which timers are due. */
static void set_rate(struct gw__sim *sim, uint32_t i, int64_t ppm)
{
    struct gw__sim_node *node = &sim->nodes[i];
    if (ppm > GW__CLOCK_PPM_MAX)
        ppm = GW__CLOCK_PPM_MAX;
    if (ppm < -GW__CLOCK_PPM_MAX)
        ppm = -GW__CLOCK_PPM_MAX;
    if (ppm == node->clock.ppm)
        return;
    gw__clock_rate(&node->clock, sim->now_ns, (int32_t)ppm);
    for (unsigned timer = 0; timer < GW__TIMERS_MAX; timer++) {
        struct gw__event *set = node->timers[timer];
        if (!set || set->place == GW__NOT_QUEUED)
            continue;
        gw__queue_remove(&sim->queue, set);
        gw__timer_queue(sim, set);
    }
}

static void renew_clocks(struct gw__sim *sim)
{
    for (uint32_t node = 0; node < sim->node_count; node++) {
        int64_t ppm = 0;
        for (size_t i = 0; i < sim->fault_count; i++) {
            const struct gw__fault *fault = &sim->faults[i].fault;
            if (sim->faults[i].lasts && fault->kind == GW__CLOCK &&
                gw__nodes_has(&fault->nodes, node))
                ppm += fault->ppm;
        }
        set_rate(sim, node, ppm);
    }
}

/* Does an active fault of this kind contain the node? */
static bool is_held(const struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind kind)
{
    for (size_t i = 0; i < sim->fault_count; i++)
        if (sim->faults[i].lasts && sim->faults[i].fault.kind == kind &&
            gw__nodes_has(&sim->faults[i].fault.nodes, node))
            return true;
    return false;
}

/* Removes the node from all active faults of this kind. */
static void let_go(struct gw__sim *sim, uint32_t node, enum gw__fault_kind kind)
{
    for (size_t i = 0; i < sim->fault_count; i++)
        if (sim->faults[i].lasts && sim->faults[i].fault.kind == kind)
            gw__nodes_remove(&sim->faults[i].fault.nodes, node);
}

static void crash(struct gw__sim *sim, uint32_t i)
{
    let_go(sim, i, GW__PAUSE);
    gw__node_crash(sim, i);
}

/* If the node is down for another reason than a crash, the end of this fault
 * must not start it. */
static void crash_again(struct gw__sim *sim, uint32_t node,
                        struct gw__fault *fault)
{
    gw__nodes_remove(&fault->nodes, node);
    if (is_held(sim, node, GW__CRASH))
        gw__nodes_add(&fault->nodes, node);
}

static void begin_crash(struct gw__sim *sim, uint32_t i,
                        struct gw__fault *fault)
{
    struct gw__sim_node *node = &sim->nodes[i];
    uint16_t after = fault->after;
    if (!node->up) {
        crash_again(sim, i, fault);
        return;
    }
    if (after == GW__AT_ONCE) {
        crash(sim, i);
        return;
    }
    if (!node->armed || after < node->spared)
        node->spared = after;
    node->armed = true;
}

/* If the step for the crash did not come, the node crashes now. */
static void end_crash(struct gw__sim *sim, uint32_t node)
{
    if (is_held(sim, node, GW__CRASH))
        return;
    if (sim->nodes[node].armed)
        crash(sim, node);
    if (!sim->nodes[node].up)
        gw__node_start(sim, node);
}

static void restart(struct gw__sim *sim, uint32_t node)
{
    let_go(sim, node, GW__CRASH);
    if (sim->nodes[node].up)
        crash(sim, node);
    gw__node_start(sim, node);
}

static void resume(struct gw__sim *sim, uint32_t node)
{
    if (sim->nodes[node].paused && !is_held(sim, node, GW__PAUSE))
        gw__node_resume(sim, node);
}

static void begin_at_node(struct gw__sim *sim, uint32_t node, size_t fault)
{
    struct gw__fault *f = &sim->faults[fault].fault;
    switch (f->kind) {
    case GW__CRASH:
        begin_crash(sim, node, f);
        break;
    case GW__RESTART:
        restart(sim, node);
        break;
    case GW__PAUSE:
        if (sim->nodes[node].up)
            gw__node_pause(sim, node);
        else
            gw__nodes_remove(&f->nodes, node);
        break;
    case GW__RESUME:
        let_go(sim, node, GW__PAUSE);
        resume(sim, node);
        break;
    default:
        break;
    }
}

static void heal(struct gw__sim *sim)
{
    for (size_t i = 0; i < sim->fault_count; i++)
        if (is_of_link(&sim->faults[i].fault))
            sim->faults[i].lasts = false;
}

static void schedule(struct gw__sim *sim, size_t fault, uint8_t kind,
                     uint64_t at_ns)
{
    struct gw__event *event = gw__sim_event_new(sim, 0);
    if (!event)
        return;
    event->kind = kind;
    event->index = (uint16_t)fault;
    gw__queue_add(&sim->queue, event,
                  at_ns < sim->now_ns ? sim->now_ns : at_ns);
}

/* Hooks may add faults, which can move the table. */
void gw__inject_begin(struct gw__sim *sim, size_t fault)
{
    struct gw__fault f = sim->faults[fault].fault;
    sim->faults[fault].lasts = gw__fault_verbs[f.kind].lasts;
    if (f.for_ns)
        schedule(sim, fault, GW__EVENT_END, sim->now_ns + f.for_ns);
    if (gw__fault_verbs[f.kind].operand == GW__OF_NODES)
        for (uint32_t node = 0; node < sim->node_count; node++)
            if (gw__nodes_has(&f.nodes, node))
                begin_at_node(sim, node, fault);
    if (f.kind == GW__HEAL)
        heal(sim);
    if (f.kind == GW__HEAL || is_of_link(&f))
        renew_links(sim);
    if (f.kind == GW__CLOCK)
        renew_clocks(sim);
}

void gw__inject_end(struct gw__sim *sim, size_t fault)
{
    struct gw__fault f = sim->faults[fault].fault;
    if (!sim->faults[fault].lasts)
        return;
    sim->faults[fault].lasts = false;
    for (uint32_t node = 0; node < sim->node_count; node++)
        if (gw__nodes_has(&f.nodes, node) && f.kind == GW__CRASH)
            end_crash(sim, node);
        else if (gw__nodes_has(&f.nodes, node) && f.kind == GW__PAUSE)
            resume(sim, node);
    if (is_of_link(&f))
        renew_links(sim);
    if (f.kind == GW__CLOCK)
        renew_clocks(sim);
}

static bool grow_faults(struct gw__sim *sim, size_t need)
{
    if (need <= sim->fault_capacity)
        return true;
    size_t larger = 2 * sim->fault_capacity + 32;
    larger = larger < need ? need : larger;
    struct gw__injected *moved = realloc(sim->faults, larger * sizeof *moved);
    if (!moved)
        return false;
    sim->faults = moved;
    sim->fault_capacity = larger;
    return true;
}

enum gw_err gw__sim_add_faults(struct gw__sim *sim,
                               const struct gw__fault *faults, size_t count,
                               struct gw_error *why)
{
    if (count > UINT16_MAX - sim->fault_count)
        return gw_fail(why, GW_EINVAL, "a run can have at most %d faults",
                       UINT16_MAX);
    if (!grow_faults(sim, sim->fault_count + count))
        return gw_fail(why, GW_ENOMEM, "%zu faults", count);
    for (size_t i = 0; i < count; i++) {
        size_t fault = sim->fault_count++;
        sim->faults[fault] = (struct gw__injected){.fault = faults[i]};
        schedule(sim, fault, GW__EVENT_BEGIN, faults[i].at_ns);
    }
    return gw__sim_error(sim, why);
}
