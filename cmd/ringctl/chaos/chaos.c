/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chaos.h. Times between actions are exponential, like those of independent
 * events. Each kind of action that is possible in the model has a weight.
 * Faults that remove a member leave enough of its kind.
 */
#include "chaos.h"

#include <assert.h>
#include <math.h>

const char *chaos_word(enum chaos_kind kind)
{
    static const char *const words[CHAOS_KINDS] = {
        "kill",      "pause",       "resume",     "restart",
        "add",       "link",        "link clear", "cut",
        "heal",      "slow",        "slow off",   "drift",
        "drift off", "kill leader", "disk full",  "restart controller"};
    assert(kind < CHAOS_KINDS);
    return words[kind];
}

void chaos_begin(struct chaos *chaos, uint64_t seed, double rate)
{
    *chaos = (struct chaos){.rate = rate,
                            .min_alive = {CHAOS_MIN_ALIVE, CHAOS_MIN_ALIVE}};
    gw_rng_seed(&chaos->rng, seed);
}

/* 1: a server. */
static unsigned kind_of(const struct chaos *c, unsigned node)
{
    return c->servers_from && node >= c->servers_from;
}

static unsigned alive(const struct chaos *c, unsigned kind)
{
    unsigned nodes = 0;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        nodes += c->nodes[i] == CHAOS_ALIVE && kind_of(c, i) == kind;
    return nodes;
}

static bool is_spare(const struct chaos *c, unsigned node)
{
    unsigned kind = kind_of(c, node);
    return alive(c, kind) > c->min_alive[kind];
}

/* Is it in this state and, if `spare`, does its kind have more than enough? */
static bool is_candidate(const struct chaos *c, unsigned node,
                         enum chaos_state state, bool spare)
{
    return c->nodes[node] == state && (!spare || is_spare(c, node));
}

static unsigned count_nodes(const struct chaos *c, enum chaos_state state,
                            bool spare)
{
    unsigned nodes = 0;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        nodes += is_candidate(c, i, state, spare);
    return nodes;
}

static unsigned draw_node(struct chaos *c, enum chaos_state state, bool spare)
{
    uint64_t n = gw_rng_below(&c->rng, count_nodes(c, state, spare));
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        if (is_candidate(c, i, state, spare) && n-- == 0)
            return i;
    return 0;
}

/* A number of the kind that has lost most; numbers are assigned in order, and
 * none twice. CHAOS_NODES: none is needed, or none is left. */
static unsigned next_number(const struct chaos *c)
{
    unsigned lost[2] = {c->first[0] - alive(c, 0), c->first[1] - alive(c, 1)};
    if (alive(c, 0) >= c->first[0])
        lost[0] = 0;
    if (alive(c, 1) >= c->first[1])
        lost[1] = 0;
    unsigned kind = lost[1] > lost[0];
    unsigned next = kind ? c->servers_from : 0;
    unsigned end = !kind && c->servers_from ? c->servers_from : CHAOS_NODES;
    for (unsigned i = next; i < end; i++)
        if (c->nodes[i] != CHAOS_ABSENT)
            next = i + 1;
    return lost[kind] && next < end ? next : CHAOS_NODES;
}

/* A majority of them remains when one is down. */
static bool has_controllers(const struct chaos *c)
{
    return c->controllers >= 3;
}

