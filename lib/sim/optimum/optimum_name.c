/* SPDX-License-Identifier: MIT
 *
 * A cut in words: the one link that leaves it, or all links of the rank or rack
 * on one of its sides, or the first of its links.
 */
#include "bounds.h"

#include <stdio.h>
#include <string.h>

/* Ranks with `side`, and the first and last of them. */
static unsigned ranks_on(const struct gw__network *n, const bool *inside,
                         bool side, uint32_t *first)
{
    unsigned count = 0;
    for (uint32_t r = n->ranks; r-- > 0;)
        if (inside[r] == side) {
            *first = r;
            count++;
        }
    return count;
}

/* Are the ranks of that side exactly those of a rack? */
static bool is_rack(const struct gw_topology *t, const struct gw__network *n,
                    const bool *inside, bool side, const char *rack)
{
    for (uint32_t r = 0; r < n->ranks; r++)
        if ((inside[r] == side) != (strcmp(gw_topology_rack(t, r), rack) == 0))
            return false;
    return true;
}

static void name_link(const struct gw_topology *t, uint32_t index, char *out,
                      size_t size)
{
    char name[64];
    struct gw_topology_link link;
    gw_topology_link(t, index, &link);
    gw_topology_link_name(t, index, name);
    char *kind = strchr(name, ' ');
    size_t owner = kind ? (size_t)(kind - name) : 0;
    const char *way = link.out ? "out" : "in";
    if (link.kind == GW_LINK_NIC)
        snprintf(out, size, "host %.*s's NIC (%s)", (int)owner, name, way);
    else if (link.kind == GW_LINK_UPLINK)
        snprintf(out, size, "rack %.*s's%s", (int)owner, name, kind);
    else
        snprintf(out, size, "%s", name);
}

/* The links of a rank or a rack on one side; false: neither is alone there. */
static bool name_side(const struct gw_topology *t, const struct gw__network *n,
                      const bool *inside, bool side, struct gw_optimum *o)
{
    uint32_t first = 0;
    const char *way = o->collective == GW_REDUCE ||
                              o->collective == GW_SCATTER ||
                              o->collective == GW_REDUCE_SCATTER
                          ? (side ? "into" : "out of")
                          : (side ? "out of" : "into");
    unsigned count = ranks_on(n, inside, side, &first);
    const char *rack = gw_topology_rack(t, first);
    if (count == 1)
        snprintf(o->cut, sizeof o->cut, "the %u links %s %s", o->cut_links, way,
                 gw_topology_host(t, first));
    else if (is_rack(t, n, inside, side, rack))
        snprintf(o->cut, sizeof o->cut, "the %u links %s rack %s", o->cut_links,
                 way, rack);
    else
        return false;
    return true;
}

void gw__optimum_name_cut(struct gw_optimum *optimum,
                          const struct gw_topology *topology,
                          const struct gw__network *network, const bool *inside)
{
    struct gw_optimum *o = optimum;
    bool reversed = o->collective == GW_REDUCE || o->collective == GW_SCATTER ||
                    o->collective == GW_REDUCE_SCATTER;
    uint32_t link = GW__NO_LINK;
    o->cut_links = 0;
    for (size_t e = 0; e < network->edge_count; e++) {
        const struct gw__network_edge *edge = &network->edges[e];
        uint32_t from = reversed ? edge->to : edge->from;
        uint32_t to = reversed ? edge->from : edge->to;
        if (!inside[from] || inside[to] || edge->link == GW__NO_LINK)
            continue;
        link = o->cut_links++ == 0 ? edge->link : link;
    }
    if (link == GW__NO_LINK)
        return;
    name_link(topology, link, o->cut, sizeof o->cut);
    if (o->cut_links == 1 || name_side(topology, network, inside, false, o) ||
        name_side(topology, network, inside, true, o))
        return;
    size_t used = strlen(o->cut);
    snprintf(o->cut + used, sizeof o->cut - used, " and %u other links",
             o->cut_links - 1);
}
