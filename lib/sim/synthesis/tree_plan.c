/* SPDX-License-Identifier: MIT
 *
 * Trees as a plan. A block has one chunk per tree copy and part: chunk
 * (copy * parts + part) of the root's block, so that the bytes of a tree are in
 * proportion to its weight. Part q goes over an edge to depth d in step
 * d - 1 + q: parts follow each other down the tree as in a pipeline. Within a
 * step, edges with the longest way to go below them come first.
 *
 * A reduction uses the same trees backwards: the last step first, from child to
 * parent, added. Ranks that add to the same chunks do so in the same order of
 * chunks, because a value is written when all its sources have arrived. An
 * all-reduce is the one, then the other.
 */
#include "synthesis.h"

#include <stdlib.h>
#include <string.h>

/* An edge of a tree, in all its copies. */
struct tree_edge {
    uint32_t src, dst, depth; /* of dst */
    uint32_t height;          /* of the tree below dst */
    uint32_t first, copies;   /* chunks of part 0: first, first + parts, ... */
};

struct weaving {
    const struct gw__forest *forest;
    struct gw_builder *builder;
    unsigned parts, depth;
    bool up; /* from child to parent, added */
    size_t count;
    struct tree_edge *edges;
};

static int before(const void *a, const void *b)
{
    const struct tree_edge *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if (x->height != y->height)
        return x->height > y->height ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->dst > y->dst) - (x->dst < y->dst);
}

/* The same, without heights. */
static int before_up(const void *a, const void *b)
{
    const struct tree_edge *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->dst > y->dst) - (x->dst < y->dst);
}

/* The heights of all ranks: from the deepest one up. */
static void measure_heights(const struct gw__tree *tree, unsigned ranks,
                            unsigned depth, uint32_t *height)
{
    memset(height, 0, ranks * sizeof *height);
    for (unsigned d = depth; d > 0; d--)
        for (uint32_t r = 0; r < ranks; r++)
            if (tree->depth[r] == d && height[tree->parent[r]] < height[r] + 1)
                height[tree->parent[r]] = height[r] + 1;
}

static unsigned depth_of(const struct gw__tree *tree, unsigned ranks)
{
    unsigned depth = 0;
    for (uint32_t r = 0; r < ranks; r++)
        depth = tree->depth[r] > depth ? tree->depth[r] : depth;
    return depth;
}

static void list_tree(struct weaving *w, const struct gw__tree *tree,
                      uint32_t first, uint32_t *height)
{
    unsigned ranks = w->forest->ranks, depth = depth_of(tree, ranks);
    w->depth = depth > w->depth ? depth : w->depth;
    measure_heights(tree, ranks, depth, height);
    for (uint32_t r = 0; r < ranks; r++)
        if (r != tree->root)
            w->edges[w->count++] =
                (struct tree_edge){.src = tree->parent[r],
                                   .dst = r,
                                   .depth = tree->depth[r],
                                   .height = height[r],
                                   .first = first,
                                   .copies = (uint32_t)tree->weight};
}

/* `blocks`: each root has its own block; otherwise all trees are of one. */
static bool list_edges(struct weaving *w, unsigned trees, bool blocks)
{
    const struct gw__forest *f = w->forest;
    size_t most = f->tree_count * f->ranks;
    uint32_t *height = calloc(f->ranks, sizeof *height), used = 0;
    w->edges = calloc(most + 1, sizeof *w->edges);
    for (size_t i = 0; i < f->tree_count && height && w->edges; i++) {
        const struct gw__tree *tree = &f->trees[i];
        if (i > 0 && f->trees[i - 1].root != tree->root)
            used = 0;
        uint32_t block = blocks ? tree->root * trees : 0;
        list_tree(w, tree, (block + used) * w->parts, height);
        used += (uint32_t)tree->weight;
    }
    free(height);
    return height && w->edges;
}

static void add_edge(struct weaving *w, const struct tree_edge *e,
                     unsigned part)
{
    for (uint32_t c = 0; c < e->copies; c++)
        gw_builder_add(w->builder, w->up ? e->dst : e->src,
                       w->up ? e->src : e->dst, e->first + c * w->parts + part,
                       w->up ? GW_ADD : GW_REPLACE);
}

/* The edges of depth d in part `step` + 1 - d. */
static void add_step(struct weaving *w, unsigned step)
{
    gw_builder_step(w->builder);
    for (size_t i = 0; i < w->count; i++) {
        const struct tree_edge *e = &w->edges[i];
        unsigned first = e->depth - 1;
        if (step >= first && step - first < w->parts)
            add_edge(w, e, step - first);
    }
}

static void add_steps(struct weaving *w, bool up)
{
    unsigned steps = w->depth + w->parts - 1;
    w->up = up;
    if (w->count > 1)
        qsort(w->edges, w->count, sizeof *w->edges, up ? before_up : before);
    for (unsigned s = 0; s < steps; s++)
        add_step(w, up ? steps - 1 - s : s);
}

enum gw_err gw__tree_plan(const struct gw__forest *forest,
                          enum gw_collective collective, unsigned root,
                          unsigned trees, unsigned parts, struct gw_plan **plan,
                          struct gw_error *why)
{
    struct weaving w = {.forest = forest, .parts = parts};
    bool blocks = collective != GW_BROADCAST && collective != GW_REDUCE;
    unsigned chunks = trees * parts * (blocks ? forest->ranks : 1);
    *plan = NULL;
    enum gw_err err = gw_builder_new(collective, forest->ranks, chunks, root,
                                     &w.builder, why);
    if (err)
        return err;
    gw_builder_name(w.builder, "synthesis");
    if (!list_edges(&w, trees, blocks)) {
        free(w.edges);
        gw_builder_destroy(&w.builder);
        return gw_fail(why, GW_ENOMEM, "a plan of %zu trees",
                       forest->tree_count);
    }
    if (gw_collective_reduces(collective))
        add_steps(&w, true);
    if (collective != GW_REDUCE && collective != GW_REDUCE_SCATTER)
        add_steps(&w, false);
    free(w.edges);
    return gw_builder_finish(&w.builder, plan, why);
}
