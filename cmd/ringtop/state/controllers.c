/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See controllers.h. A recording may contain anything: every number is checked
 * before it is an index.
 */
#include "controllers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void controllers_init(struct controllers *cs)
{
    *cs = (struct controllers){.leader = -1};
    for (unsigned i = 0; i < CONTROLLERS_SHOWN; i++)
        cs->list[i].follows = cs->list[i].voted_for = -1;
}

/* NULL: not the node of a controller. */
static struct controller *controller_of(struct controllers *cs, uint32_t node)
{
    unsigned number = CONTROLLERS_FIRST_NODE - node;
    if (node > CONTROLLERS_FIRST_NODE || number >= CONTROLLERS_SHOWN)
        return NULL;
    struct controller *c = &cs->list[number];
    if (number >= cs->count)
        cs->count = number + 1;
    if (!c->known)
        snprintf(c->state, sizeof c->state, "alive");
    c->known = true;
    return c;
}

static int controller_number(const struct controllers *cs,
                             const struct controller *c)
{
    return c ? (int)(c - cs->list) : -1;
}

static void on_leader(struct controllers *cs, const struct gw_event *e,
                      struct event_log *log)
{
    struct controller *c = controller_of(cs, e->rank);
    if (!c)
        return;
    cs->leader = controller_number(cs, c);
    cs->term = c->term = (uint64_t)e->value;
    cs->elections++;
    for (unsigned i = 0; i < cs->count; i++)
        cs->list[i].follows = cs->leader;
    snprintf(c->state, sizeof c->state, "alive");
    event_log_write(log, e->time_ns, WEIGHT_INFO,
                    "controller %d leads in term %" PRId64, cs->leader,
                    e->value);
}

static void on_vote(struct controllers *cs, const struct gw_event *e,
                    struct event_log *log)
{
    struct controller *c = controller_of(cs, e->rank);
    int whom = controller_number(cs, controller_of(cs, e->peer));
    if (!c || whom < 0)
        return;
    c->voted_for = whom;
    c->voted_in = c->term = (uint64_t)e->value;
    event_log_write(log, e->time_ns, WEIGHT_INFO,
                    "controller %d votes for controller %d in term %" PRId64,
                    controller_number(cs, c), whom, e->value);
}

static void on_end(struct controllers *cs, const struct gw_event *e,
                   struct event_log *log)
{
    struct controller *c = controller_of(cs, e->peer);
    bool led = controller_number(cs, c) == cs->leader;
    snprintf(c->state, sizeof c->state, "dead");
    if (led)
        cs->leader = -1;
    event_log_write(log, e->time_ns, WEIGHT_BAD, "controller %d has ended%s",
                    controller_number(cs, c), led ? ": it led" : "");
}

static void on_lease(const struct gw_event *e, struct event_log *log)
{
    if (e->value == 0)
        event_log_write(log, e->time_ns, WEIGHT_WARN,
                        "node %" PRIu32 " no longer has a lease", e->peer);
}

bool controllers_event(struct controllers *cs, const struct gw_event *e,
                       struct event_log *log)
{
    struct controller *c;
    switch (e->kind) {
    case GW_EV_LEADER:
        on_leader(cs, e, log);
        return true;
    case GW_EV_VOTE:
        on_vote(cs, e, log);
        return true;
    case GW_EV_COMMIT:
        c = controller_of(cs, e->rank);
        if (c)
            c->applied = (uint64_t)e->value;
        return true;
    case GW_EV_LEASE:
        on_lease(e, log);
        return true;
    case GW_EV_ROUTE:
        cs->routes++;
        return true;
    case GW_EV_FAILURE: /* of a process, by its parent */
        if (e->rank != GW_NONE || !controller_of(cs, e->peer))
            return false;
        on_end(cs, e, log);
        return true;
    default:
        return false;
    }
}

static uint64_t figure(const json_t *item, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(item, name));
}

void controllers_status(struct controllers *cs, const json_t *status)
{
    size_t i;
    const json_t *item;
    const json_t *leader = json_object_get(status, "leader");
    if (json_is_integer(leader))
        cs->leader = (int)json_integer_value(leader);
    json_array_foreach(json_object_get(status, "controller_list"), i, item)
    {
        struct controller *c =
            i < CONTROLLERS_SHOWN
                ? controller_of(cs, CONTROLLERS_FIRST_NODE - (uint32_t)i)
                : NULL;
        const char *state = json_string_value(json_object_get(item, "state"));
        if (!c || !state)
            continue;
        snprintf(c->state, sizeof c->state, "%s", state);
        c->reported = true;
        c->follows = (int)json_integer_value(json_object_get(item, "follows"));
        c->term = figure(item, "term");
        c->last = figure(item, "last");
        c->committed = figure(item, "committed");
        c->applied = figure(item, "applied");
        c->hellos = figure(item, "hellos");
        c->leases = figure(item, "leases");
        if (c->term > cs->term)
            cs->term = c->term;
    }
}
