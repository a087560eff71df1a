/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One network per seed: its links, its faults, and its required end. With a
 * schedule of the user's nothing is random: a message takes a millisecond, and
 * only the given faults occur.
 */
#include "ps_simcluster.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct ps_simcluster *running;

struct ps_simcluster *ps_simcluster_running(void)
{
    return running;
}

const char *ps_simcluster_name(const struct ps_simcluster *f, unsigned node)
{
    static char names[4][12];
    static unsigned turn;
    char *name = names[turn++ % 4];
    bool controller = node >= first_controller(f), server = is_server(f, node);
    unsigned first = controller ? first_controller(f) : server ? f->workers : 0;
    snprintf(name, sizeof names[0], "%c%u",
             controller ? 'c'
             : server   ? 's'
                        : 'w',
             (node - first) % 1000);
    return name;
}

void ps_simcluster_violation(struct ps_simcluster *f, const char *format, ...)
{
    va_list values;
    if (f->violation[0] || !f->sim)
        return;
    va_start(values, format);
    vsnprintf(f->violation, sizeof f->violation, format, values);
    va_end(values);
}

void ps_simcluster_restart(struct ps_simcluster *f, unsigned node)
{
    lives_again(&f->lives, f->sim, node,
                ps_simcluster_draw(f, 5 * MS, 50 * MS));
}

/* ---- hooks ---- */

static void on_report(void *context, struct gw__sim *sim, uint32_t node,
                      const void *data, size_t bytes)
{
    struct ps_simcluster *f = context;
    (void)sim;
    if (node >= first_controller(f))
        sim_consensus_propose(&f->consensus, node, data, bytes);
}

static void on_entry(void *context)
{
    primaries_entry(context);
}

/* All replicas of the slot are in place and equal. */
static bool is_whole(const struct ps_simcluster *f, unsigned slot)
{
    const struct gw__slot_route *route =
        &f->consensus.truth->routes.slots[slot];
    uint64_t digest = 0;
    if (push_slot_is_lost(f, slot))
        return true;
    if (route->learner != GW__NO_NODE || route->successor != GW__NO_NODE)
        return false;
    for (unsigned i = 0; i < route->count; i++) {
        unsigned node = route->replica[i];
        uint64_t its = gw__sim_up(f->sim, node)
                           ? gw__server_digest(server_at(f, node), slot)
                           : 0;
        if (its == 0 || (i > 0 && its != digest))
            return false;
        digest = its;
    }
    return true;
}

/* The first server or worker that runs and is not a member;
 * PS_SIMCLUSTER_NODES: none. A parked one is cut off permanently and does not
 * count. */
static unsigned who_is_out(const struct ps_simcluster *f)
{
    for (unsigned node = 0; node < first_controller(f); node++)
        if (gw__sim_up(f->sim, node) &&
            f->consensus.truth->members[node].state != GW__ACTIVE &&
            !gw__member_parked(f->members[node]))
            return node;
    return PS_SIMCLUSTER_NODES;
}

static bool is_done(const struct ps_simcluster *f)
{
    if (who_is_out(f) < PS_SIMCLUSTER_NODES)
        return false;
    for (unsigned w = 0; w < f->workers; w++)
        if (!f->finished[w])
            return false;
    for (unsigned slot = 0; slot < f->slots; slot++)
        if (!is_whole(f, slot))
            return false;
    return true;
}

/* Ends the run and checks its results. */
static void finish_ps_simcluster(struct ps_simcluster *f)
{
    f->over = true;
    pushes_check(f);
    for (unsigned node = f->workers; node < first_controller(f); node++)
        server_count(f, node);
    for (unsigned slot = 0; slot < f->slots; slot++)
        f->met.slots_lost += push_slot_is_lost(f, slot);
    if (f->violation[0])
        gw__sim_fail(f->sim, "%s", f->violation);
    gw__sim_end(f->sim);
}

/* A server that crashes or sleeps stops serving, which is checked at once. */
static void on_life(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what)
{
    struct ps_simcluster *f = context;
    (void)sim;
    if (what == GW__CRASH && !f->params.silent && node < first_controller(f))
        ps_simcluster_report_failure(f, node);
    if (is_server(f, node) && (what == GW__CRASH || what == GW__PAUSE))
        primaries_check(f, node);
}

