/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The controllers' log (sim_consensus.h).
 */
#include "sim_consensus.h"

#include "rafts.h"

#include <sim/sim_parts.h>

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOT_BYTES = 1 << 21, TICK_NS = 5000000 };

/* The log of the current network. START cannot contain the pointer: its
 * contents are part of the run's hash, and an address differs each time. */
static struct sim_consensus *running;

static uint64_t draw_chance(struct sim_consensus *a, uint64_t least,
                            uint64_t most)
{
    return chance_draw(a->chance, least, most);
}

static unsigned end_of(const struct sim_consensus *a)
{
    return a->first + a->controllers;
}

/* ---- connections ---- */

static bool linked(const struct gw__sim *sim, unsigned a, unsigned b)
{
    unsigned n = sim->node_count;
    return a == b || (!sim->links[a * n + b].cut && !sim->links[b * n + a].cut);
}

static bool has_majority(const struct sim_consensus *a, unsigned node)
{
    unsigned count = 0;
    if (!gw__sim_up(a->sim, node) || gw__sim_paused(a->sim, node))
        return false;
    for (unsigned i = a->first; i < end_of(a); i++)
        count += gw__sim_up(a->sim, i) && !gw__sim_paused(a->sim, i) &&
                 linked(a->sim, node, i);
    return 2 * count > a->controllers;
}

/* ---- the machine ---- */

struct controller {
    struct sim_consensus *consensus;
    unsigned node;
    uint64_t incarnation;
    _Alignas(16) uint8_t service[];
};

enum order { APPLIED, LEADER, SNAPSHOT };

/* A message from the oracle to a controller, for one life only. */
struct order_head {
    uint64_t incarnation;
    uint64_t order;
};

static void give_order(struct sim_consensus *a, unsigned node,
                       uint64_t delay_ns, enum order order, const void *data,
                       size_t bytes)
{
    static uint8_t out[sizeof(struct order_head) + GW__SERVICE_REQUEST_MAX];
    struct order_head head = {a->replicas[node].incarnation, order};
    memcpy(out, &head, sizeof head);
    if (bytes)
        memcpy(out + sizeof head, data, bytes);
    gw__sim_request(a->sim, gw__sim_now(a->sim) + delay_ns, node, out,
                    sizeof head + bytes);
}

/* Does it lack many entries of the log? */
static bool is_behind(const struct sim_consensus *a,
                      const struct sim_consensus_replica *r)
{
    return r->applied + 8 < a->count;
}

/* Sends the next entry, one at a time. */
static void pump(struct sim_consensus *a, unsigned node)
{
    static uint8_t request[GW__SERVICE_REQUEST_MAX];
    struct sim_consensus_replica *r = &a->replicas[node];
    if (r->in_progress || r->applied == a->count || !has_majority(a, node))
        return;
    const struct sim_consensus_entry *entry = &a->entries[r->applied];
    size_t bytes = gw__service_request_applied(request, r->applied + 1,
                                               entry->data, entry->bytes);
    r->in_progress = true;
    give_order(a, node, is_behind(a, r) ? 1 : draw_chance(a, 100 * US, 2 * MS),
               APPLIED, request, bytes);
}

static void pump_all(struct sim_consensus *a)
{
    for (unsigned i = a->first; i < end_of(a); i++)
        pump(a, i);
}

static void restore(struct controller *c)
{
    struct sim_consensus *a = c->consensus;
    struct gw_error why;
    size_t bytes = gw__registry_snapshot(a->truth, a->snapshot, SNAPSHOT_BYTES);
    enum gw_err err =
        bytes > SNAPSHOT_BYTES
            ? GW_ENOMEM
            : gw__registry_restore(gw__service_registry(c->service),
                                   a->snapshot, bytes, &why);
    if (err)
        gw__sim_fail(a->sim, "snapshot of %zu bytes: %s", bytes,
                     gw_err_name(err));
    a->replicas[c->node].applied = a->count;
}

