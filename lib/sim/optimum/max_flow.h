/* SPDX-License-Identifier: MIT
 *
 * Maximum flow in a directed graph with integer capacities: Dinic's algorithm
 * (Soviet Math. Dokl. 11, 1970). Arcs may be added between runs.
 */
#ifndef GW__MAX_FLOW_H
#define GW__MAX_FLOW_H

#include <gradwire/base.h>

#define GW__FLOW_NONE UINT32_MAX

struct gw__max_flow_arc {
    uint32_t to, next; /* the next arc of the same node */
    int64_t left;      /* residual capacity */
    int64_t capacity;
};

/* Arc 2 i is the i-th one, 2 i + 1 its reverse. */
struct gw__max_flow {
    unsigned nodes;
    uint32_t arc_count, arc_room;
    struct gw__max_flow_arc *arcs;
    uint32_t *first; /* arc of each node */
    uint32_t *level, *current, *queue, *via;
    bool full; /* out of memory: results mean nothing */
};

/* GW_ENOMEM. Free it with gw__max_flow_fini, also after a failure. */
GW_MUST_CHECK enum gw_err gw__max_flow_init(struct gw__max_flow *flow,
                                            unsigned nodes,
                                            struct gw_error *why);
void gw__max_flow_fini(struct gw__max_flow *flow);
/* Adds an arc and returns its index, or GW__FLOW_NONE: out of memory. */
uint32_t gw__max_flow_add(struct gw__max_flow *flow, uint32_t from, uint32_t to,
                          int64_t capacity);
/* Sets the capacity of an arc; it counts from the next gw__max_flow_find on. */
void gw__max_flow_set(struct gw__max_flow *flow, uint32_t arc,
                      int64_t capacity);
/* Returns the value of a maximum flow, or any value of at least `enough` as
 * soon as the flow has reached it. */
int64_t gw__max_flow_find(struct gw__max_flow *flow, uint32_t from, uint32_t to,
                          int64_t enough);
/* Returns the flow on an arc. */
int64_t gw__max_flow_on(const struct gw__max_flow *flow, uint32_t arc);
/* After gw__max_flow_find without `enough`: is the node on the source's side of the
 * smallest cut? */
bool gw__max_flow_inside(const struct gw__max_flow *flow, uint32_t node);

#endif
