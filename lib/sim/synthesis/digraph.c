/* SPDX-License-Identifier: MIT
 *
 * The graph of a synthesis: edges with integer capacities, each with the
 * physical links that it stands for.
 */
#include "synthesis.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(void **array, size_t *room, size_t count, size_t item)
{
    if (count <= *room)
        return true;
    size_t larger = 2 * count + 64;
    void *moved = realloc(*array, larger * item);
    if (!moved)
        return false;
    *array = moved;
    *room = larger;
    return true;
}

/* The next edge, to be filled in; NULL: out of memory. */
static struct gw__digraph_edge *new_edge(struct gw__digraph *g)
{
    void *edges = g->edges;
    if (!make_room(&edges, &g->edge_room, g->edge_count + 1,
                   sizeof *g->edges)) {
        g->full = true;
        return NULL;
    }
    g->edges = edges;
    return &g->edges[g->edge_count++];
}

static bool append_path(struct gw__digraph *g, uint32_t path, uint32_t length)
{
    void *paths = g->paths;
    if (!make_room(&paths, &g->path_room, g->path_count + length,
                   sizeof *g->paths)) {
        g->full = true;
        return false;
    }
    g->paths = paths;
    memcpy(g->paths + g->path_count, g->paths + path,
           length * sizeof *g->paths);
    g->path_count += length;
    return true;
}

enum gw_err gw__digraph_init(struct gw__digraph *graph,
                             const struct gw__network *network,
                             struct gw_error *why)
{
    struct gw__digraph *g = graph;
    *g =
        (struct gw__digraph){.ranks = network->ranks,
                             .nodes = network->nodes,
                             .start = calloc(network->ranks, sizeof *g->start)};
    g->full = !g->start;
    for (size_t i = 0; i < network->edge_count && !g->full; i++) {
        const struct gw__network_edge *from = &network->edges[i];
        struct gw__digraph_edge *edge = new_edge(g);
        void *paths = g->paths;
        g->full = !edge || !make_room(&paths, &g->path_room, g->path_count + 1,
                                      sizeof *g->paths);
        if (g->full)
            break;
        g->paths = paths;
        *edge = (struct gw__digraph_edge){.from = from->from,
                                          .to = from->to,
                                          .path = (uint32_t)g->path_count,
                                          .length = from->link != GW__NO_LINK};
        if (edge->length)
            g->paths[g->path_count++] = from->link;
    }
    return g->full ? gw_fail(why, GW_ENOMEM, "a graph of %u nodes", g->nodes)
                   : GW_OK;
}

void gw__digraph_fini(struct gw__digraph *graph)
{
    free(graph->edges);
    free(graph->paths);
    free(graph->start);
    *graph = (struct gw__digraph){0};
}

void gw__digraph_add(struct gw__digraph *graph, size_t first, size_t second,
                     int64_t capacity)
{
    struct gw__digraph *g = graph;
    struct gw__digraph_edge *edge = new_edge(g);
    if (!edge)
        return;
    const struct gw__digraph_edge *a = &g->edges[first];
    const struct gw__digraph_edge *b = &g->edges[second];
    *edge = (struct gw__digraph_edge){.from = a->from,
                                      .to = b->to,
                                      .capacity = capacity,
                                      .path = (uint32_t)g->path_count,
                                      .length = a->length + b->length};
    if (!append_path(g, a->path, a->length) ||
        !append_path(g, b->path, b->length))
        g->edge_count--;
}

void gw__digraph_compact(struct gw__digraph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct gw__digraph_edge *edge = &graph->edges[i];
        if (edge->capacity > 0 && edge->from != edge->to)
            graph->edges[kept++] = *edge;
    }
    graph->edge_count = kept;
}

bool gw__digraph_holds(struct gw__digraph *graph)
{
    struct gw__digraph *g = graph;
    struct gw__max_flow flow;
    struct gw_error ignored;
    bool holds =
        !g->full && gw__max_flow_init(&flow, g->nodes + 1, &ignored) == GW_OK;
    g->full = g->full || !holds;
    for (uint32_t r = 0; r < g->ranks && holds; r++)
        gw__max_flow_add(&flow, g->nodes, r, g->start[r]);
    for (size_t i = 0; i < g->edge_count && holds; i++)
        gw__max_flow_add(&flow, g->edges[i].from, g->edges[i].to,
                         g->edges[i].capacity);
    for (uint32_t r = 0; r < g->ranks && holds && !flow.full; r++)
        holds = gw__max_flow_find(&flow, g->nodes, r, g->total) >= g->total;
    if (!g->full) {
        g->full = flow.full;
        gw__max_flow_fini(&flow);
    }
    return holds && !g->full;
}
