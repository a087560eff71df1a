/* SPDX-License-Identifier: MIT
 *
 * A placement: it chooses the server of a slot. This version compares the number
 * of slots of the servers, not their weights.
 *
 *     cc -shared -fPIC -I lib/include -o place.so place.c
 */
#include <gradwire/placement.h>
#include <gradwire/plugin.h>

static unsigned choose(const struct gw_placement_question *q)
{
    unsigned best = 0;
    for (unsigned i = 1; i < q->server_count; i++)
        if (q->servers[i].slots < q->servers[best].slots)
            best = i;
    return best;
}

static const struct gw_placement mine = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLACEMENT,
    .name = "place",
    .summary = "the same number of slots for each server",
    .placement = &mine,
};
