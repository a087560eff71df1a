/* SPDX-License-Identifier: MIT
 *
 * Your policy for stragglers. After each round the server with the clock calls
 * choose(), which says what the next one waits for: kofn:K closes a round when
 * K of its parts are there. man -l man/gradwire-plugin.7, "STRAGGLER", tells
 * what it is given.
 *
 * This one waits for everybody, always.
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
    .summary = "waits for everybody",
    .straggler = &mine,
};
