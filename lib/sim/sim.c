/* SPDX-License-Identifier: MIT
 *
 * The network as a whole: creation, event loop, queries. See sim.h.
 */
#include "sim_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_boot(struct gw__sim *sim, uint32_t node, struct gw_rng *rng)
{
    uint64_t at_ns = gw_rng_below(rng, sim->options.start_spread_ns + 1);
    bool down = gw__nodes_has(&sim->options.nodes_down, node);
    struct gw__event *boot = down ? NULL : gw__sim_event_new(sim, 0);
    if (!boot)
        return;
    boot->kind = GW__EVENT_BOOT;
    boot->node = (uint16_t)node;
    gw__queue_add(&sim->queue, boot, at_ns);
}

/* Clocks begin at random values from a second to an hour, so that code cannot
 * compare the clocks of two nodes. Zero would cancel a timer. */
static bool init_node(struct gw__sim *sim, uint32_t i, struct gw_rng *rng)
{
    const uint64_t second = 1000000000, hour = 3600 * second;
    struct gw__sim_node *node = &sim->nodes[i];
    node->state = malloc(node->kind->state_bytes + 1); /* cleared at START */
    node->clock.shown_ns = second + gw_rng_below(rng, hour);
    node->backlog_end = &node->backlog;
    gw_rng_seed(&node->lives, gw_rng_next(rng));
    gw_rng_seed(&node->luck, gw_rng_next(rng));
    add_boot(sim, i, rng);
    return node->state && !sim->error.code;
}

/* A node always reaches itself, independent of the link profile. */
static void init_link(struct gw__sim *sim, size_t i, struct gw_rng *rng)
{
    struct gw__link *link = &sim->links[i];
    *link =
        (struct gw__link){.profile = sim->options.link, .keep = 1, .single = 1};
    if (i / sim->node_count == i % sim->node_count)
        link->profile.drop = link->profile.dup = 0;
    gw_rng_seed(&link->luck, gw_rng_next(rng));
}

static bool init(struct gw__sim *sim,
                 const struct gw__machine_kind *const *kinds)
{
    struct gw_rng rng;
    size_t links = (size_t)sim->node_count * sim->node_count;
    gw_rng_seed(&rng, sim->options.seed);
    sim->nodes = calloc(sim->node_count, sizeof *sim->nodes);
    sim->links = calloc(links, sizeof *sim->links);
    if (!sim->nodes || !sim->links)
        return false;
    for (uint32_t i = 0; i < sim->node_count; i++)
        sim->nodes[i].kind = kinds[i];
    for (uint32_t i = 0; i < sim->node_count; i++)
        if (!init_node(sim, i, &rng))
            return false;
    for (size_t i = 0; i < links; i++)
        init_link(sim, i, &rng);
    return true;
}

enum gw_err gw__sim_new(const struct gw__machine_kind *const *kinds,
                        unsigned nodes, const struct gw__sim_options *options,
                        struct gw__sim **sim, struct gw_error *why)
{
    *sim = NULL;
    if (nodes == 0 || nodes > GW__NODES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a network must have 1 to %d nodes, not %u",
                       GW__NODES_MAX, nodes);
    struct gw__sim *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "network of %u nodes", nodes);
    made->options = *options;
    made->node_count = nodes;
    if (!made->options.events_most)
        made->options.events_most = 1 << 20;
    if (!made->options.inputs_most)
        made->options.inputs_most = 100000000;
    made->queue.most = made->options.events_most;
    if (!init(made, kinds)) {
        gw__sim_destroy(&made);
        return gw_fail(why, GW_ENOMEM, "network of %u nodes", nodes);
    }
    *sim = made;
    return GW_OK;
}

void gw__sim_destroy(struct gw__sim **sim)
{
    struct gw__sim *s = *sim;
    if (!s)
        return;
    for (unsigned i = 0; s->nodes && i < s->node_count; i++) {
        free(s->nodes[i].state);
        gw__disk_fini(&s->nodes[i].disk);
    }
    gw__queue_fini(&s->queue);
    free(s->nodes);
    free(s->links);
    free(s->faults);
    free(s);
    *sim = NULL;
}

struct gw__event *gw__sim_event_new(struct gw__sim *sim, size_t bytes)
{
    struct gw__event *event = gw__queue_acquire(&sim->queue, bytes);
    sim->counts.arenas = sim->queue.arena_count;
    if (!event && sim->queue.in_use == sim->queue.most)
        gw__sim_fail(sim, "more than %zu events are in flight",
                     sim->queue.most);
    else if (!event && !sim->error.code)
        gw_fail(&sim->error, GW_ENOMEM, "the simulation's events");
    return event;
}

void gw__sim_fail(struct gw__sim *sim, const char *format, ...)
{
    if (sim->error.code)
        return;
    char when[32], sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (sim->now_ns % 1000000 == 0)
        gw__format_ns(sim->now_ns, when);
    else /* microseconds are precise enough */
        snprintf(when, sizeof when, "%.3fms", (double)sim->now_ns / 1e6);
    gw_fail(&sim->error, GW_EWRONG, "at %s: %s", when, sentence);
}

void gw__sim_end(struct gw__sim *sim)
{
    sim->ended = true;
}

bool gw__sim_step(struct gw__sim *sim)
{
    struct gw__event *event;
    uint64_t time_ns;
    if (sim->error.code || sim->ended ||
        !(event = gw__queue_pop(&sim->queue, &time_ns)))
        return false;
    assert(time_ns >= sim->now_ns);
    sim->now_ns = time_ns;
    if (event->kind < GW__EVENT_BOOT) {
        gw__node_arrive(sim, event);
        return true;
    }
    if (event->kind == GW__EVENT_BEGIN)
        gw__inject_begin(sim, event->index);
    else if (event->kind == GW__EVENT_END)
        gw__inject_end(sim, event->index);
    else if (!sim->nodes[event->node].up)
        gw__node_start(sim, event->node);
    gw__queue_release(&sim->queue, event);
    return true;
}

enum gw_err gw__sim_run_until(struct gw__sim *sim,
                              bool (*predicate)(void *context,
                                                const struct gw__sim *sim),
                              uint64_t limit_ns, struct gw_error *why)
{
    while (!sim->error.code && !sim->ended) {
        if (predicate && predicate(sim->options.context, sim))
            return GW_OK;
        if (gw__queue_next_ns(&sim->queue) > limit_ns)
            break;
        gw__sim_step(sim);
    }
    if (sim->error.code)
        return gw__sim_error(sim, why);
    if (sim->ended)
        return GW_OK;
    if (sim->now_ns < limit_ns)
        sim->now_ns = limit_ns;
    if (!predicate)
        return GW_OK;
    char when[32];
    gw__format_ns(limit_ns, when);
    return gw_fail(why, GW_ETIMEOUT, "the goal was not reached by %s", when);
}

void gw__sim_request(struct gw__sim *sim, uint64_t at_ns, uint32_t node,
                     const void *data, size_t bytes)
{
    assert(node < sim->node_count && bytes <= GW__MESSAGE_MAX);
    struct gw__event *event = gw__sim_event_new(sim, bytes);
    if (!event)
        return;
    event->kind = GW__REQUESTED;
    event->node = (uint16_t)node;
    if (bytes)
        memcpy(event->data, data, bytes);
    gw__queue_add(&sim->queue, event,
                  at_ns < sim->now_ns ? sim->now_ns : at_ns);
}
