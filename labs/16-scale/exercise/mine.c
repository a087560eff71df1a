/* SPDX-License-Identifier: MIT
 *
 * An all-reduce for a cluster of racks. This version is a ring: right for any
 * number of ranks, few bytes, and many rounds. args->group is the number of ranks
 * per rack, or 0 if it is unknown; rank r is in rack r / group.
 *
 *     cc -shared -fPIC -I lib/include -o lab-work/16/mine.so lab-work/16/mine.c
 *
 * man -l man/gradwire-plugin.7 and man/gradwire-plan.3
 */
#include <gradwire/gradwire.h>

static bool valid(unsigned ranks)
{
    return ranks > 0;
}

/* The number of chunks of the buffer. */
static unsigned chunks(const struct gw_algo_args *args)
{
    return args->ranks;
}

/* One round: each rank sends the chunk with its own number less `lag` to the next
 * rank. */
static void pass(struct gw_builder *b, unsigned ranks, unsigned lag,
                 enum gw_action action)
{
    gw_builder_step(b);
    for (unsigned r = 0; r < ranks; r++)
        gw_builder_add(b, r, (r + 1) % ranks, (r + ranks - lag) % ranks,
                       action);
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    for (unsigned lag = 1; lag < args->ranks; lag++)
        pass(b, args->ranks, lag, GW_ADD);
    for (unsigned lag = 0; lag + 1 < args->ranks; lag++)
        pass(b, args->ranks, lag, GW_REPLACE);
}

static const struct gw_algo mine = {
    .name = "mine",
    .collective = GW_ALLREDUCE,
    .valid = valid,
    .chunks = chunks,
    .emit = emit,
};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLAN,
    .name = "mine",
    .summary = "all-reduce around a ring",
    .plan = &mine,
};
