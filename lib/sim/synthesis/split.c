/* SPDX-License-Identifier: MIT
 *
 * Replaces switches by direct edges, one switch after another, those next to
 * ranks first. Splitting capacity off two edges u -> w -> t makes an edge
 * u -> t; if every switch sends as much as it receives, all of its capacity can
 * be split off so that the invariant holds (Jackson 1988).
 *
 * Which pairs, is free within limits. Even splits make shallow trees and few
 * hot links: each edge into the switch is paired with all edges out of it in
 * turn, a little capacity at a time, along the routes of the topology. Whether
 * the invariant still holds is one question to flows, not one per pair as in
 * ForestColl, which makes large networks quick. If it does not, or if capacity
 * remains that a neighbouring switch would lose in one direction only, the same
 * is tried with other routes for the rest, then without regard to routes. If
 * that fails too, split_exact.c takes pair after pair.
 */
#include "synthesis.h"

#include <stdlib.h>
#include <string.h>

/* The edges at a switch, in the order of the nodes at their other ends. */
struct junction {
    struct gw__digraph *g;
    const struct gw__route_parts *routes; /* NULL: any route */
    size_t in_count, out_count;
    size_t *in, *out;
    int64_t *left_in, *left_out; /* capacity */
    int64_t *split;              /* [in][out] */
    bool *may;                   /* [in][out]: may be paired */
    size_t *turns;               /* offsets between the two lists */
    size_t *merit;               /* of each of them */
};

static bool may_pair(const struct junction *j, size_t in, size_t out)
{
    return j->may[in * j->out_count + out];
}

static void find_pairs(struct junction *j)
{
    const struct gw__digraph *g = j->g;
    for (size_t in = 0; in < j->in_count; in++)
        for (size_t out = 0; out < j->out_count; out++)
            j->may[in * j->out_count + out] =
                g->edges[j->in[in]].from != g->edges[j->out[out]].to &&
                (!j->routes ||
                 gw__route_parts_have(j->routes, g, j->in[in], j->out[out]));
}

static void list_edges(struct junction *j, uint32_t node)
{
    const struct gw__digraph *g = j->g;
    j->in_count = j->out_count = 0;
    for (size_t i = 0; i < g->edge_count; i++) {
        if (g->edges[i].to == node)
            j->in[j->in_count++] = i;
        if (g->edges[i].from == node)
            j->out[j->out_count++] = i;
    }
}

static uint32_t other_end(const struct gw__digraph *g, size_t edge, bool in)
{
    return in ? g->edges[edge].from : g->edges[edge].to;
}

/* Insertion sort: the lists are nearly in order. */
static void sort_edges(const struct gw__digraph *g, size_t *list, size_t count,
                       bool in)
{
    for (size_t i = 1; i < count; i++) {
        size_t edge = list[i], at = i;
        for (;
             at > 0 && other_end(g, list[at - 1], in) > other_end(g, edge, in);
             at--)
            list[at] = list[at - 1];
        list[at] = edge;
    }
}

static void junction_fini(struct junction *j)
{
    free(j->in);
    free(j->left_in);
    free(j->split);
    free(j->may);
    free(j->turns);
}

