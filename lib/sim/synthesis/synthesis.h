/* SPDX-License-Identifier: MIT
 *
 * From a topology to a plan that reaches its bound (Zhao et al., "ForestColl",
 * arXiv 2402.06787). The steps, one file each:
 *
 *   scale.c       integer capacities: k trees per block, as few as possible
 *   trim.c        takes away the capacity that the bound does not need
 *   split.c       replaces switches by direct edges between ranks (edge
 *                 splitting: Mader 1978, Jackson 1988), evenly where that is
 *                 possible, along the routes of the topology
 *   split_exact.c the same, pair by pair, each as far as possible
 *   route_parts.c the routes of the topology
 *   pack.c        packs trees from every root into the edges (Edmonds 1973;
 *                 Bang-Jensen, Frank, Jackson 1995; Berczi, Frank 2010)
 *   route_trees.c the other way to trees: along the routes of the topology
 *   tree_plan.c   the trees as a plan
 *   flat_plan.c   plans for a host, whose ranks reach all others at once
 *   synthesis.c   all of it, and the choice among several such plans
 *
 * digraph.c has the graph that these share. Its invariant, between any two of
 * the steps: from a source with an edge of capacity `start` to each rank, a
 * flow of the sum of all `start` reaches each rank.
 */
#ifndef GW__SYNTHESIS_H
#define GW__SYNTHESIS_H

#include "sim/optimum/max_flow.h"
#include "sim/optimum/network.h"

#include <gradwire/synthesis.h>

/* ---- digraph.c ---- */

/* An edge with the physical links that it stands for. */
struct gw__digraph_edge {
    uint32_t from, to;
    int64_t capacity;
    uint32_t path, length; /* in digraph.paths */
};

struct gw__digraph {
    unsigned ranks, nodes;
    size_t edge_count, edge_room;
    struct gw__digraph_edge *edges;
    uint32_t *paths; /* links of the topology */
    size_t path_count, path_room;
    int64_t *start; /* of each rank: the trees that have it as their root */
    int64_t total;  /* sum of all `start` */
    bool full;      /* out of memory */
};

/* GW_ENOMEM. Free it with gw__digraph_fini, also after a failure. */
GW_MUST_CHECK enum gw_err gw__digraph_init(struct gw__digraph *graph,
                                           const struct gw__network *network,
                                           struct gw_error *why);
void gw__digraph_fini(struct gw__digraph *graph);
/* Adds an edge whose path is that of `first`, then that of `second`, with so
 * much capacity. */
void gw__digraph_add(struct gw__digraph *graph, size_t first, size_t second,
                     int64_t capacity);
/* Removes the edges without capacity and the loops. */
void gw__digraph_compact(struct gw__digraph *graph);
/* Does the invariant hold? False also if memory runs out (graph->full). */
bool gw__digraph_holds(struct gw__digraph *graph);

/* ---- scale.c ---- */

/* Sets capacities and starts: `times` trees per unit of weight, or as many as
 * the exact bound needs times that. If these were more than `most`, fewer, at a
 * loss of less than a percent if possible. Returns the trees per block; 0:
 * out of memory. */
unsigned gw__scale(struct gw__digraph *graph, const struct gw__network *network,
                   const int64_t *weight, int64_t blocks, int64_t capacity,
                   unsigned times, unsigned most);

/* ---- trim.c ---- */

void gw__trim(struct gw__digraph *graph);

/* ---- route_parts.c ---- */

/* The parts of all routes between ranks: a set of their hashes. */
struct gw__route_parts {
    uint64_t *parts;
    size_t room, count;
};
GW_MUST_CHECK enum gw_err
gw__route_parts_init(struct gw__route_parts *routes,
                     const struct gw_topology *topology, unsigned ranks,
                     struct gw_error *why);
void gw__route_parts_fini(struct gw__route_parts *routes);
/* Is the path of one edge, then that of the other, a part of a route? */
bool gw__route_parts_have(const struct gw__route_parts *routes,
                          const struct gw__digraph *graph, size_t first,
                          size_t second);

/* ---- split.c, split_exact.c ---- */

/* Removes all nodes but the ranks. GW_EINTERNAL: the invariant would be lost. */
GW_MUST_CHECK enum gw_err gw__split_all(struct gw__digraph *graph,
                                        const struct gw__route_parts *routes,
                                        struct gw_error *why);
/* Splits the edges of one node, pair by pair. */
void gw__split_exact(struct gw__digraph *graph, uint32_t node,
                     const struct gw__route_parts *routes);
/* Removes the edges that are left at a node without ranks. */
void gw__split_finish(struct gw__digraph *graph, uint32_t node);

/* ---- pack.c ---- */

/* A tree in `weight` copies. */
struct gw__tree {
    uint32_t root;
    int64_t weight;
    uint32_t *parent; /* of each rank; its own number: not in the tree, or the
                         root */
    uint32_t *depth;
};

struct gw__forest {
    unsigned ranks;
    size_t tree_count, tree_room;
    struct gw__tree *trees; /* root by root */
};

/* Packs `start` trees per rank into the edges of a graph without switches.
 * GW_EINTERNAL: it was not possible, so the invariant did not hold; GW_ENOMEM.
 * Free the forest also after a failure. */
GW_MUST_CHECK enum gw_err gw__pack_trees(struct gw__digraph *graph,
                                         struct gw__forest *forest,
                                         struct gw_error *why);
void gw__forest_fini(struct gw__forest *forest);

/* ---- route_trees.c ---- */

/* Makes `trees` trees for each rank with a weight. `rate_per_tree`: the bytes per
 * second of a link that should be in one tree. GW_ENOMEM. Free the forest also
 * after a failure. */
GW_MUST_CHECK enum gw_err gw__route_trees(const struct gw_topology *topology,
                                          unsigned ranks, const int64_t *weight,
                                          unsigned trees, double rate_per_tree,
                                          struct gw__forest *forest,
                                          struct gw_error *why);

/* ---- tree_plan.c ---- */

/* Cuts each block into `trees` times `parts` chunks and sends them down the
 * trees, or up to be added, or both. */
GW_MUST_CHECK enum gw_err gw__tree_plan(const struct gw__forest *forest,
                                        enum gw_collective collective,
                                        unsigned root, unsigned trees,
                                        unsigned parts, struct gw_plan **plan,
                                        struct gw_error *why);

/* ---- flat_plan.c ---- */

/* Makes the flat plan at *next, which is 0 at first, and advances *next. *plan is
 * NULL when no more are left. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__flat_plan(const struct gw_synthesis *wanted,
                                        size_t *next, struct gw_plan **plan,
                                        struct gw_error *why);

#endif