static unsigned weight(const struct chaos *c, enum chaos_kind kind)
{
    bool spare = count_nodes(c, CHAOS_ALIVE, true) > 0;
    switch (kind) {
    case CHAOS_KILL:
        return spare ? 3 : 0;
    case CHAOS_PAUSE:
        return spare ? 2 : 0;
    case CHAOS_RESUME:
        return count_nodes(c, CHAOS_PAUSED, false) ? 3 : 0;
    case CHAOS_RESTART:
        return count_nodes(c, CHAOS_DEAD, false) ? 3 : 0;
    case CHAOS_ADD:
        return next_number(c) < CHAOS_NODES ? 2 : 0;
    case CHAOS_SLOW_LINK:
        return !c->link_slow && count_nodes(c, CHAOS_ALIVE, false) >= 2 ? 2 : 0;
    case CHAOS_CLEAR_LINK:
        return c->link_slow ? 2 : 0;
    case CHAOS_CUT:
        return spare && !c->cut ? 2 : 0;
    case CHAOS_HEAL:
        return c->cut ? 4 : 0;
    case CHAOS_SLOW:
        return !c->slow ? 1 : 0;
    case CHAOS_QUICK:
        return c->slow ? 2 : 0;
    case CHAOS_DRIFT:
        return !c->drifts ? 1 : 0;
    case CHAOS_RIGHT:
        return c->drifts ? 2 : 0;
    case CHAOS_KILL_LEADER:
        return has_controllers(c) && !c->controller_down ? 2 : 0;
    case CHAOS_FULL_DISK:
        return has_controllers(c) && !c->controller_down ? 1 : 0;
    case CHAOS_CONTROLLER:
        return c->controller_down ? 4 : 0;
    case CHAOS_KINDS:
        break;
    }
    return 0;
}

static enum chaos_kind draw_kind(struct chaos *c)
{
    unsigned total = 0;
    for (unsigned i = 0; i < CHAOS_KINDS; i++)
        total += weight(c, (enum chaos_kind)i);
    assert(total > 0); /* a link can always be slowed or cleared */
    uint64_t n = gw_rng_below(&c->rng, total);
    unsigned kind = 0;
    while (n >= weight(c, (enum chaos_kind)kind))
        n -= weight(c, (enum chaos_kind)kind++);
    return (enum chaos_kind)kind;
}

static void slow_link(struct chaos *c, struct chaos_action *a)
{
    a->node = draw_node(c, CHAOS_ALIVE, false);
    do
        a->peer = draw_node(c, CHAOS_ALIVE, false);
    while (a->peer == a->node);
    a->delay_us = 100 * (1 + (unsigned)gw_rng_below(&c->rng, 100));
    a->loss_ppm = 1000 * (unsigned)gw_rng_below(&c->rng, 20);
    c->link_slow = true;
    c->link_from = a->node;
    c->link_to = a->peer;
}

static void change(struct chaos *c, struct chaos_action *a,
                   enum chaos_state from, enum chaos_state to)
{
    bool spare = from == CHAOS_ALIVE;
    a->node = from == CHAOS_ABSENT ? next_number(c) : draw_node(c, from, spare);
    c->nodes[a->node] = to;
}

static void clear_link(struct chaos *c, struct chaos_action *a)
{
    a->node = c->link_from;
    a->peer = c->link_to;
    c->link_slow = false;
}

/* The member that is cut off is a spare one, the other may be any. */
static void cut_node(struct chaos *c, struct chaos_action *a)
{
    a->peer = draw_node(c, CHAOS_ALIVE, true);
    do
        a->node = draw_node(c, CHAOS_ALIVE, false);
    while (a->node == a->peer);
    c->nodes[a->peer] = CHAOS_CUT_OFF;
    c->cut = true;
    c->cut_from = a->node;
    c->cut_to = a->peer;
}

static void heal(struct chaos *c, struct chaos_action *a)
{
    a->node = c->cut_from;
    a->peer = c->cut_to;
    c->nodes[c->cut_to] = CHAOS_ALIVE;
    c->cut = false;
}

static void slow(struct chaos *c, struct chaos_action *a)
{
    a->node = c->slow_node = draw_node(c, CHAOS_ALIVE, false);
    a->delay_us = 1000 * (1 + (unsigned)gw_rng_below(&c->rng, 20));
    c->slow = true;
}

/* Below 0.8, a server's lease would last longer than the controllers wait for
 * it: cluster/service.h. */
static void drift(struct chaos *c, struct chaos_action *a)
{
    static const double rates[] = {0.85, 0.9, 1.1, 1.25};
    a->node = c->drift_node = draw_node(c, CHAOS_ALIVE, false);
    a->rate = rates[gw_rng_below(&c->rng, sizeof rates / sizeof *rates)];
    c->drifts = true;
}

