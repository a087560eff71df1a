/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One network per seed: its size, its links and its faults.
 */
#include "ring_simcluster.h"

#include <stdlib.h>

static struct simcluster *running;

struct simcluster *simcluster_running(void)
{
    return running;
}

static void on_entry(void *context)
{
    oracle_log(context);
}

static void on_event(void *context, const struct gw_event *event)
{
    report_controller(context, event);
}

void simcluster_open(struct simcluster *w, unsigned members)
{
    struct gw_error why;
    memset(w, 0, sizeof *w);
    w->consensus.chance = &w->chance;
    w->consensus.context = w;
    w->consensus.on_entry = on_entry;
    w->consensus.on_event = on_event;
    w->completion_room = COMPLETIONS_LEAST;
    if (4 * members > w->completion_room)
        w->completion_room = 4 * members;
    w->completions =
        calloc((size_t)OPS_MOST * w->completion_room, sizeof *w->completions);
    if (!w->completions || sim_consensus_open(&w->consensus, &why))
        abort();
}

void simcluster_close(struct simcluster *w)
{
    free(w->completions);
    plans_fini(&w->planned);
    sim_consensus_close(&w->consensus);
}

void simcluster_restart(struct simcluster *w, unsigned node)
{
    w->met.gone++;
    lives_again(&w->lives, w->sim, node, simcluster_draw(w, 5 * MS, 200 * MS));
}

static void strike(struct simcluster *w, const struct gw__fault *fault)
{
    struct gw_error why;
    if (gw__sim_add_faults(w->sim, fault, 1, &why))
        gw__sim_fail(w->sim, "%s", why.text);
}

/* A fault in the middle of a view change: a member dies, sleeps, or loses all
 * controllers. */
void simcluster_shock(struct simcluster *w)
{
    struct gw_nodes controllers = gw__nodes_minus(
        gw__nodes_first(nodes_of(w)), gw__nodes_first(first_controller(w)));
    unsigned whom = (unsigned)simcluster_draw(w, 0, w->members - 1);
    uint64_t at_ns = gw__sim_now(w->sim) + simcluster_draw(w, 0, 40 * MS);
    static const enum gw__fault_kind kinds[] = {GW__CRASH, GW__PAUSE, GW__CUT,
                                                GW__CUT};
    struct gw__fault fault = {.kind = (uint8_t)kinds[simcluster_draw(w, 0, 3)],
                              .at_ns = at_ns,
                              .for_ns = simcluster_draw(w, MS, 150 * MS),
                              .nodes = gw__nodes_only(whom)};
    if (!w->shocks || at_ns > w->fault_end_ns || simcluster_draw(w, 0, 1))
        return;
    fault.after = GW__AT_ONCE;
    fault.to = fault.nodes;
    if (fault.kind == GW__CUT)
        fault.nodes = controllers;
    strike(w, &fault);
}

/* Kills all older members of those who were just admitted, and now and then one
 * of the others, one after the other, while the state is being copied. */
void simcluster_raid(struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view;
    uint64_t from_op = view->from_op;
    uint64_t now_ns = gw__sim_now(w->sim),
             most_ns = MS << simcluster_draw(w, 0, 5);
    if (!w->raids || now_ns > w->fault_end_ns || simcluster_draw(w, 0, 2))
        return;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__ring_member *m = &view->ring[i];
        struct gw__fault fault = {.kind = GW__CRASH,
                                  .at_ns =
                                      now_ns + simcluster_draw(w, 0, most_ns),
                                  .for_ns = simcluster_draw(w, MS, 150 * MS),
                                  .nodes = gw__nodes_only(m->node)};
        bool is_earlier = m->from_op < from_op;
        if (is_earlier || !simcluster_draw(w, 0, 3))
            strike(w, &fault);
    }
}

/* ---- hooks ---- */

static void on_report(void *context, struct gw__sim *sim, uint32_t node,
                      const void *data, size_t bytes)
{
    struct simcluster *w = context;
    (void)sim;
    sim_consensus_propose(&w->consensus, node, data, bytes);
}

static void on_send(void *context, struct gw__sim *sim, uint32_t from,
                    uint32_t to, const void *data, size_t bytes)
{
    struct simcluster *w = context;
    const uint8_t *type = data;
    (void)sim;
    if (w->change && bytes)
        change_message(w, from, to, *type, bytes);
}

static void on_life(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what)
{
    struct simcluster *w = context;
    (void)sim;
    if (!w->over && is_member(w, node))
        measure_life(w, node, what);
}

