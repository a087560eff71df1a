/* SPDX-License-Identifier: MIT
 *
 * A placement: each slot, the heaviest first, to the server that has least to
 * carry. A primary answers pulls and pushes; the others only follow.
 *
 *     cc -shared -fPIC -I lib/include -o place.so place.c
 */
#include <gradwire/placement.h>
#include <gradwire/plugin.h>

static double carries(const struct gw_placement_question *q, unsigned i)
{
    return q->replica == 0 ? q->servers[i].primary_weight
                           : q->servers[i].weight;
}

static unsigned choose(const struct gw_placement_question *q)
{
    unsigned best = 0;
    for (unsigned i = 1; i < q->server_count; i++)
        if (carries(q, i) < carries(q, best))
            best = i;
    return best;
}

static const struct gw_placement mine = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLACEMENT,
    .name = "place",
    .summary = "the least to carry gets the next",
    .placement = &mine,
};
