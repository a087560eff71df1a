/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member, or the supervisor: the library's member machine, and an application
 * around it. It makes requests only when the machine is not in a step, and
 * checks the machine's reports after each input.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>

void toy_fail(const struct toy *toy, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gw__sim_fail(toy->world->sim, "node %u: %s", toy->node, text);
}

void toy_send(const struct toy *toy, unsigned node, const void *data,
              size_t bytes)
{
    toy->act->send(toy->act->driver, node, data, bytes);
}

/* ---- the machine inside ---- */

static void on_told(void *node, const struct gw__notification *notification)
{
    ring_told(node, notification);
}

static struct inner inner_of(struct toy *toy)
{
    return (struct inner){.state = toy->member,
                          .act = toy->act,
                          .node = toy,
                          .notification = on_told};
}

void toy_ask(struct toy *toy, const struct gw__member_request *request)
{
    const struct gw__input input = {.kind = GW__REQUESTED,
                                    .now_ns = toy->now_ns,
                                    .from = toy->node,
                                    .incarnation = toy->incarnation_low,
                                    .data = request,
                                    .bytes = sizeof *request};
    inner_step(inner_of(toy), &input);
}

/* ---- the supervisor ---- */

/* A parent finally knows which processes exist. It reports a death when no
 * other node can, because all are dead. */
static void accuse_dead(struct toy *toy,
                        const struct gw__membership_update *update)
{
    const struct gw__view *view = &update->view;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (oracle_lives(toy->world, &view->ring[i]))
            return;
    if (toy->now_ns < toy->accuse_ns || view->ring_count == 0)
        return;
    toy->accuse_ns = toy->now_ns + 100 * MS;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__member_request dead = {
            .kind = GW__REQUEST_LOST,
            .who = {view->ring[i].node, view->ring[i].incarnation}};
        toy_ask(toy, &dead);
    }
}

/* Admits the first members, as soon as there are enough of them. */
static void supervise(struct toy *toy)
{
    struct world *w = toy->world;
    const struct gw__membership_update *update = gw__member_update(toy->member);
    unsigned enough = w->first;
    accuse_dead(toy, update);
    if (toy->now_ns > 150 * MS)
        enough = 1;
    if (!toy->registered || update->view.ring_count ||
        update->joiner_count < enough || toy->now_ns < toy->admit_ns)
        return;
    struct gw__member_request request = {.kind = GW__REQUEST_COMMAND,
                                         .own = {.tag = 1}};
    struct gw__command *admit = &request.own.command;
    admit->kind = GW__CMD_ADMIT;
    admit->admit.count = update->joiner_count;
    admit->admit.ring_epoch = update->view.ring_epoch;
    memcpy(admit->admit.joiners, update->joiners, sizeof update->joiners);
    toy->admit_ns = toy->now_ns + 100 * MS;
    toy_ask(toy, &request);
}

/* ---- the machine outside ---- */

static void start_node(struct toy *toy, const struct gw__input *input)
{
    toy->world = world_running();
    struct world *w = toy->world;
    bool member = is_member(w, input->from);
    toy->node = input->from;
    toy->incarnation_low = input->incarnation;
    toy->incarnation =
        (struct gw__id){lives_next(&w->lives, input->from), input->incarnation};
    gw_rng_seed(&toy->rng, input->seed);
    struct gw__member_config config = {
        .role = member ? GW__WORKER : GW__OBSERVER,
        .ring = member,
        .incarnation = toy->incarnation,
        .client = {gw_rng_next(&toy->rng), gw_rng_next(&toy->rng)},
        .detector = {.suspicion = w->asked.suspicion}};
    inner_start(inner_of(toy), input, &config, &w->agreed);
}

static void message(struct toy *toy, const struct gw__input *input)
{
    const uint8_t *data = input->data;
    switch (input->bytes ? data[0] : 0) {
    case TOY_DATA:
        if (toy->in_ring)
            path_data(toy, input->from, data, input->bytes);
        break;
    case TOY_ACK:
        path_ack(toy, input->from, data, input->bytes);
        break;
    case TOY_PULL:
        joiner_pull(toy, input->from, data, input->bytes);
        break;
    case TOY_NOTHING:
        joiner_nothing(toy, input->from, data, input->bytes);
        break;
    case TOY_STATE:
        joiner_state(toy, input->from, input->incarnation, data, input->bytes);
        break;
    default:
        inner_step(inner_of(toy), input);
        break;
    }
}

static void earlier(uint64_t *due, uint64_t other)
{
    if (other && (*due == 0 || other < *due))
        *due = other;
}

static void set_timer(struct toy *toy)
{
    uint64_t due = 0;
    if (toy->registered && !toy->gone) {
        earlier(&due, path_due(toy));
        earlier(&due, joiner_due(toy));
        earlier(&due, ring_due(toy));
        earlier(&due, toy->admit_ns);
        if (!is_member(toy->world, toy->node)) /* it checks now and then */
            earlier(&due, toy->now_ns + 50 * MS);
    }
    if (due && due <= toy->now_ns)
        due = toy->now_ns + MS;
    if (due != toy->timer_ns)
        toy->act->set_timer(toy->act->driver, TOY_TIMER, due);
    toy->timer_ns = due;
}

static void step_node(void *state, const struct gw__input *input,
                      const struct gw__actions *actions)
{
    struct toy *toy = state;
    if (toy->gone)
        return;
    toy->act = actions;
    toy->now_ns = input->now_ns;
    if (input->kind == GW__START)
        start_node(toy, input);
    else if (input->kind == GW__MESSAGE)
        message(toy, input);
    else if (input->kind == GW__TIMER && input->timer >= TOY_TIMER)
        toy->timer_ns = 0;
    else
        inner_step(inner_of(toy), input);
    do {
        toy->told = false;
        if (is_member(toy->world, toy->node))
            ring_work(toy);
        else
            supervise(toy);
    } while (toy->told && !toy->gone);
    set_timer(toy);
}

const struct gw__machine_kind *member_kind(void)
{
    static struct gw__machine_kind kind = {.name = "member", .step = step_node};
    kind.state_bytes = sizeof(struct toy) + gw__member_machine.state_bytes;
    return &kind;
}
