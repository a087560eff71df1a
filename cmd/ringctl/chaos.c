/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chaos.h. Times between actions are exponential, as of things that happen
 * independently. Which action: each kind that is possible in the picture has a
 * weight; faults that remove a member need more than CHAOS_FLOOR of them.
 */
#include "chaos.h"

#include <assert.h>
#include <math.h>

const char *chaos_word(enum chaos_kind kind)
{
    static const char *const words[CHAOS_KINDS] = {
        "kill", "pause", "resume", "restart", "add", "link", "link clear"};
    assert(kind < CHAOS_KINDS);
    return words[kind];
}

void chaos_begin(struct chaos *chaos, uint64_t seed, double rate)
{
    *chaos = (struct chaos){.rate = rate};
    gw_rng_seed(&chaos->rng, seed);
}

static unsigned count(const struct chaos *c, enum chaos_state state)
{
    unsigned nodes = 0;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        nodes += c->nodes[i] == state;
    return nodes;
}

/* The n-th node that is in `state`. */
static unsigned nth(const struct chaos *c, enum chaos_state state, unsigned n)
{
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        if (c->nodes[i] == state && n-- == 0)
            return i;
    return 0;
}

static unsigned draw(struct chaos *c, enum chaos_state state)
{
    return nth(c, state, (unsigned)gw_rng_below(&c->rng, count(c, state)));
}

/* Numbers are dealt in order, and none twice. */
static unsigned next_number(const struct chaos *c)
{
    unsigned next = 0;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        if (c->nodes[i] != CHAOS_ABSENT)
            next = i + 1;
    return next;
}

static unsigned weight(const struct chaos *c, enum chaos_kind kind)
{
    unsigned alive = count(c, CHAOS_ALIVE);
    switch (kind) {
    case CHAOS_KILL:
        return alive > CHAOS_FLOOR ? 3 : 0;
    case CHAOS_PAUSE:
        return alive > CHAOS_FLOOR ? 2 : 0;
    case CHAOS_RESUME:
        return count(c, CHAOS_PAUSED) ? 3 : 0;
    case CHAOS_RESTART:
        return count(c, CHAOS_DEAD) ? 3 : 0;
    case CHAOS_ADD:
        return alive < c->first_count && next_number(c) < CHAOS_NODES ? 2 : 0;
    case CHAOS_SLOW_LINK:
        return !c->link_slow && alive >= 2 ? 2 : 0;
    case CHAOS_CLEAR_LINK:
        return c->link_slow ? 2 : 0;
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
    assert(total > 0); /* a link can be slowed or cleared */
    uint64_t n = gw_rng_below(&c->rng, total);
    unsigned kind = 0;
    while (n >= weight(c, (enum chaos_kind)kind))
        n -= weight(c, (enum chaos_kind)kind++);
    return (enum chaos_kind)kind;
}

static void slow_link(struct chaos *c, struct chaos_action *a)
{
    a->node = draw(c, CHAOS_ALIVE);
    do
        a->peer = draw(c, CHAOS_ALIVE);
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
    a->node = from == CHAOS_ABSENT ? next_number(c) : draw(c, from);
    c->nodes[a->node] = to;
}

static void clear_link(struct chaos *c, struct chaos_action *a)
{
    a->node = c->link_from;
    a->peer = c->link_to;
    c->link_slow = false;
}

void chaos_next(struct chaos *chaos, struct chaos_action *action)
{
    if (!chaos->first_count)
        chaos->first_count = count(chaos, CHAOS_ALIVE);
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
    case CHAOS_KINDS:
        return;
    }
}

bool chaos_undo(struct chaos *chaos, struct chaos_action *action)
{
    *action = (struct chaos_action){.at_ns = chaos->at_ns};
    if (chaos->link_slow) {
        action->kind = CHAOS_CLEAR_LINK;
        clear_link(chaos, action);
        return true;
    }
    if (!count(chaos, CHAOS_PAUSED))
        return false;
    action->kind = CHAOS_RESUME;
    change(chaos, action, CHAOS_PAUSED, CHAOS_ALIVE);
    return true;
}
