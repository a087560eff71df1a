/* SPDX-License-Identifier: MIT
 *
 * Trees along the fixed routes of a topology. Edge splitting (split.c) assumes
 * that a message may take any path. Where the topology's routes leave some links
 * unused, its trees collide on the others. Here a tree is built of routes only,
 * and each link has a price that grows with its load (multiplicative weights:
 * Garg, Konemann, SIAM J. Computing 37, 2007). A tree takes the cheapest routes;
 * then each is taken out and built again, which evens out the loads.
 *
 * There is no guarantee. The plan of these trees is one more candidate, which
 * the simulator compares with the others.
 */
#include "synthesis.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 6 };

/* The price of a link with the expected load is so many times (the exponent of e)
 * that of an idle one. */
static const double steepness = 6;
/* A route from a rank at depth d costs more by so much: trees stay flat. */
static const double depth_cost = 0.3;

struct route_trees {
    const struct gw_topology *topology;
    struct gw__forest *forest;
    unsigned ranks, links;
    uint32_t *path_begin; /* [src * ranks + dst], and the end of the last */
    uint32_t *paths;
    double *capacity; /* of each link, in trees at the expected load; 0: any */
    double *load;     /* of each link, in trees */
    double *price;
    double *cost; /* of each rank: of its cheapest route so far */
    bool *joined;
};

static bool list_paths(struct route_trees *t)
{
    unsigned links[GW_PATH_LINKS_MAX];
    size_t pairs = (size_t)t->ranks * t->ranks, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (unsigned src = 0; src < t->ranks; src++)
            for (unsigned dst = 0; dst < t->ranks; dst++) {
                unsigned length =
                    src == dst ? 0
                               : gw_topology_path(t->topology, src, dst, links);
                t->path_begin[src * t->ranks + dst] = (uint32_t)count;
                for (unsigned i = 0; pass && i < length; i++)
                    t->paths[count + i] = links[i];
                count += length;
            }
        t->path_begin[pairs] = (uint32_t)count;
        if (pass == 0 && !(t->paths = calloc(count + 1, sizeof *t->paths)))
            return false;
    }
    return true;
}

/* `rate_per_tree`: of a link whose expected load is one tree. */
static void set_capacities(struct route_trees *t, double rate_per_tree)
{
    for (unsigned l = 0; l < t->links; l++) {
        struct gw_topology_link link;
        gw_topology_link(t->topology, l, &link);
        t->capacity[l] = (double)link.rate / rate_per_tree;
    }
}

static void set_price(struct route_trees *t, uint32_t link)
{
    double capacity = t->capacity[link];
    t->price[link] =
        capacity > 0 ? exp(steepness * t->load[link] / capacity) / capacity : 0;
}

static void add_load(struct route_trees *t, uint32_t src, uint32_t dst,
                     double load)
{
    size_t pair = (size_t)src * t->ranks + dst;
    for (uint32_t i = t->path_begin[pair]; i < t->path_begin[pair + 1]; i++) {
        t->load[t->paths[i]] += load;
        set_price(t, t->paths[i]);
    }
}

static void add_tree_load(struct route_trees *t, const struct gw__tree *tree,
                          double load)
{
    for (uint32_t r = 0; r < t->ranks; r++)
        if (r != tree->root)
            add_load(t, tree->parent[r], r, load);
}

static double route_cost(const struct route_trees *t, uint32_t src,
                         uint32_t dst)
{
    size_t pair = (size_t)src * t->ranks + dst;
    double cost = 0;
    for (uint32_t i = t->path_begin[pair]; i < t->path_begin[pair + 1]; i++)
        cost += t->price[t->paths[i]];
    return cost;
}

