/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member, or the supervisor: the library's member machine, and an application
 * around it. It makes requests only when the machine is not in a step, and
 * checks the machine's reports after each input.
 */
#include "ring_simcluster.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void sim_node_fail(const struct sim_node *node, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gw__sim_fail(node->cluster->sim, "node %u: %s", node->node, text);
}

void sim_node_send(const struct sim_node *sim_node, unsigned node,
                   const void *data, size_t bytes)
{
    sim_node->act->send(sim_node->act->driver, node, data, bytes);
}

/* ---- the machine inside ---- */

static void on_notification(void *node,
                            const struct gw__notification *notification)
{
    ring_notified(node, notification);
}

static struct member_machine member_machine_of(struct sim_node *node)
{
    return (struct member_machine){.state = node->member,
                                   .act = node->act,
                                   .node = node,
                                   .notification = on_notification};
}

void scripted_run(struct sim_node *node,
                  const struct gw__member_request *request)
{
    const struct gw__input input = {.kind = GW__REQUESTED,
                                    .now_ns = node->now_ns,
                                    .from = node->node,
                                    .incarnation = node->incarnation_low,
                                    .data = request,
                                    .bytes = sizeof *request};
    member_machine_step(member_machine_of(node), &input);
}

/* ---- the supervisor ---- */

/* A parent finally knows which processes exist. It reports a death when no
 * other node can, because all are dead. */
static void suspect_dead(struct sim_node *node,
                         const struct gw__membership_update *update)
{
    const struct gw__view *view = &update->view;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (oracle_lives(node->cluster, &view->ring[i]))
            return;
    if (node->now_ns < node->suspect_ns || view->ring_count == 0)
        return;
    node->suspect_ns = node->now_ns + 100 * MS;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__member_request dead = {
            .kind = GW__REQUEST_LOST,
            .who = {view->ring[i].node, view->ring[i].incarnation}};
        scripted_run(node, &dead);
    }
}

/* Admits the first members, as soon as there are enough of them. */
static void supervise(struct sim_node *node)
{
    struct simcluster *w = node->cluster;
    const struct gw__membership_update *update =
        gw__member_update(node->member);
    unsigned enough = w->first;
    suspect_dead(node, update);
    if (node->now_ns > 150 * MS)
        enough = 1;
    if (!node->registered || update->view.ring_count ||
        update->joiner_count < enough || node->now_ns < node->admit_ns)
        return;
    struct gw__member_request request = {.kind = GW__REQUEST_COMMAND,
                                         .own = {.tag = 1}};
    struct gw__command *admit = &request.own.command;
    admit->kind = GW__CMD_ADMIT;
    admit->admit.count = update->joiner_count;
    admit->admit.ring_epoch = update->view.ring_epoch;
    memcpy(admit->admit.joiners, update->joiners, sizeof update->joiners);
    node->admit_ns = node->now_ns + 100 * MS;
    scripted_run(node, &request);
}

/* ---- the machine outside ---- */

static void start_node(struct sim_node *node, const struct gw__input *input)
{
    node->cluster = simcluster_running();
    struct simcluster *w = node->cluster;
    bool member = is_member(w, input->from);
    node->node = input->from;
    node->incarnation_low = input->incarnation;
    node->incarnation =
        (struct gw__id){lives_next(&w->lives, input->from), input->incarnation};
    gw_rng_seed(&node->rng, input->seed);
    struct gw__member_config config = {
        .role = member ? GW__WORKER : GW__OBSERVER,
        .ring = member,
        .incarnation = node->incarnation,
        .client = {gw_rng_next(&node->rng), gw_rng_next(&node->rng)},
        .detector = {.suspicion = w->params.suspicion}};
    member_machine_start(member_machine_of(node), input, &config,
                         &w->consensus);
}

static void message(struct sim_node *node, const struct gw__input *input)
{
    const uint8_t *data = input->data;
    switch (input->bytes ? data[0] : 0) {
    case SIM_NODE_DATA:
        if (node->in_ring)
            path_data(node, input->from, data, input->bytes);
        break;
    case SIM_NODE_ACK:
        path_ack(node, input->from, data, input->bytes);
        break;
    case SIM_NODE_PULL:
        joiner_pull(node, input->from, data, input->bytes);
        break;
    case SIM_NODE_NOTHING:
        joiner_nothing(node, input->from, data, input->bytes);
        break;
    case SIM_NODE_STATE:
        joiner_state(node, input->from, input->incarnation, data, input->bytes);
        break;
    default:
        member_machine_step(member_machine_of(node), input);
        break;
    }
}

static void earlier(uint64_t *due, uint64_t other)
{
    if (other && (*due == 0 || other < *due))
        *due = other;
}

static void set_timer(struct sim_node *node)
{
    uint64_t due = 0;
    if (node->registered && !node->gone) {
        earlier(&due, path_due(node));
        earlier(&due, joiner_due(node));
        earlier(&due, ring_due(node));
        earlier(&due, node->admit_ns);
        if (!is_member(node->cluster, node->node)) /* it checks now and then */
            earlier(&due, node->now_ns + 50 * MS);
    }
    if (due && due <= node->now_ns)
        due = node->now_ns + MS;
    if (due != node->timer_ns)
        node->act->set_timer(node->act->driver, SIM_NODE_TIMER, due);
    node->timer_ns = due;
}

static void step_node(void *state, const struct gw__input *input,
                      const struct gw__actions *actions)
{
    struct sim_node *node = state;
    if (node->gone)
        return;
    node->act = actions;
    node->now_ns = input->now_ns;
    if (input->kind == GW__START)
        start_node(node, input);
    else if (input->kind == GW__MESSAGE)
        message(node, input);
    else if (input->kind == GW__TIMER && input->timer >= SIM_NODE_TIMER)
        node->timer_ns = 0;
    else
        member_machine_step(member_machine_of(node), input);
    do {
        node->reported = false;
        if (is_member(node->cluster, node->node))
            ring_work(node);
        else
            supervise(node);
    } while (node->reported && !node->gone);
    set_timer(node);
}

/* Not the lists, whose lengths are in other fields. */
static void clear_node(void *state)
{
    struct sim_node *node = state;
    memset(node, 0, offsetof(struct sim_node, ops));
    gw__op_table_init(&node->ops, 0, 0);
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        memset(&node->runs[i], 0, offsetof(struct run, sends));
    memset((char *)node + offsetof(struct sim_node, results), 0,
           offsetof(struct sim_node, member) -
               offsetof(struct sim_node, results));
    gw__member_machine.clear(node->member);
}

const struct gw__machine_kind *member_kind(void)
{
    static struct gw__machine_kind kind = {
        .name = "member", .step = step_node, .clear = clear_node};
    kind.state_bytes = sizeof(struct sim_node) + gw__member_machine.state_bytes;
    return &kind;
}
