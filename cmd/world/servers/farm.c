/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One network per seed: its links, its faults, and its required end. With a
 * schedule of the user's nothing is random: a message takes a millisecond, and
 * only the given faults occur.
 */
#include "farm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct farm *running;

struct farm *farm_running(void)
{
    return running;
}

const char *farm_name(const struct farm *f, unsigned node)
{
    static char names[4][8];
    static unsigned turn;
    char *name = names[turn++ % 4];
    bool controller = node >= first_controller(f), server = is_server(f, node);
    unsigned first = controller ? first_controller(f) : server ? f->workers : 0;
    snprintf(name, sizeof names[0], "%c%u",
             controller ? 'c'
             : server   ? 's'
                        : 'w',
             (node - first) % 100);
    return name;
}

void farm_violation(struct farm *f, const char *format, ...)
{
    va_list values;
    if (f->violation[0] || !f->sim)
        return;
    va_start(values, format);
    vsnprintf(f->violation, sizeof f->violation, format, values);
    va_end(values);
}

void farm_restart(struct farm *f, unsigned node)
{
    lives_again(&f->lives, f->sim, node, farm_draw(f, 5 * MS, 50 * MS));
}

/* ---- hooks ---- */

static void on_tell(void *context, struct gw__sim *sim, uint32_t node,
                    const void *data, size_t bytes)
{
    struct farm *f = context;
    (void)sim;
    if (node >= first_controller(f))
        agreed_propose(&f->agreed, node, data, bytes);
}

static void on_entry(void *context)
{
    serving_entry(context);
}

/* All replicas of the slot are in place and equal. */
static bool is_whole(const struct farm *f, unsigned slot)
{
    const struct gw__slot_route *route = &f->agreed.truth->routes.slots[slot];
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

/* The first server or worker that runs and is not a member; FARM_NODES: none. A
 * parked one is cut off permanently and does not count. */
static unsigned who_is_out(const struct farm *f)
{
    for (unsigned node = 0; node < first_controller(f); node++)
        if (gw__sim_up(f->sim, node) &&
            f->agreed.truth->members[node].state != GW__ACTIVE &&
            !gw__member_parked(f->members[node]))
            return node;
    return FARM_NODES;
}

static bool is_done(const struct farm *f)
{
    if (who_is_out(f) < FARM_NODES)
        return false;
    for (unsigned w = 0; w < f->workers; w++)
        if (!f->finished[w])
            return false;
    for (unsigned slot = 0; slot < FARM_SLOTS; slot++)
        if (!is_whole(f, slot))
            return false;
    return true;
}

/* Ends the run and checks its results. */
static void finish_farm(struct farm *f)
{
    f->over = true;
    pushes_judge(f);
    for (unsigned node = f->workers; node < first_controller(f); node++)
        server_count(f, node);
    for (unsigned slot = 0; slot < FARM_SLOTS; slot++)
        f->met.slots_lost += push_slot_is_lost(f, slot);
    if (f->violation[0])
        gw__sim_fail(f->sim, "%s", f->violation);
    gw__sim_end(f->sim);
}

/* A server that crashes or sleeps stops serving, which is checked at once. */
static void on_life(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what)
{
    struct farm *f = context;
    (void)sim;
    if (what == GW__CRASH && !f->asked.silent && node < first_controller(f))
        farm_tell_failure(f, node);
    if (is_server(f, node) && (what == GW__CRASH || what == GW__PAUSE))
        serving_look(f);
}

static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct farm *f = context;
    uint64_t now_ns = gw__sim_now(sim);
    if (input->kind == GW__START && node >= first_controller(f))
        agreed_started(&f->agreed, node);
    agreed_tick(&f->agreed, now_ns);
    serving_look(f);
    if (farm_is_late(f) && now_ns >= f->look_ns) {
        f->look_ns = now_ns + MS;
        if (is_done(f))
            finish_farm(f);
    }
}

/* ---- its life ---- */

static void free_cores(struct farm *f)
{
    for (unsigned i = 0; i < FARM_SERVERS; i++)
        gw__server_destroy(&f->server_cores[i]);
    for (unsigned i = 0; i < FARM_WORKERS; i++)
        gw__worker_destroy(&f->worker_cores[i]);
}

enum gw_err farm_open(struct farm *f, struct gw_error *why)
{
    f->agreed.chance = &f->chance;
    f->agreed.context = f;
    f->agreed.on_entry = on_entry;
    f->agreed.on_event = farm_tell_controller;
    for (unsigned i = 0; i < FARM_NODES; i++) {
        f->members[i] = malloc(gw__member_machine.state_bytes);
        if (!f->members[i])
            return gw_fail(why, GW_ENOMEM, "a member");
    }
    return agreed_open(&f->agreed, why);
}

void farm_close(struct farm *f)
{
    free_cores(f);
    for (unsigned i = 0; i < FARM_NODES; i++)
        free(f->members[i]);
    agreed_close(&f->agreed);
}

/* ---- one seed ---- */

