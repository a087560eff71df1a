/* SPDX-License-Identifier: MIT
 *
 * Packs spanning trees into a graph of ranks: `start` trees from each root,
 * so that no edge has more trees than its capacity (Berczi, Frank, "Packing
 * arborescences", 2010; ForestColl, section 4.4). A tree grows by an edge
 * x -> y with x in it and y not. A tree in m copies may take the edge in
 *
 *     min(capacity of x -> y, m, F - M)
 *
 * copies: M is the number of all other trees that are not complete, and F the
 * maximum flow from x to y, where x also has an edge to a new node for each of
 * these trees, with its copies as the capacity, and from there without a limit
 * to all of its ranks. If that is less than m, the tree divides: the other
 * copies wait as they are.
 *
 * Any edge with a positive value will do. This file takes those that keep trees
 * shallow and whole: from the rank nearest to the root, first the one with the
 * most capacity to ranks outside of the tree.
 */
#include "synthesis.h"

#include <stdlib.h>
#include <string.h>

/* Trees that have divided and wait. */
enum { WAITING_MAX = 256 };

struct packing {
    struct gw__digraph *g;
    struct gw__forest *forest;
    unsigned ranks;
    int64_t *capacity;  /* [from][to] that is left */
    uint32_t *arc;      /* [from][to] in the flow; GW__FLOW_NONE: no edge */
    int64_t *unstarted; /* of each root */
    bool *tried;        /* [from][to]: refused for the present tree */
    struct gw__max_flow flow;
    uint32_t source, others; /* nodes: x and all other trees; those trees */
    uint32_t *begin;         /* arcs from the source to each rank */
    uint32_t *to_root;       /* arcs from `others` to each root */
    int64_t waiting_weight;
    unsigned waiting_count, waiting_places; /* places: with arcs */
    struct gw__tree waiting[WAITING_MAX];
    uint32_t waiting_arc[WAITING_MAX];
};

static const int64_t unlimited = INT64_MAX / 8;

/* ---- memory ---- */

static bool tree_init(struct gw__tree *tree, unsigned ranks, uint32_t root,
                      int64_t weight)
{
    *tree = (struct gw__tree){.root = root, .weight = weight};
    tree->parent = malloc(2 * (size_t)ranks * sizeof *tree->parent);
    if (!tree->parent)
        return false;
    tree->depth = tree->parent + ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        tree->parent[r] = r;
        tree->depth[r] = r == root ? 0 : UINT32_MAX;
    }
    return true;
}

static bool tree_copy(struct gw__tree *tree, unsigned ranks,
                      const struct gw__tree *from)
{
    if (!tree_init(tree, ranks, from->root, from->weight))
        return false;
    memcpy(tree->parent, from->parent,
           2 * (size_t)ranks * sizeof *tree->parent);
    return true;
}

void gw__forest_fini(struct gw__forest *forest)
{
    for (size_t i = 0; i < forest->tree_count; i++)
        free(forest->trees[i].parent);
    free(forest->trees);
    *forest = (struct gw__forest){0};
}

static bool forest_add(struct gw__forest *forest, const struct gw__tree *tree)
{
    if (forest->tree_count == forest->tree_room) {
        size_t room = 2 * forest->tree_room + 64;
        struct gw__tree *moved = realloc(forest->trees, room * sizeof *moved);
        if (!moved)
            return false;
        forest->trees = moved;
        forest->tree_room = room;
    }
    forest->trees[forest->tree_count++] = *tree;
    return true;
}

static void packing_fini(struct packing *p)
{
    for (unsigned i = 0; i < p->waiting_count; i++)
        free(p->waiting[i].parent);
    gw__max_flow_fini(&p->flow);
    free(p->capacity);
    free(p->arc);
    free(p->unstarted);
    free(p->tried);
    free(p->begin);
}

static bool packing_init(struct packing *p, struct gw__digraph *g,
                         struct gw__forest *forest)
{
    struct gw_error ignored;
    size_t pairs = (size_t)g->ranks * g->ranks;
    *p = (struct packing){.g = g, .forest = forest, .ranks = g->ranks};
    *forest = (struct gw__forest){.ranks = g->ranks};
    p->source = g->ranks;
    p->others = g->ranks + 1;
    p->capacity = calloc(pairs, sizeof *p->capacity);
    p->arc = malloc(pairs * sizeof *p->arc);
    p->unstarted = calloc(g->ranks, sizeof *p->unstarted);
    p->tried = malloc(pairs);
    p->begin = calloc(2 * (size_t)g->ranks, sizeof *p->begin);
    p->to_root = p->begin ? p->begin + g->ranks : NULL;
    return p->capacity && p->arc && p->unstarted && p->tried && p->begin &&
           gw__max_flow_init(&p->flow, g->ranks + 2 + WAITING_MAX, &ignored) ==
               GW_OK;
}

/* ---- the flow ---- */

static size_t pair_of(const struct packing *p, uint32_t from, uint32_t to)
{
    return (size_t)from * p->ranks + to;
}