static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct ps_simcluster *f = context;
    uint64_t now_ns = gw__sim_now(sim);
    if (input->kind == GW__START && node >= first_controller(f))
        sim_consensus_started(&f->consensus, node);
    sim_consensus_tick(&f->consensus, now_ns);
    primaries_check(f, node);
    if (ps_simcluster_is_late(f) && now_ns >= f->check_ns) {
        f->check_ns = now_ns + MS;
        if (is_done(f))
            finish_ps_simcluster(f);
    }
}

/* ---- its life ---- */

static void free_cores(struct ps_simcluster *f)
{
    for (unsigned i = 0; i < PS_SIMCLUSTER_SERVERS; i++)
        gw__server_destroy(&f->server_cores[i]);
    for (unsigned i = 0; i < PS_SIMCLUSTER_WORKERS; i++)
        gw__worker_destroy(&f->worker_cores[i]);
}

enum gw_err ps_simcluster_open(struct ps_simcluster *f, struct gw_error *why)
{
    f->consensus.chance = &f->chance;
    f->consensus.context = f;
    f->consensus.on_entry = on_entry;
    f->consensus.on_event = ps_simcluster_report_controller;
    const struct ps_simcluster_params *params = &f->params;
    f->pushes_most = PS_SIMCLUSTER_PUSHES / params->workers;
    if (f->pushes_most > PS_SIMCLUSTER_PUSHES_EACH)
        f->pushes_most = PS_SIMCLUSTER_PUSHES_EACH;
    for (unsigned i = 0; i < params->workers; i++) {
        f->pushes[i] = calloc(f->pushes_most, sizeof *f->pushes[i]);
        if (!f->pushes[i])
            return gw_fail(why, GW_ENOMEM, "the pushes of a worker");
    }
    unsigned nodes = params->workers + params->servers + params->controllers;
    for (unsigned i = 0; i < nodes; i++) {
        f->members[i] = malloc(gw__member_machine.state_bytes);
        if (!f->members[i])
            return gw_fail(why, GW_ENOMEM, "a member");
    }
    return sim_consensus_open(&f->consensus, why);
}

void ps_simcluster_close(struct ps_simcluster *f)
{
    free_cores(f);
    for (unsigned i = 0; i < PS_SIMCLUSTER_WORKERS; i++)
        free(f->pushes[i]);
    for (unsigned i = 0; i < PS_SIMCLUSTER_NODES; i++)
        free(f->members[i]);
    sim_consensus_close(&f->consensus);
}

/* ---- one seed ---- */

static void shape(struct ps_simcluster *f, uint64_t seed)
{
    f->chance.calm = f->params.calm;
    gw_rng_seed(&f->chance.rng, gw_hash("servers", 7, seed));
    f->workers = f->params.workers;
    f->servers = f->params.servers;
    f->controllers = f->params.controllers;
    f->replicas = f->params.replicas;
    f->slots = f->servers <= PS_SIMCLUSTER_FEW ? 8 : 2 * f->servers;
    f->fault_end_ns = f->params.for_ns;
    f->limit_ns = f->fault_end_ns + 20000 * MS;
}

static void begin_ps_simcluster(struct ps_simcluster *f)
{
    free_cores(f);
    f->over = false;
    f->check_ns = 0;
    f->epoch = f->terms = f->reported_epoch = 0;
    f->leader = GW__NODES_MAX;
    f->violation[0] = '\0';
    f->load = (struct gw__slot_load){.uneven = 0};
    f->load_ns = 0;
    memset(&f->lives, 0, sizeof f->lives);
    memset(f->push_count, 0, sizeof f->push_count);
    memset(f->newest, 0, sizeof f->newest);
    memset(f->finished, 0, sizeof f->finished);
    memset(f->primaries, 0, sizeof f->primaries);
    memset(f->serving, 0, sizeof f->serving);
    f->serving_ns = 0;
    memset(f->confirmed_ns, 0, sizeof f->confirmed_ns);
    memset(f->reported_here, 0, sizeof f->reported_here);
    memset(f->reported, 0, sizeof f->reported);
    memset(f->reported_roles, 0, sizeof f->reported_roles);
    running = f;
}