static void obey(struct controller *c, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct order_head head;
    struct gw__input machine = *input;
    struct sim_consensus_replica *r = &c->consensus->replicas[c->node];
    memcpy(&head, input->data, sizeof head);
    if (head.incarnation != c->incarnation)
        return;
    machine.data = (const uint8_t *)input->data + sizeof head;
    machine.bytes -= sizeof head;
    if (head.order == SNAPSHOT)
        restore(c);
    else
        gw__service_machine.step(c->service, &machine, actions);
    if (head.order == APPLIED)
        r->applied++;
    if (head.order != LEADER)
        r->in_progress = false;
    if (is_behind(c->consensus, r)) /* otherwise at the next tick */
        pump(c->consensus, c->node);
}

static void start_controller(struct controller *c,
                             const struct gw__input *input,
                             const struct gw__actions *actions)
{
    struct gw__input machine = *input;
    struct gw__service_config config = {.node = input->from,
                                        .incarnation = {7, 0}};
    c->consensus = running;
    memcpy(config.endpoint, "sim", 4);
    c->node = input->from;
    c->incarnation = input->incarnation;
    machine.data = &config;
    machine.bytes = sizeof config;
    gw__service_machine.step(c->service, &machine, actions);
}

static void step_controller(void *state, const struct gw__input *input,
                            const struct gw__actions *actions)
{
    struct controller *c = state;
    if (input->kind == GW__START)
        start_controller(c, input, actions);
    else if (input->kind == GW__REQUESTED)
        obey(c, input, actions);
    else
        gw__service_machine.step(c->service, input, actions);
}

static void clear_controller(void *state)
{
    struct controller *c = state;
    memset(c, 0, sizeof *c);
    gw__service_machine.clear(c->service);
}

const struct gw__machine_kind *controller_kind(const struct sim_consensus *a)
{
    if (a->rafts)
        return raft_controller_kind();
    static struct gw__machine_kind kind = {.name = "controller",
                                           .step = step_controller,
                                           .clear = clear_controller};
    kind.state_bytes =
        sizeof(struct controller) + gw__service_machine.state_bytes;
    return &kind;
}

/* ---- the log ---- */

enum gw_err sim_consensus_open(struct sim_consensus *a, struct gw_error *why)
{
    a->entries = calloc(SIM_CONSENSUS_ENTRIES, sizeof *a->entries);
    a->truth = malloc(sizeof *a->truth);
    a->snapshot = malloc(SNAPSHOT_BYTES);
    return a->entries && a->truth && a->snapshot
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "the controllers' log");
}

static void forget_entries(struct sim_consensus *a)
{
    for (size_t i = 0; a->entries && i < a->count; i++)
        free(a->entries[i].data);
    a->count = 0;
}

void sim_consensus_close(struct sim_consensus *a)
{
    rafts_close(&a->rafts);
    forget_entries(a);
    free(a->entries);
    free(a->truth);
    free(a->snapshot);
}

void sim_consensus_begin(struct sim_consensus *a)
{
    running = a;
    forget_entries(a);
    memset(a->replicas, 0, sizeof a->replicas);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        a->replicas[i].reported_leader = GW__NODES_MAX;
    a->leader = GW__NODES_MAX;
    a->elect_ns = a->tick_ns = a->depose_ns = 0;
    gw__registry_init(a->truth);
    if (a->rafts)
        rafts_begin(a->rafts, a);
}

static void append_entry(struct sim_consensus *a, const void *data,
                         size_t bytes)
{
    uint8_t answer[GW__ANSWER_BYTES_MAX];
    uint8_t *copy = a->count < SIM_CONSENSUS_ENTRIES ? malloc(bytes + 1) : NULL;
    if (!copy) {
        gw__sim_fail(a->sim, "the log has more than %d entries",
                     SIM_CONSENSUS_ENTRIES);
        return;
    }
    struct sim_consensus_entry *entry = &a->entries[a->count++];
    memcpy(copy, data, bytes);
    *entry = (struct sim_consensus_entry){.bytes = bytes, .data = copy};
    gw__registry_apply(a->truth, data, bytes, a->count, answer);
    a->on_entry(a->context);
    if (!a->rafts)
        pump_all(a);
}

