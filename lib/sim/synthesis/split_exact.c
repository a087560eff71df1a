/* SPDX-License-Identifier: MIT
 *
 * Splits the edges of one node pair by pair, each as far as the invariant
 * allows (ForestColl, theorem 6). Splitting c off u -> w and w -> t takes c from
 * the capacity that leaves a set of nodes X only if X has u and t but not w, or
 * w but neither u nor t. So c may be the least surplus of those sets, over all
 * sinks v that are not in X:
 *
 *     flow from {source, u, t} to {w, v}  less the sum of all starts
 *     flow from {source, w} to {u, t, v}  less the sum of all starts
 */
#include "synthesis.h"

struct pair_search {
    struct gw__digraph *g;
    struct gw__max_flow flow;
    size_t in, out; /* edges */
};

/* The arcs of the graph, and none between the nodes of a set yet. */
static bool begin_search(struct pair_search *s)
{
    struct gw_error ignored;
    struct gw__digraph *g = s->g;
    if (gw__max_flow_init(&s->flow, g->nodes + 2, &ignored))
        return false;
    for (uint32_t r = 0; r < g->ranks; r++)
        gw__max_flow_add(&s->flow, g->nodes, r, g->start[r]);
    for (size_t i = 0; i < g->edge_count; i++)
        gw__max_flow_add(&s->flow, g->edges[i].from, g->edges[i].to,
                         g->edges[i].capacity);
    return !s->flow.full;
}

/* The least surplus of the sets that hold `inside` and the source, but neither
 * `outside` nor a rank: one flow per rank. */
static int64_t least_surplus(struct pair_search *s, const uint32_t inside[2],
                             const uint32_t outside[2], int64_t least)
{
    struct gw__digraph *g = s->g;
    const int64_t unlimited = INT64_MAX / 8;
    uint32_t source = g->nodes, sink = source + 1, tied[4];
    for (int i = 0; i < 2; i++) {
        tied[i] = gw__max_flow_add(&s->flow, source, inside[i], unlimited);
        tied[2 + i] = gw__max_flow_add(&s->flow, outside[i], sink, unlimited);
    }
    for (uint32_t v = 0; v < g->ranks && least > 0 && !s->flow.full; v++) {
        if (v == inside[0] || v == inside[1])
            continue;
        uint32_t arc = gw__max_flow_add(&s->flow, v, sink, unlimited);
        if (s->flow.full)
            break;
        int64_t surplus =
            gw__max_flow_find(&s->flow, source, sink, g->total + least) -
            g->total;
        least = surplus < least ? surplus : least;
        gw__max_flow_set(&s->flow, arc, 0);
    }
    for (int i = 0; i < 4 && !s->flow.full; i++)
        gw__max_flow_set(&s->flow, tied[i], 0);
    return least > 0 ? least : 0;
}

/* How much may be split off the pair. */
static int64_t splittable(struct gw__digraph *g, size_t in, size_t out)
{
    struct pair_search s = {.g = g, .in = in, .out = out};
    uint32_t u = g->edges[in].from, w = g->edges[in].to, t = g->edges[out].to;
    int64_t least = g->edges[in].capacity < g->edges[out].capacity
                        ? g->edges[in].capacity
                        : g->edges[out].capacity;
    bool room = begin_search(&s);
    if (room)
        least =
            least_surplus(&s, (uint32_t[]){u, t}, (uint32_t[]){w, w}, least);
    if (room)
        least =
            least_surplus(&s, (uint32_t[]){w, w}, (uint32_t[]){u, t}, least);
    g->full = g->full || !room || s.flow.full;
    gw__max_flow_fini(&s.flow);
    return g->full ? 0 : least;
}

/* Pairs along routes first, then any, then an edge with its own reverse. */
static bool is_of_pass(const struct gw__digraph *g,
                       const struct gw__route_parts *routes, size_t in,
                       size_t out, int pass)
{
    if (g->edges[in].from == g->edges[out].to)
        return pass == 2;
    return (pass == 0) == gw__route_parts_have(routes, g, in, out) && pass < 2;
}

static void split_pair(struct gw__digraph *g, size_t in, size_t out)
{
    int64_t capacity = splittable(g, in, out);
    if (capacity == 0)
        return;
    gw__digraph_add(g, in, out, capacity);
    g->edges[in].capacity -= capacity;
    g->edges[out].capacity -= capacity;
}

void gw__split_exact(struct gw__digraph *graph, uint32_t node,
                     const struct gw__route_parts *routes)
{
    struct gw__digraph *g = graph;
    size_t edges = g->edge_count;
    for (int pass = 0; pass < 3; pass++)
        for (size_t in = 0; in < edges && !g->full; in++)
            for (size_t out = 0; out < edges && !g->full; out++)
                if (g->edges[in].to == node && g->edges[out].from == node &&
                    g->edges[in].capacity > 0 && g->edges[out].capacity > 0 &&
                    is_of_pass(g, routes, in, out, pass))
                    split_pair(g, in, out);
}
