/* SPDX-License-Identifier: MIT
 *
 * Takes away capacity that the bound does not need, so that the even splits of
 * split.c spread traffic only over links that must carry it. Links of one class
 * are reduced together, to the least that keeps the invariant: what is
 * symmetric remains so. A class is the links of one capacity at ranks, or those
 * between switches. Links between ranks are left alone, since they need no
 * split. Every switch must still send as much as it receives: flows may copy
 * data at another one, which its edges after a split cannot.
 */
#include "synthesis.h"

#include <stdlib.h>

struct class {
    struct gw__digraph *g;
    bool *member; /* of each edge */
};

static bool at_rank(const struct gw__digraph *g, size_t edge)
{
    return g->edges[edge].from < g->ranks || g->edges[edge].to < g->ranks;
}

static bool between_ranks(const struct gw__digraph *g, size_t edge)
{
    return g->edges[edge].from < g->ranks && g->edges[edge].to < g->ranks;
}

/* The class of an edge; false if an edge before it has the same one. */
static bool form_class(struct class *class, size_t first)
{
    const struct gw__digraph *g = class->g;
    for (size_t i = 0; i < g->edge_count; i++) {
        class->member[i] = g->edges[i].capacity == g->edges[first].capacity &&
                           at_rank(g, i) == at_rank(g, first) &&
                           !between_ranks(g, i);
        if (class->member[i] && i < first)
            return false;
    }
    return class->member[first];
}

static void set_class(const struct class *class, int64_t capacity)
{
    for (size_t i = 0; i < class->g->edge_count; i++)
        if (class->member[i])
            class->g->edges[i].capacity = capacity;
}

static bool is_balanced(struct gw__digraph *g)
{
    bool balanced = true;
    int64_t *net = calloc(g->nodes, sizeof *net);
    for (size_t i = 0; net && i < g->edge_count; i++) {
        net[g->edges[i].from] -= g->edges[i].capacity;
        net[g->edges[i].to] += g->edges[i].capacity;
    }
    for (unsigned v = g->ranks; net && v < g->nodes; v++)
        balanced = balanced && net[v] == 0;
    g->full = g->full || !net;
    free(net);
    return balanced;
}

static void reduce_class(struct class *class, int64_t high)
{
    int64_t low = 0; /* as if the class did not exist */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        set_class(class, middle);
        if (is_balanced(class->g) && gw__digraph_holds(class->g))
            high = middle;
        else
            low = middle + 1;
    }
    set_class(class, high);
}

void gw__trim(struct gw__digraph *graph)
{
    struct class class = {.g = graph};
    if (!is_balanced(graph))
        return;
    class.member = calloc(graph->edge_count + 1, sizeof *class.member);
    graph->full = graph->full || !class.member;
    for (size_t i = 0; i < graph->edge_count && !graph->full; i++)
        if (graph->edges[i].capacity > 0 && form_class(&class, i))
            reduce_class(&class, graph->edges[i].capacity);
    free(class.member);
    gw__digraph_compact(graph);
}