static struct gw__sim_options options_of(struct ps_simcluster *f, uint64_t seed)
{
    struct gw__sim_options options = {
        .seed = seed,
        .link = {.delay_ns = ps_simcluster_draw(f, 50 * US, MS),
                 .jitter_ns = ps_simcluster_draw(f, 0, 2 * MS),
                 .ordered = ps_simcluster_draw(f, 0, 1)},
        .start_spread_ns = ps_simcluster_draw(f, 0, 40 * MS),
        .timer_late_ns = ps_simcluster_draw(f, 0, 1) * MS,
        .died_delay_ns = MS,
        .died_jitter_ns = 2 * MS,
        .died_lost = (double)ps_simcluster_draw(f, 0, 1) / 2,
        .context = f,
        .on_notify = on_report,
        .on_life = on_life,
        .after_step = after_step};
    if (f->params.calm)
        chance_calm(&options, f->params.unordered);
    return options;
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct ps_simcluster *f = context;
    static const struct gw__machine_kind *kinds[PS_SIMCLUSTER_NODES];
    struct gw_nodes all = gw__nodes_first(ps_simcluster_nodes(f));
    shape(f, seed);
    begin_ps_simcluster(f);
    struct gw__sim_options options = options_of(f, seed);
    for (unsigned i = 0; i < ps_simcluster_nodes(f); i++) {
        kinds[i] = i >= first_controller(f) ? controller_kind(&f->consensus)
                   : is_server(f, i)        ? server_kind()
                                            : worker_kind();
        if (!f->params.silent && i < first_controller(f))
            options.observers[i] =
                gw__nodes_minus(all, gw__nodes_first(first_controller(f)));
    }
    enum gw_err err =
        gw__sim_new(kinds, ps_simcluster_nodes(f), &options, sim, why);
    f->sim = f->consensus.sim = *sim;
    f->consensus.first = first_controller(f);
    f->consensus.controllers = f->controllers;
    f->consensus.restless_ns = f->params.calm ? 0 : f->fault_end_ns;
    sim_consensus_begin(&f->consensus);
    return err;
}

/* Reports the waiting nodes, or the replicas that differ. */
static void not_done(struct ps_simcluster *f)
{
    char text[200] = "";
    for (unsigned w = 0; w < f->workers && !text[0]; w++)
        if (!f->finished[w] && f->worker_cores[w])
            gw__worker_describe_wait(f->worker_cores[w],
                                     gw__sim_clock(f->sim, w), text,
                                     sizeof text);
    for (unsigned slot = 0; slot < f->slots && !text[0]; slot++)
        if (!is_whole(f, slot))
            snprintf(text, sizeof text, "the replicas of slot %u differ", slot);
    if (!text[0] && who_is_out(f) < PS_SIMCLUSTER_NODES)
        snprintf(text, sizeof text, "%s is not a member",
                 ps_simcluster_name(f, who_is_out(f)));
    ps_simcluster_violation(f, "not complete at the end: %s", text);
}

static void check_ps_simcluster(void *context, struct gw__sim *sim)
{
    struct ps_simcluster *f = context;
    (void)sim;
    if (f->over)
        return;
    not_done(f);
    finish_ps_simcluster(f);
}

/* At most as many servers are down at a time as the replicas tolerate. */
static struct gw__fault_profile faults_of(const struct ps_simcluster *f)
{
    unsigned nodes = ps_simcluster_nodes(f);
    struct gw__fault_profile faults = {
        .nodes = nodes,
        .end_ns = f->fault_end_ns,
        .for_least_ns = MS,
        .for_most_ns = 500 * MS,
        .heals = true,
        .mortal = gw__nodes_first(nodes),
        .down_most = f->replicas > 1 ? f->replicas - 1 : 1,
        .chance_most = 0.3,
        .delay_most_ns = 120 * MS,
        .ppm_most = 20000};
    faults.most[GW__CRASH] = 3;
    faults.most[GW__PAUSE] = 2;
    faults.most[GW__CUT] = 2;
    faults.most[GW__DROP] = 1;
    faults.most[GW__DUP] = 1;
    faults.most[GW__DELAY] = 1;
    faults.most[GW__CLOCK] = 2;
    return faults;
}

void ps_simcluster_campaign(struct ps_simcluster *f, uint64_t seed,
                            struct gw_sink *sink, struct gw__campaign *campaign)
{
    shape(f, seed);
    f->sink = sink;
    *campaign = (struct gw__campaign){.name = "servers",
                                      .faults = faults_of(f),
                                      .limit_ns = f->limit_ns,
                                      .runs_most = 200,
                                      .context = f,
                                      .build = build,
                                      .check = check_ps_simcluster};
}