static void add_flow_arcs(struct packing *p)
{
    const struct gw__digraph *g = p->g;
    for (size_t i = 0; i < (size_t)p->ranks * p->ranks; i++)
        p->arc[i] = GW__FLOW_NONE;
    for (size_t i = 0; i < g->edge_count; i++)
        p->capacity[pair_of(p, g->edges[i].from, g->edges[i].to)] +=
            g->edges[i].capacity;
    gw__max_flow_add(&p->flow, p->source, p->others, unlimited);
    for (uint32_t from = 0; from < p->ranks; from++) {
        p->begin[from] = gw__max_flow_add(&p->flow, p->source, from, 0);
        p->to_root[from] = gw__max_flow_add(&p->flow, p->others, from, 0);
        for (uint32_t to = 0; to < p->ranks; to++) {
            size_t pair = pair_of(p, from, to);
            if (p->capacity[pair] > 0)
                p->arc[pair] =
                    gw__max_flow_add(&p->flow, from, to, p->capacity[pair]);
        }
    }
}

static void set_unstarted(struct packing *p, uint32_t root, int64_t weight)
{
    p->unstarted[root] = weight;
    gw__max_flow_set(&p->flow, p->to_root[root], weight);
}

/* A lower bound of the flow from x to y by paths of one edge; if it is enough,
 * no flow is needed. */
static int64_t quick_flow(const struct packing *p, uint32_t x, uint32_t y)
{
    int64_t sum = p->capacity[pair_of(p, x, y)] + p->unstarted[y];
    for (uint32_t r = 0; r < p->ranks; r++) {
        int64_t by = p->capacity[pair_of(p, r, y)];
        if (r != x && r != y)
            sum += by < p->unstarted[r] ? by : p->unstarted[r];
    }
    return sum;
}

/* In how many copies may the tree take the edge? */
static int64_t copies(struct packing *p, const struct gw__tree *tree,
                      uint32_t x, uint32_t y, int64_t others)
{
    int64_t most = p->capacity[pair_of(p, x, y)];
    most = most < tree->weight ? most : tree->weight;
    if (quick_flow(p, x, y) >= others + most)
        return most;
    gw__max_flow_set(&p->flow, p->begin[x], unlimited);
    int64_t flow = gw__max_flow_find(&p->flow, p->source, y, others + most);
    gw__max_flow_set(&p->flow, p->begin[x], 0);
    int64_t surplus = flow - others;
    return surplus < most ? surplus : most;
}

/* ---- growing ---- */

/* The capacity of untried edges from a rank to ranks outside of the tree. */
static int64_t reach(const struct packing *p, const struct gw__tree *tree,
                     uint32_t x)
{
    int64_t sum = 0;
    for (uint32_t y = 0; y < p->ranks; y++)
        if (tree->depth[y] == UINT32_MAX && !p->tried[pair_of(p, x, y)])
            sum += p->capacity[pair_of(p, x, y)];
    return sum;
}

/* The rank of the tree from which it grows next; false: none has an edge. */
static bool choose_rank(const struct packing *p, const struct gw__tree *tree,
                        uint32_t *chosen)
{
    int64_t best = 0;
    uint32_t depth = UINT32_MAX;
    for (uint32_t x = 0; x < p->ranks; x++) {
        if (tree->depth[x] > depth || tree->depth[x] == UINT32_MAX)
            continue;
        int64_t sum = reach(p, tree, x);
        if (sum > 0 && (tree->depth[x] < depth || sum > best)) {
            *chosen = x;
            best = sum;
            depth = tree->depth[x];
        }
    }
    return depth != UINT32_MAX;
}

static void take_edge(struct packing *p, struct gw__tree *tree, uint32_t x,
                      uint32_t y)
{
    size_t pair = pair_of(p, x, y);
    p->capacity[pair] -= tree->weight;
    gw__max_flow_set(&p->flow, p->arc[pair], p->capacity[pair]);
    tree->parent[y] = x;
    tree->depth[y] = tree->depth[x] + 1;
}

/* The arcs of a waiting tree: from `others` to its node, and from there to each
 * rank. They are added once per place and then only set. */
static void add_waiting_arcs(struct packing *p, unsigned i)
{
    uint32_t node = p->others + 1 + i;
    p->waiting_arc[i] = gw__max_flow_add(&p->flow, p->others, node, 0);
    for (uint32_t r = 0; r < p->ranks; r++)
        gw__max_flow_add(&p->flow, node, r, 0);
    p->waiting_places = i + 1;
}

static void set_waiting_arcs(struct packing *p, unsigned i)
{
    const struct gw__tree *tree = &p->waiting[i];
    gw__max_flow_set(&p->flow, p->waiting_arc[i], tree->weight);
    for (uint32_t r = 0; r < p->ranks; r++)
        gw__max_flow_set(&p->flow, p->waiting_arc[i] + 2 * (r + 1),
                         tree->depth[r] == UINT32_MAX ? 0 : unlimited);
}

