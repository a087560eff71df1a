/* SPDX-License-Identifier: MIT
 *
 * A placement: no two replicas of a slot are in one rack, as long as there is
 * another rack; in a rack the server with the least load is chosen. Servers are
 * assigned to RACKS racks in turn, so a rack is the remainder of a server's
 * number.
 *
 *     cc -shared -fPIC -I lib/include -o spread.so labs/plugins/spread.c
 *     ringctl up 2 --servers 4 --replicas 2 --placement ./spread.so
 *     ringctl slots
 */
#include <gradwire/placement.h>
#include <gradwire/plugin.h>

enum { RACKS = 2 };

/* The number of servers with this slot in the rack of this node. */
static unsigned count_in_rack(const struct gw_placement_question *q,
                              unsigned node)
{
    unsigned count = 0;
    for (unsigned i = 0; i < q->assigned_count; i++)
        count += q->assigned[i] % RACKS == node % RACKS;
    return count;
}

/* The present load: a primary answers requests, the other replicas follow
 * it. */
static double carries(const struct gw_placement_question *q,
                      const struct gw_placement_server *server)
{
    return q->replica == 0 ? server->primary_weight : server->weight;
}

/* Prefers a server that has the slot already, or else one that shares the
 * fewest slots with the slot's other servers. */
static bool is_handier(const struct gw_placement_server *a,
                       const struct gw_placement_server *b)
{
    return a->has != b->has ? a->has : a->shared < b->shared;
}

static bool is_better(const struct gw_placement_question *q,
                      const struct gw_placement_server *a,
                      const struct gw_placement_server *b)
{
    unsigned in_rack_a = count_in_rack(q, a->node),
             in_rack_b = count_in_rack(q, b->node);
    if (in_rack_a != in_rack_b)
        return in_rack_a < in_rack_b;
    double load_a = carries(q, a), load_b = carries(q, b);
    return load_a != load_b ? load_a < load_b : is_handier(a, b);
}

static unsigned choose(const struct gw_placement_question *q)
{
    unsigned best = 0;
    for (unsigned i = 1; i < q->server_count; i++)
        if (is_better(q, &q->servers[i], &q->servers[best]))
            best = i;
    return best;
}

static const struct gw_placement spread = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLACEMENT,
    .name = "spread",
    .summary = "replicas of a slot in different racks, and loads even",
    .placement = &spread,
};