/* The supervisor learns that a process has ended. */
static void receive_death(struct simcluster *w, const struct gw__input *input)
{
    struct gw__id who = w->consensus.truth->members[input->from].incarnation;
    if (who.low != input->incarnation)
        return;
    measure_suspect(w, input->from, who, true);
    report_missed(w, GW_NONE, input->from, GW_BY_EXIT);
}

/* Any permutation of some of the members. */
static void draw_order(struct simcluster *w)
{
    struct gw__order *order = &w->order;
    order->count = 0;
    for (unsigned node = 0; node < w->members; node++) {
        unsigned at = (unsigned)gw_rng_below(&w->order_rng, order->count + 1);
        if (gw_rng_below(&w->order_rng, 4) == 0)
            continue;
        memmove(order->nodes + at + 1, order->nodes + at,
                (order->count - at) * sizeof *order->nodes);
        order->nodes[at] = (uint16_t)node;
        order->count++;
    }
}

static void update_order(struct simcluster *w, uint64_t now_ns)
{
    if (!w->order_changes || now_ns < w->order_ns || now_ns > w->fault_end_ns)
        return;
    draw_order(w);
    w->order_ns = now_ns + 20 * MS + gw_rng_below(&w->order_rng, 300 * MS);
}

static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct simcluster *w = context;
    uint64_t now_ns = gw__sim_now(sim);
    if (input->kind == GW__START && node >= first_controller(w))
        sim_consensus_started(&w->consensus, node);
    if (input->kind == GW__DIED)
        receive_death(w, input);
    sim_consensus_tick(&w->consensus, now_ns);
    update_order(w, now_ns);
    if (now_ns < w->check_ns)
        return;
    w->check_ns = now_ns + 5 * MS;
    if (now_ns <= w->fault_end_ns || !oracle_is_done(w))
        return;
    w->over = true; /* the ring continues, perhaps with a new state */
    gw__sim_end(sim);
}

/* ---- one seed ---- */

/* The time of six ops of a large ring, of two steps per member. */
static uint64_t slow_calm_ns(const struct simcluster *w)
{
    return 6 * 2 * w->members * w->params.delay_ns;
}

/* Only the given faults occur. */
static void calm(struct simcluster *w)
{
    w->controllers = w->consensus.rafts ? 3 : 1;
    if (!w->params.members)
        w->members = CALM_MEMBERS;
    w->first = w->members - gw_nodes_count(&w->params.later);
    w->shocks = w->raids = w->eager = w->all_join = w->order_changes = false;
    w->fault_end_ns = w->params.for_ns;
    w->limit_ns = w->fault_end_ns + 60000 * MS + slow_calm_ns(w);
}

/* The time that many members need for the ops of the end: two steps per member
 * and op, and a step takes up to 128 ms where messages have a long tail. */
static uint64_t slow_ns(const struct simcluster *w)
{
    enum { OPS = 6, STEP_MS = 2 * 130 };
    return w->members > 8 ? w->members * OPS * STEP_MS * MS : 0;
}

/* Draws the parameters that the faults depend on. */
static void shape(struct simcluster *w, uint64_t seed)
{
    gw_rng_seed(&w->chance.rng, gw_hash("ring", 4, seed));
    w->chance.calm = w->params.calm;
    w->seed = seed;
    w->controllers = simcluster_draw(w, 0, 2) ? 1 : 3;
    w->members = (unsigned)simcluster_draw(w, 2, DRAWN_MOST);
    if (w->members > 4 && simcluster_draw(w, 0, 1))
        w->members -= 2; /* small clusters are faster, and as hard */
    if (w->params.members)
        w->members = w->params.members;
    w->first = (unsigned)simcluster_draw(w, 1, w->members);
    w->fault_end_ns = 800 * MS;
    w->limit_ns = 8000 * MS + slow_ns(w);
    w->all_join = simcluster_draw(w, 0, 1);
    w->shocks = simcluster_draw(w, 0, 1);
    w->raids = simcluster_draw(w, 0, 2) == 0;
    memset(&w->lives, 0, sizeof w->lives);
    w->eager = simcluster_draw(w, 0, 2) == 0;
    w->over = false;
    w->check_ns = 0;
    gw_rng_seed(&w->order_rng, gw_hash("order", 5, seed));
    /* Without the epoch check, a sum of another order stops an op, which would
     * hide the purpose of the check: that no excluded member counts. */
    w->order_changes = gw_rng_below(&w->order_rng, 2) && !w->any_epoch;
    w->order = (struct gw__order){0};
    w->order_ns = 150 * MS;
    if (w->params.calm)
        calm(w);
}

