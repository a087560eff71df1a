/* SPDX-License-Identifier: MIT
 *
 * A placement: who is to have a slot. It looks at how many each server has, and
 * not at what they weigh.
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
    .summary = "as many slots for each",
    .placement = &mine,
};