/* The rank joins the tree; routes from it may be cheaper for others. */
static void join_tree(struct route_trees *t, struct gw__tree *tree,
                      uint32_t rank)
{
    t->joined[rank] = true;
    for (uint32_t r = 0; r < t->ranks; r++) {
        if (t->joined[r])
            continue;
        double cost =
            route_cost(t, rank, r) * (1 + depth_cost * tree->depth[rank]);
        if (cost >= t->cost[r])
            continue;
        t->cost[r] = cost;
        tree->parent[r] = rank;
        tree->depth[r] = tree->depth[rank] + 1;
    }
}

/* Builds the tree as Prim (1957) does, and loads its links. The prices change
 * with each route, so that a tree does not use a link too often itself. */
static void build_tree(struct route_trees *t, struct gw__tree *tree)
{
    assert(tree->parent && tree->depth);
    for (uint32_t r = 0; r < t->ranks; r++) {
        t->joined[r] = false;
        t->cost[r] = (double)INFINITY;
        tree->parent[r] = tree->root;
        tree->depth[r] = 0;
    }
    join_tree(t, tree, tree->root);
    for (unsigned joined = 1; joined < t->ranks; joined++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t r = 0; r < t->ranks; r++)
            if (!t->joined[r] &&
                (best == UINT32_MAX || t->cost[r] < t->cost[best]))
                best = r;
        add_load(t, tree->parent[best], best, 1);
        join_tree(t, tree, best);
    }
}

static bool make_trees(struct route_trees *t, const int64_t *weight,
                       unsigned trees)
{
    struct gw__forest *f = t->forest;
    f->ranks = t->ranks;
    f->trees = calloc((size_t)t->ranks * trees, sizeof *f->trees);
    f->tree_room = f->trees ? (size_t)t->ranks * trees : 0;
    for (uint32_t root = 0; f->trees && root < t->ranks; root++)
        for (unsigned i = 0; weight[root] && i < trees; i++) {
            uint32_t *both = calloc(2 * (size_t)t->ranks, sizeof *both);
            if (!both)
                return false;
            f->trees[f->tree_count++] =
                (struct gw__tree){.root = root,
                                  .weight = 1,
                                  .parent = both,
                                  .depth = both + t->ranks};
        }
    return f->trees;
}

/* The first trees of all roots, then the second ones, and so on. */
static void build_all(struct route_trees *t, unsigned trees)
{
    struct gw__forest *f = t->forest;
    for (unsigned sweep = 0; sweep <= SWEEPS; sweep++)
        for (unsigned i = 0; i < trees; i++)
            for (size_t k = i; k < f->tree_count; k += trees) {
                if (sweep > 0)
                    add_tree_load(t, &f->trees[k], -1);
                build_tree(t, &f->trees[k]);
            }
}

enum gw_err gw__route_trees(const struct gw_topology *topology, unsigned ranks,
                            const int64_t *weight, unsigned trees,
                            double rate_per_tree, struct gw__forest *forest,
                            struct gw_error *why)
{
    struct route_trees t = {.topology = topology,
                            .forest = forest,
                            .ranks = ranks,
                            .links = gw_topology_links(topology)};
    size_t pairs = (size_t)ranks * ranks;
    *forest = (struct gw__forest){0};
    t.path_begin = calloc(pairs + 1, sizeof *t.path_begin);
    t.capacity = calloc(3 * (size_t)t.links + 1, sizeof *t.capacity);
    t.cost = calloc(ranks, sizeof *t.cost);
    t.joined = calloc(ranks, sizeof *t.joined);
    bool room = t.path_begin && t.capacity && t.cost && t.joined;
    if (room) {
        t.load = t.capacity + t.links;
        t.price = t.load + t.links;
        set_capacities(&t, rate_per_tree);
        for (uint32_t l = 0; l < t.links; l++)
            set_price(&t, l);
        room = list_paths(&t) && make_trees(&t, weight, trees);
    }
    if (room)
        build_all(&t, trees);
    free(t.joined);
    free(t.cost);
    free(t.capacity);
    free(t.paths);
    free(t.path_begin);
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "trees between %u ranks", ranks);
}