void sim_consensus_committed(struct sim_consensus *a, unsigned node,
                             size_t index, const void *data, size_t bytes)
{
    if (index == a->count + 1) {
        append_entry(a, data, bytes);
        return;
    }
    const struct sim_consensus_entry *entry = &a->entries[index - 1];
    if (index > a->count || entry->bytes != bytes ||
        memcmp(entry->data, data, bytes) != 0)
        gw__sim_fail(a->sim,
                     "controller %u has committed an entry %zu that differs "
                     "from that of others",
                     node - a->first, index);
}

void sim_consensus_propose(struct sim_consensus *a, unsigned node,
                           const void *data, size_t bytes)
{
    enum { LOST = 3, LATE = 15 }; /* percent */
    char endpoint[GW__ENDPOINT_MAX];
    unsigned whose;
    if (gw__service_sends_endpoint(data, bytes, &whose, endpoint))
        return; /* libraft's network has the endpoints already */
    if (a->rafts) {
        rafts_propose(a->rafts, node, data, bytes);
        return;
    }
    bool leads = node == a->leader && has_majority(a, node);
    bool some_leader = a->leader < GW__NODES_MAX && has_majority(a, a->leader);
    uint64_t luck = draw_chance(a, 0, 99);
    if (a->chance->calm)
        luck = leads ? LOST : LATE;
    if (leads ? luck >= LOST : some_leader && luck < LATE)
        append_entry(a, data, bytes);
}

/* A controller with another leader, or none, is notified after a while. */
static void report_leader(struct sim_consensus *a, unsigned node)
{
    uint8_t request[GW__SERVICE_REQUEST_MAX];
    struct sim_consensus_replica *r = &a->replicas[node];
    unsigned leader = has_majority(a, node) ? a->leader : GW__NODES_MAX;
    if (r->reported_leader == leader || !gw__sim_up(a->sim, node))
        return;
    r->reported_leader = leader;
    size_t bytes = gw__service_request_leader(request, leader);
    uint64_t now_ns = gw__sim_now(a->sim);
    uint64_t at_ns = now_ns + draw_chance(a, 100 * US, 20 * MS);
    r->leader_ns = at_ns > r->leader_ns ? at_ns : r->leader_ns + 1;
    give_order(a, node, r->leader_ns - now_ns, LEADER, request, bytes);
}

static void elect(struct sim_consensus *a, uint64_t now_ns)
{
    unsigned first = (unsigned)draw_chance(a, 0, a->controllers - 1);
    for (unsigned i = 0; i < a->controllers; i++) {
        unsigned node = a->first + (first + i) % a->controllers;
        if (!has_majority(a, node))
            continue;
        a->leader = node;
        a->depose_ns = now_ns + draw_chance(a, 100 * MS, 3000 * MS);
        return;
    }
}

void sim_consensus_tick(struct sim_consensus *a, uint64_t now_ns)
{
    if (now_ns < a->tick_ns || a->rafts)
        return;
    a->tick_ns = now_ns + TICK_NS;
    bool moves =
        now_ns > a->depose_ns && now_ns < a->restless_ns && a->controllers > 1;
    if (a->leader < GW__NODES_MAX && (moves || !has_majority(a, a->leader))) {
        a->leader = GW__NODES_MAX;
        a->elect_ns = now_ns + draw_chance(a, 20 * MS, 150 * MS);
    }
    if (a->leader >= GW__NODES_MAX && now_ns >= a->elect_ns)
        elect(a, now_ns);
    for (unsigned i = a->first; i < end_of(a); i++) {
        pump(a, i);
        report_leader(a, i);
    }
}

void sim_consensus_started(struct sim_consensus *a, unsigned node)
{
    struct sim_consensus_replica *r = &a->replicas[node];
    *r = (struct sim_consensus_replica){.incarnation =
                                            gw__sim_incarnation(a->sim, node),
                                        .reported_leader = GW__NODES_MAX};
    if (a->rafts || a->count == 0 || draw_chance(a, 0, 2))
        return;
    r->in_progress = true; /* so that no entry comes first */
    give_order(a, node, 1, SNAPSHOT, NULL, 0);
}