static bool junction_init(struct junction *j, struct gw__digraph *g,
                          uint32_t node)
{
    size_t edges = g->edge_count + 1;
    *j = (struct junction){.g = g};
    j->in = malloc(2 * edges * sizeof *j->in);
    if (!j->in)
        return false;
    j->out = j->in + edges;
    list_edges(j, node);
    sort_edges(g, j->in, j->in_count, true);
    sort_edges(g, j->out, j->out_count, false);
    size_t ends = j->in_count + j->out_count + 1;
    j->left_in = malloc(ends * sizeof *j->left_in);
    j->split = malloc((j->in_count * j->out_count + 1) * sizeof *j->split);
    j->may = malloc(j->in_count * j->out_count + 1);
    j->turns = malloc(2 * ends * sizeof *j->turns);
    j->left_out = j->left_in ? j->left_in + j->in_count : NULL;
    j->merit = j->turns ? j->turns + ends : NULL;
    return j->left_in && j->split && j->may && j->turns;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* How early an offset should come: those with most allowed pairs first, then
 * those with the largest common divisor with the length of the list: among
 * racks of eight they lead to the same place in another rack. */
static size_t merit(const struct junction *j, size_t offset)
{
    size_t n = j->out_count, allowed = 0;
    for (size_t i = 0; i < j->in_count; i++)
        allowed += may_pair(j, i, (i + offset) % n);
    return allowed * (n + 1) + common_divisor(n, offset);
}

static void order_turns(struct junction *j)
{
    for (size_t offset = 0; offset < j->out_count; offset++) {
        size_t best = merit(j, offset), at = offset;
        for (; at > 0 && j->merit[at - 1] < best; at--) {
            j->merit[at] = j->merit[at - 1];
            j->turns[at] = j->turns[at - 1];
        }
        j->merit[at] = best;
        j->turns[at] = offset;
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Gives each pair at most `share` more; returns the sum. */
static int64_t assign_share(struct junction *j, int64_t share)
{
    int64_t assigned = 0;
    for (size_t o = 0; o < j->out_count; o++)
        for (size_t in = 0; in < j->in_count; in++) {
            size_t out = (in + j->turns[o]) % j->out_count;
            int64_t part =
                smaller(share, smaller(j->left_in[in], j->left_out[out]));
            if (part == 0 || !may_pair(j, in, out))
                continue;
            j->split[in * j->out_count + out] += part;
            j->left_in[in] -= part;
            j->left_out[out] -= part;
            assigned += part;
        }
    return assigned;
}

static void assign_all(struct junction *j)
{
    int64_t most = 0;
    find_pairs(j);
    order_turns(j);
    for (size_t i = 0; i < j->in_count; i++)
        most = j->left_in[i] > most ? j->left_in[i] : most;
    int64_t share = most / (int64_t)(4 * j->out_count);
    for (share = share > 0 ? share : 1; share > 0; share /= 2)
        while (assign_share(j, share) > 0)
            ;
}

/* The ways to choose pairs. */
enum manner { ROUTES_ONLY, ROUTES_FIRST, ANY_ROUTE, MANNERS };

static void spread_evenly(struct junction *j,
                          const struct gw__route_parts *routes,
                          enum manner manner)
{
    for (size_t i = 0; i < j->in_count; i++)
        j->left_in[i] = j->g->edges[j->in[i]].capacity;
    for (size_t o = 0; o < j->out_count; o++)
        j->left_out[o] = j->g->edges[j->out[o]].capacity;
    memset(j->split, 0, j->in_count * j->out_count * sizeof *j->split);
    if (j->in_count == 0 || j->out_count == 0)
        return;
    j->routes = manner == ANY_ROUTE ? NULL : routes;
    assign_all(j);
    if (manner == ROUTES_FIRST) {
        j->routes = NULL;
        assign_all(j);
    }
}

/* Would each neighbouring switch lose as much in both directions? */
static bool is_even(const struct junction *j)
{
    const struct gw__digraph *g = j->g;
    int64_t net = 0;
    for (uint32_t n = g->ranks; n < g->nodes; n++, net = 0) {
        for (size_t i = 0; i < j->in_count; i++)
            net += g->edges[j->in[i]].from == n ? j->left_in[i] : 0;
        for (size_t o = 0; o < j->out_count; o++)
            net -= g->edges[j->out[o]].to == n ? j->left_out[o] : 0;
        if (net != 0)
            return false;
    }
    return true;
}

/* Appends the edges of the split and takes the switch's own away. */
static void append_split(struct junction *j)
{
    for (size_t in = 0; in < j->in_count; in++)
        for (size_t out = 0; out < j->out_count; out++)
            if (j->split[in * j->out_count + out] > 0)
                gw__digraph_add(j->g, j->in[in], j->out[out],
                                j->split[in * j->out_count + out]);
    for (size_t in = 0; in < j->in_count; in++)
        j->g->edges[j->in[in]].capacity = 0;
    for (size_t out = 0; out < j->out_count; out++)
        j->g->edges[j->out[out]].capacity = 0;
}

/* Undoes append_split. */
static void remove_split(struct junction *j, size_t edges, const int64_t *in,
                         const int64_t *out)
{
    j->g->edge_count = edges;
    for (size_t i = 0; i < j->in_count; i++)
        j->g->edges[j->in[i]].capacity = in[i];
    for (size_t o = 0; o < j->out_count; o++)
        j->g->edges[j->out[o]].capacity = out[o];
}

/* Splits the node evenly; false: that would break the invariant, and nothing
 * has changed. */
static bool split_evenly(struct junction *j,
                         const struct gw__route_parts *routes,
                         enum manner manner)
{
    size_t edges = j->g->edge_count;
    int64_t *before = calloc(j->in_count + j->out_count + 1, sizeof *before);
    if (!before) {
        j->g->full = true;
        return false;
    }
    for (size_t i = 0; i < j->in_count; i++)
        before[i] = j->g->edges[j->in[i]].capacity;
    for (size_t o = 0; o < j->out_count; o++)
        before[j->in_count + o] = j->g->edges[j->out[o]].capacity;
    spread_evenly(j, routes, manner);
    bool holds = manner != ROUTES_ONLY || is_even(j);
    append_split(j);
    holds = holds && gw__digraph_holds(j->g);
    if (!holds)
        remove_split(j, edges, before, before + j->in_count);
    free(before);
    return holds;
}

void gw__split_finish(struct gw__digraph *graph, uint32_t node)
{
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from == node || graph->edges[i].to == node)
            graph->edges[i].capacity = 0;
    gw__digraph_compact(graph);
}

static void split_node(struct gw__digraph *g, uint32_t node,
                       const struct gw__route_parts *routes)
{
    struct junction j;
    bool done = false;
    if (!junction_init(&j, g, node))
        g->full = true;
    for (enum manner m = ROUTES_ONLY; m < MANNERS && !done && !g->full; m++)
        done = split_evenly(&j, routes, m);
    junction_fini(&j);
    if (!done && !g->full)
        gw__split_exact(g, node, routes);
    gw__split_finish(g, node);
}

/* The distance of each switch from the nearest rank: rounds over the edges. */
static void measure_distances(const struct gw__digraph *g, uint32_t *distance)
{
    bool changed = true;
    for (uint32_t n = 0; n < g->nodes; n++)
        distance[n] = n < g->ranks ? 0 : UINT32_MAX - 1;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < g->edge_count; i++) {
            uint32_t far = distance[g->edges[i].from] + 1;
            if (far < distance[g->edges[i].to]) {
                distance[g->edges[i].to] = far;
                changed = true;
            }
        }
    }
}

enum gw_err gw__split_all(struct gw__digraph *graph,
                          const struct gw__route_parts *routes,
                          struct gw_error *why)
{
    struct gw__digraph *g = graph;
    uint32_t *distance = malloc(g->nodes * sizeof *distance);
    if (!distance)
        return gw_fail(why, GW_ENOMEM, "a graph of %u nodes", g->nodes);
    measure_distances(g, distance);
    for (uint32_t far = 1; far < g->nodes && !g->full; far++)
        for (uint32_t n = g->ranks; n < g->nodes && !g->full; n++)
            if (distance[n] == far)
                split_node(g, n, routes);
    free(distance);
    for (uint32_t n = g->ranks; n < g->nodes; n++)
        gw__split_finish(g, n);
    bool holds = gw__digraph_holds(g);
    if (g->full)
        return gw_fail(why, GW_ENOMEM, "a graph of %u nodes", g->nodes);
    return holds ? GW_OK
                 : gw_fail(why, GW_EINTERNAL,
                           "the switches of the topology cannot be replaced by "
                           "direct links at the rate of the bound");
}
