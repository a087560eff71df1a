/* SPDX-License-Identifier: MIT
 *
 * A placement: each slot, the heaviest first, goes to the server with the least
 * load. A primary answers pulls and pushes; secondaries only store copies.
 *
 *     cc -shared -fPIC -I lib/include -o place.so place.c
 */
#include <gradwire/placement.h>
#include <gradwire/plugin.h>

static double load_of(const struct gw_placement_question *q, unsigned i)
{
    return q->replica == 0 ? q->servers[i].primary_weight
                           : q->servers[i].weight;
}

static unsigned choose(const struct gw_placement_question *q)
{
    unsigned best = 0;
    for (unsigned i = 1; i < q->server_count; i++)
        if (load_of(q, i) < load_of(q, best))
            best = i;
    return best;
}

static const struct gw_placement mine = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLACEMENT,
    .name = "place",
    .summary = "the next slot to the least load",
    .placement = &mine,
};
