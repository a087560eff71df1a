/* SPDX-License-Identifier: MIT
 *
 * The routes of a topology are fixed: a message between two ranks takes that
 * of gw_topology_path. An edge that a split makes should be a part of such a
 * route, because otherwise the message would use other links than the split
 * has reserved. A set has the hashes of all parts of all routes.
 */
#include "synthesis.h"

#include <stdlib.h>

enum { PART_LINKS_MAX = 16 }; /* longer parts are in no set */

static uint64_t hash_links(const uint32_t *links, uint32_t count)
{
    return gw_hash(links, count * sizeof *links, count) | 1;
}

static void put(struct gw__route_parts *routes, uint64_t hash)
{
    size_t at = (size_t)(hash >> 1) & (routes->room - 1);
    while (routes->parts[at] && routes->parts[at] != hash)
        at = (at + 1) & (routes->room - 1);
    routes->count += routes->parts[at] == 0;
    routes->parts[at] = hash;
}

static bool widen_set(struct gw__route_parts *routes)
{
    struct gw__route_parts wider = {.room =
                                        routes->room ? 2 * routes->room : 4096};
    wider.parts = calloc(wider.room, sizeof *wider.parts);
    if (!wider.parts)
        return false;
    for (size_t i = 0; i < routes->room; i++)
        if (routes->parts[i])
            put(&wider, routes->parts[i]);
    free(routes->parts);
    *routes = wider;
    return true;
}

static bool put_route(struct gw__route_parts *routes, const unsigned *links,
                      unsigned count)
{
    for (unsigned begin = 0; begin < count; begin++)
        for (unsigned end = begin + 1;
             end <= count && end - begin <= PART_LINKS_MAX; end++) {
            if (2 * routes->count >= routes->room && !widen_set(routes))
                return false;
            put(routes, hash_links(links + begin, end - begin));
        }
    return true;
}

enum gw_err gw__route_parts_init(struct gw__route_parts *routes,
                                 const struct gw_topology *topology,
                                 unsigned ranks, struct gw_error *why)
{
    unsigned links[GW_PATH_LINKS_MAX];
    bool room = true;
    *routes = (struct gw__route_parts){0};
    for (unsigned src = 0; src < ranks; src++)
        for (unsigned dst = 0; dst < ranks && room; dst++)
            if (src != dst)
                room = put_route(routes, links,
                                 gw_topology_path(topology, src, dst, links));
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "routes between %u ranks", ranks);
}

void gw__route_parts_fini(struct gw__route_parts *routes)
{
    free(routes->parts);
    *routes = (struct gw__route_parts){0};
}

bool gw__route_parts_have(const struct gw__route_parts *routes,
                          const struct gw__digraph *graph, size_t first,
                          size_t second)
{
    uint32_t links[PART_LINKS_MAX], count = 0;
    const size_t pair[] = {first, second};
    for (int i = 0; i < 2; i++) {
        const struct gw__digraph_edge *edge = &graph->edges[pair[i]];
        for (uint32_t l = 0; l < edge->length && count <= PART_LINKS_MAX; l++) {
            if (count < PART_LINKS_MAX)
                links[count] = graph->paths[edge->path + l];
            count++;
        }
    }
    if (count == 0)
        return true;
    if (count > PART_LINKS_MAX || routes->room == 0)
        return false;
    uint64_t hash = hash_links(links, count);
    size_t at = (size_t)(hash >> 1) & (routes->room - 1);
    while (routes->parts[at] && routes->parts[at] != hash)
        at = (at + 1) & (routes->room - 1);
    return routes->parts[at] == hash;
}
