/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One change of the members (change.h), measured in a simulation of its own:
 *
 *     start ... QUIET_NS ... EVENT_NS -------- decided -- resumed ... end
 *               signs of life          control messages and log entries
 */
#include "ring_simcluster.h"

#include <stdlib.h>

#define QUIET_NS (1000 * MS)
#define EVENT_NS (2000 * MS)

enum { RACK = 8 };

struct change {
    struct change_cost cost;
    struct traffic quiet[NODES_MOST], spent[NODES_MOST];
    uint64_t ring_epoch;     /* of the newest view, */
    struct gw_nodes resumed; /* and its members that have completed an op */
    size_t entries;          /* of the log, counted so far */
};

const char *const change_names[CHANGE_KINDS] = {
    [CHANGE_KILL] = "kill",           [CHANGE_STOP] = "stop",
    [CHANGE_RACK] = "rack",           [CHANGE_JOIN] = "join",
    [CHANGE_JOIN_MANY] = "join-many",
};

/* ---- during the run ---- */

static bool is_sign_of_life(unsigned type)
{
    return type == GW__PROTOCOL_BEAT || type == GW__PROTOCOL_HELLO ||
           type == GW__PROTOCOL_LEASE;
}

static void count(struct traffic traffic[NODES_MOST], unsigned from,
                  unsigned to, size_t bytes)
{
    traffic[from].messages++;
    traffic[from].bytes += bytes;
    traffic[to].messages++;
    traffic[to].bytes += bytes;
}

void change_message(struct simcluster *w, unsigned from, unsigned to,
                    unsigned type, size_t bytes)
{
    uint64_t now_ns = gw__sim_now(w->sim);
    if (is_sign_of_life(type)) {
        if (now_ns >= QUIET_NS && now_ns < EVENT_NS)
            count(w->change->quiet, from, to, bytes);
    } else if (type < SIM_NODE_DATA && now_ns >= EVENT_NS)
        count(w->change->spent, from, to, bytes);
}

static uint64_t since_event(const struct simcluster *w)
{
    return gw__sim_now(w->sim) - EVENT_NS;
}

void change_suspect(struct simcluster *w)
{
    if (w->change && gw__sim_now(w->sim) > EVENT_NS &&
        !w->change->cost.detected_ns)
        w->change->cost.detected_ns = since_event(w);
}

void change_entry(struct simcluster *w)
{
    struct change *change = w->change;
    if (!change)
        return;
    uint64_t ring_epoch = w->consensus.truth->view.ring_epoch;
    bool is_new = ring_epoch != change->ring_epoch;
    for (; change->entries < w->consensus.count; change->entries++)
        if (gw__sim_now(w->sim) >= EVENT_NS)
            change->cost.log_bytes +=
                w->consensus.entries[change->entries].bytes;
    change->ring_epoch = ring_epoch;
    if (!is_new || gw__sim_now(w->sim) < EVENT_NS)
        return;
    change->cost.views++;
    change->cost.decided_ns = since_event(w);
    change->cost.resumed_ns = 0;
    change->resumed = (struct gw_nodes){{0}};
}

void change_completed(struct simcluster *w, unsigned node, uint64_t ring_epoch)
{
    struct change *change = w->change;
    const struct gw__view *view = &w->consensus.truth->view;
    if (!change || !change->cost.decided_ns || change->cost.resumed_ns ||
        ring_epoch != change->ring_epoch)
        return;
    gw__nodes_add(&change->resumed, node);
    if (gw_nodes_count(&change->resumed) == view->ring_count)
        change->cost.resumed_ns = since_event(w);
}

/* ---- the run ---- */

/* The highest numbers: the order of the ring is that of the nodes. */
static struct gw_nodes last_members(const struct change_case *c, unsigned count)
{
    return gw__nodes_minus(gw__nodes_first(c->members),
                           gw__nodes_first(c->members - count));
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The members that die, stop or join. */
static struct gw_nodes concerned(const struct change_case *c)
{
    unsigned half = c->members / 2;
    switch (c->kind) {
    case CHANGE_JOIN:
        return last_members(c, 1);
    case CHANGE_JOIN_MANY:
        return last_members(c, c->members / 4);
    case CHANGE_RACK:
        return gw__nodes_minus(
            gw__nodes_first(half + least(RACK, c->members / 4)),
            gw__nodes_first(half));
    default:
        return gw__nodes_only(half);
    }
}

static bool is_join(const struct change_case *c)
{
    return c->kind == CHANGE_JOIN || c->kind == CHANGE_JOIN_MANY;
}

static void plan_event(const struct change_case *c, struct gw__faults *faults)
{
    enum gw__fault_kind kind = is_join(c)               ? GW__RESTART
                               : c->kind == CHANGE_STOP ? GW__PAUSE
                                                        : GW__CRASH;
    faults->count = 1;
    faults->items[0] = (struct gw__fault){.kind = (uint8_t)kind,
                                          .at_ns = EVENT_NS,
                                          .nodes = concerned(c),
                                          .after = GW__AT_ONCE};
}

static void keep_most(struct traffic *most, const struct traffic *traffic)
{
    if (traffic->bytes > most->bytes)
        *most = *traffic;
}

static void keep_most_beats(double *most, const struct traffic *traffic)
{
    double rate = (double)traffic->messages * 1e9 / (EVENT_NS - QUIET_NS);
    if (rate > *most)
        *most = rate;
}

static void sum_up(const struct simcluster *w, struct change_cost *cost)
{
    const struct change *change = w->change;
    *cost = change->cost;
    for (unsigned node = 0; node < nodes_of(w); node++) {
        const struct traffic *spent = &change->spent[node];
        bool member = is_member(w, node);
        if (member) {
            cost->members.messages += spent->messages;
            cost->members.bytes += spent->bytes;
        }
        if (member || node >= first_controller(w)) {
            keep_most(member ? &cost->busiest_member : &cost->controller,
                      spent);
            keep_most_beats(member ? &cost->member_beats
                                   : &cost->controller_beats,
                            &change->quiet[node]);
        }
    }
}

static enum gw_err run(struct simcluster *w, const struct change_case *c,
                       struct change_cost *cost, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw__trial trial;
    static struct gw__faults faults;
    plan_event(c, &faults);
    simcluster_campaign(w, c->seed, &campaign);
    enum gw_err err =
        gw__campaign_try(&campaign, c->seed, &faults, &trial, why);
    if (err)
        return err;
    if (trial.failure.code)
        return gw_fail(why, trial.failure.code, "%s of %u: %s",
                       change_names[c->kind], c->members, trial.failure.text);
    sum_up(w, cost);
    return GW_OK;
}

enum gw_err change_measure(const struct change_case *c,
                           struct change_cost *cost, struct gw_error *why)
{
    struct simcluster *w = malloc(sizeof *w);
    struct change *change = calloc(1, sizeof *change);
    if (!w || !change) {
        free(w);
        free(change);
        return gw_fail(why, GW_ENOMEM, "a ring of %u members", c->members);
    }
    simcluster_open(w, c->members);
    gw__chosen_plans_init(&w->chosen, NULL, 0);
    w->change = change;
    w->params = (struct simcluster_params){.members = c->members,
                                           .calm = true,
                                           .delay_ns = c->delay_ns,
                                           .for_ns = EVENT_NS + MS};
    if (is_join(c))
        w->params.later = concerned(c);
    enum gw_err err = run(w, c, cost, why);
    gw__chosen_plans_fini(&w->chosen);
    simcluster_close(w);
    free(w);
    free(change);
    return err;
}
