/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the controllers agree on, without a consensus protocol: an oracle keeps
 * one log. What the leader proposes is appended, as long as a majority of
 * controllers is up and connected to it; who only believes that it leads mostly
 * talks to the wind. Entries reach every controller in order, each after its
 * own delay, if it is connected to a majority. One that restarts gets the log
 * again from the beginning, or a snapshot and the rest.
 *
 * A controller is the library's service machine in a wrapper that throws away
 * what the oracle sent to an earlier life.
 */
#include "world.h"

#include <sim/sim_parts.h>

#include <stdlib.h>

enum { SNAPSHOT_BYTES = 1 << 21, TICK_NS = 5000000 };

/* ---- who is connected ---- */

static bool linked(const struct world *w, unsigned a, unsigned b)
{
    const struct gw__sim *sim = w->sim;
    unsigned n = sim->node_count;
    return a == b || (!sim->links[a * n + b].cut && !sim->links[b * n + a].cut);
}

static bool has_majority(const struct world *w, unsigned node)
{
    unsigned count = 0;
    if (!gw__sim_up(w->sim, node) || gw__sim_paused(w->sim, node))
        return false;
    for (unsigned i = first_controller(w); i < nodes_of(w); i++)
        count += gw__sim_up(w->sim, i) && !gw__sim_paused(w->sim, i) &&
                 linked(w, node, i);
    return 2 * count > w->controllers;
}

/* ---- the machine ---- */

struct controller {
    struct world *world;
    unsigned node;
    uint64_t incarnation;
    _Alignas(16) uint8_t service[];
};

enum order { APPLIED, LEADER, SNAPSHOT };

/* What the oracle asks of a controller, for this life only. */
struct order_head {
    uint64_t incarnation;
    uint64_t order;
};

static void give_order(struct world *w, unsigned node, uint64_t delay_ns,
                       enum order order, const void *ask, size_t bytes)
{
    static uint8_t out[sizeof(struct order_head) + GW__SERVICE_ASK_MAX];
    struct order_head head = {w->replicas[node].incarnation, order};
    memcpy(out, &head, sizeof head);
    if (bytes)
        memcpy(out + sizeof head, ask, bytes);
    gw__sim_ask(w->sim, gw__sim_now(w->sim) + delay_ns, node, out,
                sizeof head + bytes);
}

/* The next entry, one at a time. */
static void pump(struct world *w, unsigned node)
{
    static uint8_t ask[GW__SERVICE_ASK_MAX];
    struct replica *r = &w->replicas[node];
    if (r->under_way || r->applied == w->log_count || !has_majority(w, node))
        return;
    const struct entry *entry = &w->log[r->applied];
    size_t bytes =
        gw__service_ask_applied(ask, r->applied + 1, entry->data, entry->bytes);
    bool behind = r->applied + 8 < w->log_count;
    r->under_way = true;
    give_order(w, node, behind ? 1 : world_draw(w, 100 * US, 2 * MS), APPLIED,
               ask, bytes);
}

static void pump_all(struct world *w)
{
    for (unsigned i = first_controller(w); i < nodes_of(w); i++)
        pump(w, i);
}

static void restore(struct controller *c)
{
    struct world *w = c->world;
    struct gw_error why;
    size_t bytes = gw__registry_snapshot(w->truth, w->snapshot, SNAPSHOT_BYTES);
    enum gw_err err =
        bytes > SNAPSHOT_BYTES
            ? GW_ENOMEM
            : gw__registry_restore(gw__service_registry(c->service),
                                   w->snapshot, bytes, &why);
    if (err)
        gw__sim_fail(w->sim, "a snapshot of %zu bytes: %s", bytes,
                     gw_err_name(err));
    w->replicas[c->node].applied = w->log_count;
}

static void obey(struct controller *c, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct order_head head;
    struct gw__input inner = *input;
    struct replica *r = &c->world->replicas[c->node];
    memcpy(&head, input->data, sizeof head);
    if (head.incarnation != c->incarnation)
        return;
    inner.data = (const uint8_t *)input->data + sizeof head;
    inner.bytes -= sizeof head;
    if (head.order == SNAPSHOT)
        restore(c);
    else
        gw__service_machine.step(c->service, &inner, actions);
    if (head.order == APPLIED)
        r->applied++;
    if (head.order != LEADER)
        r->under_way = false;
}

static void start(struct controller *c, const struct gw__input *input,
                  const struct gw__actions *actions)
{
    struct gw__input inner = *input;
    struct gw__service_config config = {.node = input->from,
                                        .incarnation = {7, 0}};
    c->world = world_running();
    memcpy(config.endpoint, "sim", 4);
    c->node = input->from;
    c->incarnation = input->incarnation;
    inner.data = &config;
    inner.bytes = sizeof config;
    gw__service_machine.step(c->service, &inner, actions);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct controller *c = state;
    if (input->kind == GW__START)
        start(c, input, actions);
    else if (input->kind == GW__ASKED)
        obey(c, input, actions);
    else
        gw__service_machine.step(c->service, input, actions);
}

