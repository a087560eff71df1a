/* SPDX-License-Identifier: MIT
 *
 * Your policy for stragglers. After each round, the server that leads the clock
 * calls choose(), which returns the mode of the next round: kofn:K closes a round
 * when K of its parts have arrived. man -l man/gradwire-plugin.7, "STRAGGLER",
 * describes its argument.
 *
 * This version always waits for all parts.
 */
#include <gradwire/plugin.h>
#include <gradwire/ps.h>

#include <math.h>

static struct gw_ps_mode choose(const struct gw_straggler_round *round)
{
    struct gw_ps_mode next = {.kind = GW_PS_KOFN, .bound = round->parts};
    return next;
}

static const struct gw_straggler mine = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_STRAGGLER,
    .name = "mine",
    .summary = "waits for all parts",
    .straggler = &mine,
};
