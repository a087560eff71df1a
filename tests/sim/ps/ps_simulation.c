/* SPDX-License-Identifier: MIT
 *
 * One network per seed: its size, mode and links, and its faults.
 */
#include "ps_simulation.h"

#include <stdio.h>

static struct ps_simulation *running;

struct ps_simulation *simcluster_running(void)
{
    return running;
}

static void free_cores(struct ps_simulation *w)
{
    for (unsigned i = 0; i < SERVERS_MOST; i++)
        if (w->server_cores[i])
            gw__server_destroy(&w->server_cores[i]);
    for (unsigned i = 0; i < WORKERS_MOST; i++)
        if (w->worker_cores[i])
            gw__worker_destroy(&w->worker_cores[i]);
}

void simcluster_open(struct ps_simulation *w)
{
    memset(w, 0, sizeof *w);
}

void simcluster_close(struct ps_simulation *w)
{
    free_cores(w);
}

static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct ps_simulation *w = context;
    uint64_t now_ns = gw__sim_now(sim);
    (void)node;
    (void)input;
    if (now_ns < w->check_ns)
        return;
    w->check_ns = now_ns + 5 * MS;
    if (!w->lost && (!is_late(w, now_ns) || !oracle_is_done(w)))
        return;
    w->over = true; /* done, or data is lost */
    gw__sim_end(sim);
}

/* ---- one seed ---- */

static void shape(struct ps_simulation *w, uint64_t seed)
{
    static const struct gw_ps_mode modes[] = {{.kind = GW_PS_BSP},
                                              {.kind = GW_PS_SSP},
                                              {.kind = GW_PS_SSP, .bound = 2},
                                              {.kind = GW_PS_ASP},
                                              {.kind = GW_PS_KOFN, .bound = 2}};
    gw_rng_seed(&w->chance.rng, gw_hash("ps", 2, seed));
    w->servers = (unsigned)draw(w, 1, SERVERS_MOST);
    w->workers = (unsigned)draw(w, 1, WORKERS_MOST);
    w->replicas = (unsigned)draw(w, 1, 3);
    w->mode = modes[draw(w, 0, 4)];
    w->mode.drop = gw_hash("drop", 4, seed) % 4 == 0;
    w->fault_end_ns = 900 * MS;
    w->limit_ns = 12000 * MS;
    w->over = w->lost = w->items_read = false;
    w->check_ns = 0;
    memset(w->counters, 0, sizeof w->counters);
    memset(w->finished, 0, sizeof w->finished);
}

/* In some seeds a server and a worker are together cut off from the consensus
 * node: the server must stop serving in time, since that worker would believe
 * it. */
static enum gw_err add_island(struct ps_simulation *w, struct gw_error *why)
{
    uint64_t server = draw(w, 1, w->servers);
    uint64_t worker = w->servers + draw(w, 1, w->workers);
    struct gw__fault island = {.kind = GW__CUT,
                               .at_ns = draw(w, 100 * MS, 500 * MS),
                               .for_ns = draw(w, 300 * MS, 400 * MS),
                               .nodes = gw__nodes_only(CONSENSUS),
                               .both_ways = true};
    gw__nodes_add(&island.to, (unsigned)server);
    gw__nodes_add(&island.to, (unsigned)worker);
    return draw(w, 0, 2) ? GW_OK : gw__sim_add_faults(w->sim, &island, 1, why);
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct ps_simulation *w = context;
    static const struct gw__machine_kind *kinds[NODES_MOST];
    shape(w, seed);
    free_cores(w);
    struct gw__sim_options options = {
        .seed = seed,
        .link = {.delay_ns = draw(w, 20 * US, 500 * US),
                 .jitter_ns = draw(w, 0, 2 * MS),
                 .ordered = draw(w, 0, 1)},
        .start_spread_ns = draw(w, 0, 40 * MS),
        .timer_late_ns = draw(w, 0, 1) * MS,
        .died_delay_ns = MS,
        .died_jitter_ns = 2 * MS,
        .died_lost = (double)draw(w, 0, 1) / 2,
        .context = w,
        .after_step = after_step};
    unsigned nodes = 1 + w->servers + w->workers;
    kinds[CONSENSUS] = consensus_kind();
    for (unsigned i = 1; i < nodes; i++) {
        kinds[i] = is_server(w, i) ? server_kind() : worker_kind();
        options.observers[i] = gw__nodes_only(CONSENSUS);
    }
    running = w;
    enum gw_err err = gw__sim_new(kinds, nodes, &options, sim, why);
    w->sim = *sim;
    return err ? err : add_island(w, why);
}

static void check(void *context, struct gw__sim *sim)
{
    struct ps_simulation *w = context;
    char text[200] = "";
    w->totals.seeds++;
    w->totals.lost += w->lost;
    if (w->over)
        return;
    for (unsigned i = 0; i < w->workers && !text[0]; i++)
        if (!w->finished[i] && w->worker_cores[i])
            gw__worker_describe_wait(w->worker_cores[i], gw__sim_now(sim), text,
                                     sizeof text);
    gw__sim_fail(sim, "not done at the end: %s%s%s",
                 w->items_read ? "" : "items were not read; ",
                 consensus_is_whole(w) ? "" : "slots are on the move; ", text);
}

/* Servers crash in some seeds, the network is bad in others, or both. */
static struct gw__fault_profile faults_of(const struct ps_simulation *w)
{
    unsigned nodes = 1 + w->servers + w->workers;
    struct gw__fault_profile faults = {
        .nodes = nodes,
        .end_ns = w->fault_end_ns,
        .for_least_ns = 100 * US,
        .for_most_ns = 500 * MS,
        .heals = true,
        .mortal = gw__nodes_minus(gw__nodes_first(nodes), gw__nodes_only(0)),
        .down_most = w->replicas > 1 ? w->replicas - 1 : 1,
        .chance_most = 0.3,
        .delay_most_ns = 120 * MS,
        .ppm_most = 20000};
    if (w->replicas == 1) /* without replicas a death loses data: not useful */
        for (unsigned n = 1; n <= w->servers; n++)
            gw__nodes_remove(&faults.mortal, n);
    faults.most[GW__CRASH] = 4;
    faults.most[GW__PAUSE] = 2;
    faults.most[GW__CUT] = 2;
    faults.most[GW__DROP] = 2;
    faults.most[GW__DUP] = 2;
    faults.most[GW__DELAY] = 2;
    faults.most[GW__CLOCK] = 2;
    return faults;
}

void simcluster_campaign(struct ps_simulation *w, uint64_t seed,
                         struct gw__campaign *campaign)
{
    shape(w, seed);
    *campaign = (struct gw__campaign){.name = "ps",
                                      .faults = faults_of(w),
                                      .limit_ns = w->limit_ns,
                                      .runs_most = 300,
                                      .context = w,
                                      .build = build,
                                      .check = check};
}
