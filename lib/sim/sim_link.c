/* SPDX-License-Identifier: MIT
 *
 * Transport of messages: loss by a cut or at random, duplicates, delay. Each
 * message draws four random numbers, independent of its fate (see sim.h).
 * Jitter, and the range of a delay fault, let later messages overtake.
 */
#include "sim_parts.h"

#include <assert.h>
#include <string.h>

static uint64_t latency_ns(const struct gw__link *link, double luck)
{
    uint64_t range_ns =
        link->profile.jitter_ns + (link->most_ns - link->least_ns);
    uint64_t ns = link->profile.delay_ns + link->least_ns +
                  (uint64_t)((double)range_ns * luck);
    return ns ? ns : 1;
}

static void queue_copy(struct gw__sim *sim, struct gw__link *link,
                       struct gw__event *message, double luck)
{
    uint64_t at_ns = sim->now_ns + latency_ns(link, luck);
    if (link->profile.ordered && at_ns < link->latest_ns)
        at_ns = link->latest_ns;
    if (at_ns > link->latest_ns)
        link->latest_ns = at_ns;
    gw__queue_add(&sim->queue, message, at_ns);
}

static struct gw__event *make_message(struct gw__sim *sim, uint32_t from,
                                      uint32_t to, const void *data,
                                      size_t bytes)
{
    struct gw__event *message = gw__sim_event_new(sim, bytes);
    if (!message)
        return NULL;
    message->kind = GW__MESSAGE;
    message->node = (uint16_t)to;
    message->from = (uint16_t)from;
    message->incarnation = sim->nodes[from].incarnation;
    message->life = sim->nodes[to].life;
    if (bytes)
        memcpy(message->data, data, bytes);
    return message;
}

void gw__link_send(struct gw__sim *sim, uint32_t from, uint32_t to,
                   const void *data, size_t bytes)
{
    struct gw__link *link = &sim->links[from * sim->node_count + to];
    double luck[4];
    for (unsigned i = 0; i < 4; i++)
        luck[i] = gw_rng_unit(&link->luck);
    sim->counts.sent++;
    if (link->cut) {
        sim->counts.cut++;
        return;
    }
    if (luck[0] < 1 - (1 - link->profile.drop) * link->keep) {
        sim->counts.dropped++;
        return;
    }
    bool twice = luck[1] < 1 - (1 - link->profile.dup) * link->single;
    unsigned copies = twice ? 2 : 1;
    sim->counts.doubled += copies - 1;
    for (unsigned copy = 0; copy < copies; copy++) {
        struct gw__event *message = make_message(sim, from, to, data, bytes);
        if (message)
            queue_copy(sim, link, message, luck[2 + copy]);
    }
}

void gw__sim_set_link(struct gw__sim *sim, uint32_t from, uint32_t to,
                      const struct gw__sim_link_profile *profile)
{
    assert(from < sim->node_count && to < sim->node_count);
    sim->links[from * sim->node_count + to].profile = *profile;
}
