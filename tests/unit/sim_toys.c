/* SPDX-License-Identifier: MIT
 *
 * The networks of the toys, their invariants, and the progress that they must
 * have made at the end; see sim_toys.h.
 */
#include "sim_toys.h"

#include <inttypes.h>
#include <string.h>

static const uint64_t ms = 1000000;

static const struct gw__machine_kind *const kinds[] = {
    [TOY_VOTER] = &voter_kind,
    [TOY_VOTER_FORGETS] = &voter_forgets_kind,
    [TOY_VOTER_HASTY] = &voter_hasty_kind,
    [TOY_BEACON] = &beacon_kind,
    [TOY_BEACON_NAIVE] = &beacon_naive_kind,
};

static void check_leader(struct toy_run *run, struct gw__sim *sim,
                         uint32_t node, uint64_t term)
{
    uint32_t *leader = &run->leaders[term % TOY_TERMS];
    if (*leader && *leader != node + 1)
        gw__sim_fail(sim, "term %" PRIu64 " has two leaders, %u and %u", term,
                     *leader - 1, node);
    *leader = node + 1;
}

static void check_place(struct toy_run *run, struct gw__sim *sim, uint32_t node,
                        uint64_t place)
{
    if (place <= run->followed[node])
        gw__sim_fail(sim, "node %u goes back to start %" PRIu64, node,
                     place >> 32);
    run->followed[node] = place;
}

static void on_tell(void *context, struct gw__sim *sim, uint32_t node,
                    const void *data, size_t bytes)
{
    struct toy_run *run = context;
    uint64_t value;
    memcpy(&value, data, bytes);
    run->last_ns = gw__sim_now(sim);
    if (run->toy <= TOY_VOTER_HASTY)
        check_leader(run, sim, node, value);
    else
        check_place(run, sim, node, value);
}

/* A restarted follower has no state, and may begin anywhere. */
static void after_step(void *context, struct gw__sim *sim, uint32_t node,
                       const struct gw__input *input)
{
    struct toy_run *run = context;
    (void)sim;
    if (input->kind == GW__START)
        run->followed[node] = 0;
}

static enum gw_err build(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why)
{
    struct toy_run *run = context;
    const struct gw__machine_kind *all[TOY_NODES];
    *run = (struct toy_run){.toy = run->toy};
    for (unsigned i = 0; i < TOY_NODES; i++)
        all[i] = kinds[run->toy];
    return gw__sim_new(all, TOY_NODES,
                       &(struct gw__sim_options){
                           .seed = seed,
                           .link = {.delay_ns = ms / 5, .jitter_ns = ms / 5},
                           .start_spread_ns = ms,
                           .timer_late_ns = ms / 10,
                           .context = context,
                           .on_notify = on_tell,
                           .after_step = after_step,
                       },
                       sim, why);
}

static void check(void *context, struct gw__sim *sim)
{
    struct toy_run *run = context;
    if (run->last_ns < 150 * ms)
        gw__sim_fail(sim, "no progress since the faults have ended");
}

struct gw__campaign toy_campaign(enum toy toy, struct toy_run *run)
{
    run->toy = toy;
    return (struct gw__campaign){
        .name = kinds[toy]->name,
        .command = "toy --seed ",
        .limit_ns = 200 * ms,
        .context = run,
        .build = build,
        .check = check,
        .faults =
            {
                .nodes = TOY_NODES,
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
                .down_most = TOY_NODES,
                .chance_most = 0.3,
                .delay_most_ns = 10 * ms,
                .ppm_most = 10000,
            },
    };
}