/* Lets the other copies of the tree wait, and keeps `weight` of them. */
static bool divide(struct packing *p, struct gw__tree *tree, int64_t weight)
{
    unsigned i = p->waiting_count;
    if (i == WAITING_MAX)
        return false;
    if (!tree_copy(&p->waiting[i], p->ranks, tree)) {
        p->g->full = true;
        return false;
    }
    p->waiting_count++;
    p->waiting[i].weight = tree->weight - weight;
    p->waiting_weight += tree->weight - weight;
    tree->weight = weight;
    if (i == p->waiting_places)
        add_waiting_arcs(p, i);
    if (!p->flow.full)
        set_waiting_arcs(p, i);
    return !p->flow.full;
}

struct offer {
    uint32_t x, y;
    int64_t copies;
};

/* Adds as many edges from x as can be taken in all copies. Returns whether there
 * was one; otherwise keeps the best of the others in *best. */
static bool grow_from(struct packing *p, struct gw__tree *tree, uint32_t x,
                      int64_t others, struct offer *best)
{
    bool grown = false;
    for (uint32_t y = 0; y < p->ranks; y++) {
        size_t pair = pair_of(p, x, y);
        if (tree->depth[y] != UINT32_MAX || p->tried[pair] ||
            p->capacity[pair] == 0)
            continue;
        int64_t most = copies(p, tree, x, y, others);
        if (most == tree->weight) {
            take_edge(p, tree, x, y);
            grown = true;
            continue;
        }
        p->tried[pair] = true;
        if (most > best->copies)
            *best = (struct offer){x, y, most};
    }
    return grown;
}

static bool is_spanning(const struct packing *p, const struct gw__tree *tree)
{
    for (uint32_t r = 0; r < p->ranks; r++)
        if (tree->depth[r] == UINT32_MAX)
            return false;
    return true;
}

static void forget_tried(struct packing *p)
{
    memset(p->tried, 0, (size_t)p->ranks * p->ranks);
}

/* Takes an edge in as many copies as can be, and lets the others wait. */
static bool take_part(struct packing *p, struct gw__tree *tree,
                      const struct offer *best, int64_t *others)
{
    *others += tree->weight - best->copies;
    if (!divide(p, tree, best->copies))
        return false;
    take_edge(p, tree, best->x, best->y);
    forget_tried(p);
    return true;
}

/* Grows the tree until it has all ranks; it may lose copies on the way. An edge
 * that was refused may only be tried again once no other one is left. */
static bool grow(struct packing *p, struct gw__tree *tree)
{
    int64_t others = p->waiting_weight;
    uint32_t x = 0;
    bool again = false;
    for (uint32_t r = 0; r < p->ranks; r++)
        others += p->unstarted[r];
    forget_tried(p);
    while (!is_spanning(p, tree)) {
        struct offer best = {0};
        bool grown = false;
        while (!grown && choose_rank(p, tree, &x))
            grown = grow_from(p, tree, x, others, &best);
        if (!grown && best.copies > 0 && !take_part(p, tree, &best, &others))
            return false;
        if (!grown && best.copies == 0) {
            if (again)
                return false;
            forget_tried(p);
        }
        again = !grown && best.copies == 0;
    }
    return true;
}

/* The next tree: one that waits, or all that start at the next root. */
static bool next_tree(struct packing *p, uint32_t *root, struct gw__tree *tree)
{
    if (p->waiting_count > 0) {
        unsigned i = --p->waiting_count;
        *tree = p->waiting[i];
        p->waiting_weight -= tree->weight;
        gw__max_flow_set(&p->flow, p->waiting_arc[i], 0);
        return true;
    }
    while (*root < p->ranks && p->unstarted[*root] == 0)
        ++*root;
    if (*root == p->ranks)
        return false;
    if (!tree_init(tree, p->ranks, *root, p->unstarted[*root])) {
        p->g->full = true;
        return false;
    }
    set_unstarted(p, *root, 0);
    return true;
}

static bool grow_all(struct packing *p)
{
    uint32_t root = 0;
    struct gw__tree tree;
    for (uint32_t r = 0; r < p->ranks; r++)
        set_unstarted(p, r, p->g->start[r]);
    while (next_tree(p, &root, &tree)) {
        bool done = grow(p, &tree);
        bool kept = done && forest_add(p->forest, &tree);
        p->g->full = p->g->full || (done && !kept);
        if (!kept) {
            free(tree.parent);
            return false;
        }
    }
    return true;
}

enum gw_err gw__pack_trees(struct gw__digraph *graph, struct gw__forest *forest,
                           struct gw_error *why)
{
    struct packing *p = malloc(sizeof *p);
    *forest = (struct gw__forest){0};
    if (!p)
        return gw_fail(why, GW_ENOMEM, "trees of %u ranks", graph->ranks);
    bool room = packing_init(p, graph, forest), done = false;
    if (room) {
        add_flow_arcs(p);
        done = !p->flow.full && grow_all(p);
        room = !p->flow.full && !graph->full;
    }
    packing_fini(p);
    free(p);
    return !room   ? gw_fail(why, GW_ENOMEM, "trees of %u ranks", graph->ranks)
           : !done ? gw_fail(why, GW_EINTERNAL,
                             "the trees do not fit into the links")
                   : GW_OK;
}