static void shape(struct farm *f, uint64_t seed)
{
    f->chance.calm = f->asked.calm;
    gw_rng_seed(&f->chance.rng, gw_hash("servers", 7, seed));
    f->workers = f->asked.workers;
    f->servers = f->asked.servers;
    f->controllers = f->asked.controllers;
    f->replicas = f->asked.replicas;
    f->fault_end_ns = f->asked.for_ns;
    f->limit_ns = f->fault_end_ns + 20000 * MS;
}

static void begin_farm(struct farm *f)
{
    free_cores(f);
    f->over = false;
    f->look_ns = 0;
    f->epoch = f->terms = f->told_epoch = 0;
    f->leader = GW__NODES_MAX;
    f->violation[0] = '\0';
    f->load = (struct gw__slot_load){.uneven = 0};
    f->load_ns = 0;
    memset(&f->lives, 0, sizeof f->lives);
    memset(f->push_count, 0, sizeof f->push_count);
    memset(f->newest, 0, sizeof f->newest);
    memset(f->finished, 0, sizeof f->finished);
    memset(f->serving, 0, sizeof f->serving);
    memset(f->convicted_ns, 0, sizeof f->convicted_ns);
    memset(f->told_here, 0, sizeof f->told_here);
    memset(f->told, 0, sizeof f->told);
    memset(f->told_roles, 0, sizeof f->told_roles);
    running = f;
}

static struct gw__sim_options options_of(struct farm *f, uint64_t seed)
{
    struct gw__sim_options options = {
        .seed = seed,
        .link = {.delay_ns = farm_draw(f, 50 * US, MS),
                 .jitter_ns = farm_draw(f, 0, 2 * MS),
                 .ordered = farm_draw(f, 0, 1)},
        .start_spread_ns = farm_draw(f, 0, 40 * MS),
        .timer_late_ns = farm_draw(f, 0, 1) * MS,
        .died_delay_ns = MS,
        .died_jitter_ns = 2 * MS,
        .died_lost = (double)farm_draw(f, 0, 1) / 2,
        .context = f,
        .on_notify = on_tell,
        .on_life = on_life,
        .after_step = after_step};
    if (f->asked.calm)
        chance_calm(&options, f->asked.unordered);
    return options;
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct farm *f = context;
    static const struct gw__machine_kind *kinds[FARM_NODES];
    uint64_t all = gw__first_nodes(farm_nodes(f));
    shape(f, seed);
    begin_farm(f);
    struct gw__sim_options options = options_of(f, seed);
    for (unsigned i = 0; i < farm_nodes(f); i++) {
        kinds[i] = i >= first_controller(f) ? controller_kind(&f->agreed)
                   : is_server(f, i)        ? server_kind()
                                            : worker_kind();
        if (!f->asked.silent && i < first_controller(f))
            options.observers[i] = all & ~gw__first_nodes(first_controller(f));
    }
    enum gw_err err = gw__sim_new(kinds, farm_nodes(f), &options, sim, why);
    f->sim = f->agreed.sim = *sim;
    f->agreed.first = first_controller(f);
    f->agreed.controllers = f->controllers;
    f->agreed.restless_ns = f->asked.calm ? 0 : f->fault_end_ns;
    agreed_begin(&f->agreed);
    return err;
}

/* Reports the waiting nodes, or the replicas that differ. */
static void not_done(struct farm *f)
{
    char text[200] = "";
    for (unsigned w = 0; w < f->workers && !text[0]; w++)
        if (!f->finished[w] && f->worker_cores[w])
            gw__worker_waits_for(f->worker_cores[w], gw__sim_clock(f->sim, w),
                                 text, sizeof text);
    for (unsigned slot = 0; slot < FARM_SLOTS && !text[0]; slot++)
        if (!is_whole(f, slot))
            snprintf(text, sizeof text, "the replicas of slot %u differ", slot);
    if (!text[0] && who_is_out(f) < FARM_NODES)
        snprintf(text, sizeof text, "%s is not a member",
                 farm_name(f, who_is_out(f)));
    farm_violation(f, "not complete at the end: %s", text);
}

static void check_farm(void *context, struct gw__sim *sim)
{
    struct farm *f = context;
    (void)sim;
    if (f->over)
        return;
    not_done(f);
    finish_farm(f);
}

/* At most as many servers are down at a time as the replicas tolerate. */
static struct gw__fault_profile faults_of(const struct farm *f)
{
    unsigned nodes = farm_nodes(f);
    struct gw__fault_profile faults = {
        .nodes = nodes,
        .end_ns = f->fault_end_ns,
        .for_least_ns = MS,
        .for_most_ns = 500 * MS,
        .heals = true,
        .mortal = gw__first_nodes(nodes),
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

void farm_campaign(struct farm *f, uint64_t seed, struct gw_sink *sink,
                   struct gw__campaign *campaign)
{
    shape(f, seed);
    f->sink = sink;
    *campaign = (struct gw__campaign){.name = "servers",
                                      .faults = faults_of(f),
                                      .limit_ns = f->limit_ns,
                                      .runs_most = 200,
                                      .context = f,
                                      .build = build,
                                      .check = check_farm};
}