/* In some rounds the network between members has a long tail: a repeated
 * message arrives soon, and the first copies long afterwards, in other views.
 */
static void set_tails(struct simcluster *w,
                      const struct gw__sim_link_profile *profile)
{
    struct gw__sim_link_profile slow = *profile;
    slow.jitter_ns = (2 * MS) << simcluster_draw(w, 0, 6);
    slow.ordered = false;
    if (simcluster_draw(w, 0, 1))
        return;
    for (unsigned from = 0; from < w->members; from++)
        for (unsigned to = 0; to < w->members; to++)
            if (from != to)
                gw__sim_set_link(w->sim, from, to, &slow);
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct simcluster *w = context;
    static const struct gw__machine_kind *kinds[NODES_MOST];
    shape(w, seed);
    struct gw__sim_options options = {
        .seed = seed,
        .link = {.delay_ns = simcluster_draw(w, 50 * US, 1 * MS),
                 .jitter_ns = simcluster_draw(w, 0, 2 * MS),
                 .ordered = simcluster_draw(w, 0, 1)},
        .start_spread_ns = simcluster_draw(w, 0, 40 * MS),
        .timer_late_ns = simcluster_draw(w, 0, 1) * MS,
        .mail_survives = simcluster_draw(w, 0, 3) == 0,
        .died_delay_ns = MS,
        .died_jitter_ns = 2 * MS,
        .died_lost = (double)simcluster_draw(w, 0, 1) / 2,
        .context = w,
        .on_notify = on_report,
        .on_life = on_life,
        .on_send = on_send,
        .after_step = after_step};
    if (w->params.calm)
        chance_calm(&options, w->params.unordered);
    if (w->params.calm && w->params.delay_ns)
        options.link.delay_ns = w->params.delay_ns;
    options.nodes_down = w->params.later;
    if (w->params.silent)
        options.died_lost = 1;
    unsigned nodes = nodes_of(w);
    for (unsigned i = 0; i < nodes; i++) {
        kinds[i] = i < first_controller(w) ? member_kind()
                                           : controller_kind(&w->consensus);
        if (is_member(w, i))
            options.observers[i] = supervisors(w);
    }
    running = w;
    enum gw_err err = gw__sim_new(kinds, nodes, &options, sim, why);
    w->sim = *sim;
    w->consensus.sim = *sim;
    w->consensus.first = first_controller(w);
    w->consensus.controllers = w->controllers;
    w->consensus.restless_ns = w->fault_end_ns;
    sim_consensus_begin(&w->consensus);
    oracle_begin(w);
    measure_begin(w);
    if (!err && !w->params.calm)
        set_tails(w, &options.link);
    return err;
}

static void check_seed(void *context, struct gw__sim *sim)
{
    struct simcluster *w = context;
    (void)sim;
    w->met.seeds++;
    if (!w->over)
        oracle_not_done(w);
}

/* A seed's faults are of one of a few kinds: deaths of members, a bad network,
 * or both. */
static struct gw__fault_profile faults_of(const struct simcluster *w)
{
    unsigned nodes = nodes_of(w);
    struct gw__fault_profile faults = {
        .nodes = nodes,
        .end_ns = w->fault_end_ns,
        .for_least_ns = 100 * US,
        .for_most_ns = 400 * MS,
        .heals = true,
        .mortal = gw__nodes_minus(gw__nodes_first(nodes), supervisors(w)),
        .down_most = 3,
        .chance_most = 0.3,
        .delay_most_ns = 120 * MS,
        .ppm_most = 20000};
    faults.most[GW__CRASH] = 4;
    faults.most[GW__PAUSE] = 2;
    faults.most[GW__CUT] = 3;
    faults.most[GW__DROP] = 2;
    faults.most[GW__DUP] = 2;
    faults.most[GW__DELAY] = 2;
    faults.most[GW__CLOCK] = 2;
    return faults;
}

void simcluster_campaign(struct simcluster *w, uint64_t seed,
                         struct gw__campaign *campaign)
{
    shape(w, seed);
    *campaign = (struct gw__campaign){.name = "ring",
                                      .faults = faults_of(w),
                                      .limit_ns = w->limit_ns,
                                      .runs_most = 300,
                                      .context = w,
                                      .build = build,
                                      .check = check_seed};
}