const struct gw__machine_kind *controller_kind(void)
{
    static struct gw__machine_kind kind = {.name = "controller", .step = step};
    kind.state_bytes =
        sizeof(struct controller) + gw__service_machine.state_bytes;
    return &kind;
}

/* ---- the log ---- */

void log_begin(struct world *w)
{
    w->log_count = 0;
    memset(w->replicas, 0, sizeof w->replicas);
    for (unsigned i = 0; i < NODES_MOST; i++)
        w->replicas[i].told_leader = GW__NODES_MAX;
    w->leader = GW__NODES_MAX;
    w->elect_ns = w->tick_ns = w->depose_ns = 0;
    gw__registry_init(w->truth);
    if (!w->snapshot)
        w->snapshot = malloc(SNAPSHOT_BYTES);
}

static void append(struct world *w, const void *data, size_t bytes)
{
    uint8_t answer[GW__ANSWER_BYTES_MAX];
    if (w->log_count == LOG_MOST || bytes > sizeof w->log->data) {
        gw__sim_fail(w->sim, "the log has more than %d entries", LOG_MOST);
        return;
    }
    struct entry *entry = &w->log[w->log_count++];
    memcpy(entry->data, data, bytes);
    entry->bytes = bytes;
    gw__registry_apply(w->truth, data, bytes, w->log_count, answer);
    oracle_log(w);
    pump_all(w);
}

void log_propose(struct world *w, unsigned node, const void *data, size_t bytes)
{
    enum { LOST = 3, LATE = 15 }; /* percent */
    char endpoint[GW__ENDPOINT_MAX];
    unsigned whose;
    if (gw__service_tells_endpoint(data, bytes, &whose, endpoint))
        return; /* that network knows where everybody is */
    bool leads = node == w->leader && has_majority(w, node);
    bool some_leader = w->leader < GW__NODES_MAX && has_majority(w, w->leader);
    uint64_t luck = world_draw(w, 0, 99);
    if (w->asked.calm)
        luck = LOST;
    if (leads ? luck >= LOST : some_leader && luck < LATE)
        append(w, data, bytes);
}

/* Who was led by another, or by nobody, hears of it after a while. */
static void tell_leader(struct world *w, unsigned node)
{
    uint8_t ask[GW__SERVICE_ASK_MAX];
    struct replica *r = &w->replicas[node];
    unsigned leader = has_majority(w, node) ? w->leader : GW__NODES_MAX;
    if (r->told_leader == leader || !gw__sim_up(w->sim, node))
        return;
    r->told_leader = leader;
    size_t bytes = gw__service_ask_leader(ask, leader);
    uint64_t now_ns = gw__sim_now(w->sim);
    uint64_t at_ns = now_ns + world_draw(w, 100 * US, 20 * MS);
    r->leader_ns = at_ns > r->leader_ns ? at_ns : r->leader_ns + 1;
    give_order(w, node, r->leader_ns - now_ns, LEADER, ask, bytes);
}

static void elect(struct world *w, uint64_t now_ns)
{
    unsigned first = (unsigned)world_draw(w, 0, w->controllers - 1);
    for (unsigned i = 0; i < w->controllers; i++) {
        unsigned node = first_controller(w) + (first + i) % w->controllers;
        if (!has_majority(w, node))
            continue;
        w->leader = node;
        w->depose_ns = now_ns + world_draw(w, 100 * MS, 3000 * MS);
        return;
    }
}

void log_tick(struct world *w, uint64_t now_ns)
{
    if (now_ns < w->tick_ns)
        return;
    w->tick_ns = now_ns + TICK_NS;
    bool moves =
        now_ns > w->depose_ns && now_ns < w->fault_end_ns && w->controllers > 1;
    if (w->leader < GW__NODES_MAX && (moves || !has_majority(w, w->leader))) {
        w->leader = GW__NODES_MAX;
        w->elect_ns = now_ns + world_draw(w, 20 * MS, 150 * MS);
    }
    if (w->leader >= GW__NODES_MAX && now_ns >= w->elect_ns)
        elect(w, now_ns);
    for (unsigned i = first_controller(w); i < nodes_of(w); i++) {
        pump(w, i);
        tell_leader(w, i);
    }
}

void log_started(struct world *w, unsigned node)
{
    struct replica *r = &w->replicas[node];
    *r = (struct replica){.incarnation = gw__sim_incarnation(w->sim, node),
                          .told_leader = GW__NODES_MAX};
    if (w->log_count == 0 || world_draw(w, 0, 2))
        return;
    r->under_way = true; /* so that nothing comes before it */
    give_order(w, node, 1, SNAPSHOT, NULL, 0);
}
