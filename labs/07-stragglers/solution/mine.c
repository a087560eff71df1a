/* SPDX-License-Identifier: MIT
 *
 * Chooses the K with the most progress per second, from the time of each
 * worker's newest item. Waiting for K parts takes as long as the K-th fastest
 * worker. The progress of a round with K of n parts is gain() (explain.md).
 */
#include <gradwire/plugin.h>
#include <gradwire/ps.h>

#include <math.h>

#define RATE     1.1 /* learning rate */
#define FEATURES 64
#define BATCH    128 /* rows, in all parts */

/* The fall of the logarithm of the loss in a round. */
static double gain(double parts_share)
{
    double rows = BATCH * parts_share;
    return -log(1 - 2 * RATE + RATE * RATE * (1 + (FEATURES + 1) / rows));
}

/* The time in which k workers are done: the k-th smallest. */
static double time_of(const struct gw_straggler_round *round, unsigned k)
{
    double time = INFINITY;
    for (unsigned i = 0; i < round->workers; i++) {
        unsigned in_time = 0;
        for (unsigned j = 0; j < round->workers; j++)
            in_time += round->durations[j] <= round->durations[i];
        if (in_time >= k && round->durations[i] < time)
            time = round->durations[i];
    }
    return time;
}

static struct gw_ps_mode choose(const struct gw_straggler_round *round)
{
    struct gw_ps_mode best = {.kind = GW_PS_KOFN, .bound = round->parts};
    double most = 0;
    for (unsigned k = 1; k <= round->parts; k++) {
        double value = gain((double)k / round->parts) / time_of(round, k);
        if (value > most) {
            most = value;
            best.bound = k;
        }
    }
    return best;
}

static const struct gw_straggler mine = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_STRAGGLER,
    .name = "mine",
    .summary = "the K with the most progress per second",
    .straggler = &mine,
};
