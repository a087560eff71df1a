/* SPDX-License-Identifier: MIT
 *
 * Hosts, racks and the nodes of a graph by name: growing arrays, each with a
 * hash table of indexes. At least half of a table is empty, so that lookups are
 * short. Only the arrays contain the names.
 */
#include "topology_parts.h"

#include <stdlib.h>
#include <string.h>

/* The name of entry `i` of a table. */
typedef const char *name_of(const struct gw_topology *t, uint32_t i);

static const char *host_name(const struct gw_topology *t, uint32_t i)
{
    return t->hosts[i].name;
}

static const char *rack_name(const struct gw_topology *t, uint32_t i)
{
    return t->racks[i].name;
}

static const char *node_name(const struct gw_topology *t, uint32_t i)
{
    return t->graph.nodes[i].name;
}

/* The position of the name in the table, or the empty position for it. */
static size_t find_bucket(const struct gw_topology *t,
                          const struct gw__names *names, name_of *of,
                          const char *name, size_t length)
{
    size_t at = (size_t)gw_hash(name, length, 0) & (names->room - 1);
    for (; names->place[at]; at = (at + 1) & (names->room - 1)) {
        const char *there = of(t, names->place[at] - 1);
        if (strlen(there) == length && memcmp(there, name, length) == 0)
            break;
    }
    return at;
}

static uint32_t find_name(const struct gw_topology *t,
                          const struct gw__names *names, name_of *of,
                          const char *name, size_t length)
{
    if (names->room == 0)
        return UINT32_MAX;
    return names->place[find_bucket(t, names, of, name, length)] - 1;
}

/* Doubles the table and inserts all names again. */
static bool widen_table(const struct gw_topology *t, struct gw__names *names,
                        name_of *of)
{
    struct gw__names wider = {.room = names->room ? 2 * names->room : 64,
                              .count = names->count};
    wider.place = calloc(wider.room, sizeof *wider.place);
    if (!wider.place)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = of(t, (uint32_t)i);
        wider.place[find_bucket(t, &wider, of, name, strlen(name))] =
            (uint32_t)i + 1;
    }
    free(names->place);
    *names = wider;
    return true;
}

/* The name of entry `count` must already be set. */
static bool add_name(const struct gw_topology *t, struct gw__names *names,
                     name_of *of)
{
    if (2 * names->count >= names->room && !widen_table(t, names, of))
        return false;
    const char *name = of(t, (uint32_t)names->count);
    names->place[find_bucket(t, names, of, name, strlen(name))] =
        (uint32_t)++names->count;
    return true;
}

static bool grow_array(void **array, size_t *room, size_t count, size_t item)
{
    if (count < *room)
        return true;
    size_t larger = *room ? 2 * *room : 16;
    void *moved = realloc(*array, larger * item);
    if (!moved)
        return false;
    *array = moved;
    *room = larger;
    return true;
}

uint32_t gw__host_find(const struct gw_topology *t, const char *name,
                       size_t length)
{
    return find_name(t, &t->host_names, host_name, name, length);
}

uint32_t gw__rack_find(const struct gw_topology *t, const char *name,
                       size_t length)
{
    return find_name(t, &t->rack_names, rack_name, name, length);
}

bool gw__host_add(struct gw_topology *t, const char *name)
{
    void *hosts = t->hosts;
    if (!grow_array(&hosts, &t->host_room, t->host_count, sizeof *t->hosts))
        return false;
    t->hosts = hosts;
    struct gw__host *host = &t->hosts[t->host_count];
    *host = (struct gw__host){.rack = t->rack_count - 1, .ranks = 1};
    memcpy(host->name, name, strlen(name) + 1);
    if (!add_name(t, &t->host_names, host_name))
        return false;
    t->host_count++;
    t->capacity++;
    t->racks[host->rack].count++;
    return true;
}

bool gw__rack_add(struct gw_topology *t, const char *name)
{
    void *racks = t->racks;
    if (!grow_array(&racks, &t->rack_room, t->rack_count, sizeof *t->racks))
        return false;
    t->racks = racks;
    struct gw__rack *rack = &t->racks[t->rack_count];
    *rack = (struct gw__rack){.first = t->host_count};
    memcpy(rack->name, name, strlen(name) + 1);
    if (!add_name(t, &t->rack_names, rack_name))
        return false;
    t->rack_count++;
    return true;
}

uint32_t gw__node_find(const struct gw_topology *t, const char *name,
                       size_t length)
{
    return find_name(t, &t->node_names, node_name, name, length);
}

/* Makes the node a host for ranks. */
static bool hold_ranks(struct gw_topology *t,
                       const struct gw__topology_node *node)
{
    struct gw__graph *g = &t->graph;
    void *nodes = g->node_of_host;
    unsigned host = t->host_count;
    if (!grow_array(&nodes, &g->host_room, host, sizeof *g->node_of_host))
        return false;
    g->node_of_host = nodes;
    if (!gw__host_add(t, node->name))
        return false;
    g->node_of_host[host] = g->node_count;
    if (node->kind == GW__NODE_MEMORY) {
        t->hosts[host].ranks = 0;
        t->capacity--;
    }
    return true;
}

bool gw__node_add(struct gw_topology *t, const char *name,
                  enum gw__node_kind kind, uint32_t server)
{
    struct gw__graph *g = &t->graph;
    void *nodes = g->nodes;
    if (!grow_array(&nodes, &g->node_room, g->node_count, sizeof *g->nodes))
        return false;
    g->nodes = nodes;
    struct gw__topology_node *node = &g->nodes[g->node_count];
    *node = (struct gw__topology_node){.kind = kind, .server = server};
    memcpy(node->name, name, strlen(name) + 1);
    bool holds = kind == GW__NODE_ACCELERATOR || kind == GW__NODE_MEMORY;
    if ((holds && !hold_ranks(t, node)) ||
        !add_name(t, &t->node_names, node_name))
        return false;
    g->node_count++;
    return true;
}

bool gw__edge_add(struct gw_topology *t, const struct gw__edge *edge)
{
    struct gw__graph *g = &t->graph;
    void *edges = g->edges;
    if (!grow_array(&edges, &g->edge_room, g->edge_count, sizeof *g->edges))
        return false;
    g->edges = edges;
    g->edges[g->edge_count++] = *edge;
    return true;
}

bool gw__host_list(struct gw_topology *t, uint32_t host)
{
    void *listed = t->listed;
    if (!grow_array(&listed, &t->listed_room, t->listed_count,
                    sizeof *t->listed))
        return false;
    t->listed = listed;
    t->listed[t->listed_count++] = host;
    return true;
}
