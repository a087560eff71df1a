/* SPDX-License-Identifier: MIT
 *
 * The networks of the samples, their invariants, and the progress that they
 * must have made at the end; see sim_samples.h.
 */
#include "sim_samples.h"

#include <inttypes.h>
#include <string.h>

static const uint64_t ms = 1000000;

static const struct gw__machine_kind *const kinds[] = {
    [SAMPLE_VOTER] = &voter_kind,
    [SAMPLE_VOTER_FORGETS] = &voter_forgets_kind,
    [SAMPLE_VOTER_EARLY] = &voter_early_kind,
    [SAMPLE_BEACON] = &beacon_kind,
    [SAMPLE_BEACON_NAIVE] = &beacon_naive_kind,
};

static void check_leader(struct sample_run *run, struct gw__sim *sim,
                         uint32_t node, uint64_t term)
{
    uint32_t *leader = &run->leaders[term % SAMPLE_TERMS];
    if (*leader && *leader != node + 1)
        gw__sim_fail(sim, "term %" PRIu64 " has two leaders, %u and %u", term,
                     *leader - 1, node);
    *leader = node + 1;
}

static void check_progress(struct sample_run *run, struct gw__sim *sim,
                           uint32_t node, uint64_t progress)
{
    if (progress <= run->followed[node])
        gw__sim_fail(sim, "node %u goes back to start %" PRIu64, node,
                     progress >> 32);
    run->followed[node] = progress;
}

static void on_notify(void *context, struct gw__sim *sim, uint32_t node,
                      const void *data, size_t bytes)
{
    struct sample_run *run = context;
    uint64_t value;
    memcpy(&value, data, bytes);
    run->last_ns = gw__sim_now(sim);
    if (run->sample <= SAMPLE_VOTER_EARLY)
        check_leader(run, sim, node, value);
    else
        check_progress(run, sim, node, value);
}

/* A restarted follower has no state, and may begin anywhere. */
static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct sample_run *run = context;
    (void)sim;
    if (input->kind == GW__START)
        run->followed[node] = 0;
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct sample_run *run = context;
    const struct gw__machine_kind *all[SAMPLE_NODES];
    *run = (struct sample_run){.sample = run->sample};
    for (unsigned i = 0; i < SAMPLE_NODES; i++)
        all[i] = kinds[run->sample];
    return gw__sim_new(all, SAMPLE_NODES,
                       &(struct gw__sim_options){
                           .seed = seed,
                           .link = {.delay_ns = ms / 5, .jitter_ns = ms / 5},
                           .start_spread_ns = ms,
                           .timer_late_ns = ms / 10,
                           .context = context,
                           .on_notify = on_notify,
                           .after_step = after_step,
                       },
                       sim, why);
}

static void check(void *context, struct gw__sim *sim)
{
    struct sample_run *run = context;
    if (run->last_ns < 150 * ms)
        gw__sim_fail(sim, "no progress since the faults have ended");
}

struct gw__campaign sample_campaign(enum sim_sample sample,
                                    struct sample_run *run)
{
    run->sample = sample;
    return (struct gw__campaign){
        .name = kinds[sample]->name,
        .command = "toy --seed ",
        .limit_ns = 200 * ms,
        .context = run,
        .build = build,
        .check = check,
        .faults =
            {
                .nodes = SAMPLE_NODES,
                .end_ns = 100 * ms,
                .most = {[GW__CRASH] = 4,
                         [GW__PAUSE] = 2,
                         [GW__CUT] = 2,
                         [GW__DROP] = 2,
                         [GW__DUP] = 2,
                         [GW__DELAY] = 2,
                         [GW__CLOCK] = 1},
                .for_least_ns = ms / 2,
                .for_most_ns = 40 * ms,
                .heals = true,
                .mortal = GW__ALL_NODES,
                .down_most = SAMPLE_NODES,
                .chance_most = 0.3,
                .delay_most_ns = 10 * ms,
                .ppm_most = 10000,
            },
    };
}