static void right(struct chaos *c, struct chaos_action *a)
{
    a->kind = CHAOS_RIGHT;
    a->node = c->drift_node;
    a->rate = 1;
    c->drifts = false;
}

static void quick(struct chaos *c, struct chaos_action *a)
{
    a->kind = CHAOS_QUICK;
    a->node = c->slow_node;
    c->slow = false;
}

/* Actions on links, clocks, disks and controllers. */
static void around(struct chaos *c, struct chaos_action *a)
{
    switch (a->kind) {
    case CHAOS_CUT:
        cut_node(c, a);
        break;
    case CHAOS_HEAL:
        heal(c, a);
        break;
    case CHAOS_SLOW:
        slow(c, a);
        break;
    case CHAOS_QUICK:
        quick(c, a);
        break;
    case CHAOS_DRIFT:
        drift(c, a);
        break;
    case CHAOS_RIGHT:
        right(c, a);
        break;
    case CHAOS_FULL_DISK:
        a->node = (unsigned)gw_rng_below(&c->rng, c->controllers);
        c->controller_down = true;
        break;
    case CHAOS_KILL_LEADER:
        c->controller_down = true;
        break;
    case CHAOS_CONTROLLER:
        c->controller_down = false;
        break;
    default:
        break;
    }
}

void chaos_next(struct chaos *chaos, struct chaos_action *action)
{
    for (unsigned kind = 0; kind < 2; kind++)
        if (!chaos->first[kind])
            chaos->first[kind] = alive(chaos, kind);
    double gap_s = -log1p(-gw_rng_unit(&chaos->rng)) / chaos->rate;
    chaos->at_ns += (uint64_t)(gap_s * 1e9);
    *action =
        (struct chaos_action){.at_ns = chaos->at_ns, .kind = draw_kind(chaos)};
    switch (action->kind) {
    case CHAOS_KILL:
        change(chaos, action, CHAOS_ALIVE, CHAOS_DEAD);
        return;
    case CHAOS_PAUSE:
        change(chaos, action, CHAOS_ALIVE, CHAOS_PAUSED);
        return;
    case CHAOS_RESUME:
        change(chaos, action, CHAOS_PAUSED, CHAOS_ALIVE);
        return;
    case CHAOS_RESTART:
        change(chaos, action, CHAOS_DEAD, CHAOS_ALIVE);
        return;
    case CHAOS_ADD:
        change(chaos, action, CHAOS_ABSENT, CHAOS_ALIVE);
        return;
    case CHAOS_SLOW_LINK:
        slow_link(chaos, action);
        return;
    case CHAOS_CLEAR_LINK:
        clear_link(chaos, action);
        return;
    default:
        around(chaos, action);
        return;
    }
}

static bool undo_around(struct chaos *c, struct chaos_action *a)
{
    const enum chaos_kind kind = c->cut               ? CHAOS_HEAL
                                 : c->slow            ? CHAOS_QUICK
                                 : c->drifts          ? CHAOS_RIGHT
                                 : c->controller_down ? CHAOS_CONTROLLER
                                                      : CHAOS_KINDS;
    if (kind == CHAOS_KINDS)
        return false;
    a->kind = kind;
    around(c, a);
    return true;
}

bool chaos_undo(struct chaos *chaos, struct chaos_action *action)
{
    *action = (struct chaos_action){.at_ns = chaos->at_ns};
    if (chaos->link_slow) {
        action->kind = CHAOS_CLEAR_LINK;
        clear_link(chaos, action);
        return true;
    }
    if (undo_around(chaos, action))
        return true;
    if (!count_nodes(chaos, CHAOS_PAUSED, false))
        return false;
    action->kind = CHAOS_RESUME;
    change(chaos, action, CHAOS_PAUSED, CHAOS_ALIVE);
    return true;
}
