/* SPDX-License-Identifier: MIT
 *
 * Maximum flow in a directed graph with integer capacities: Dinic's algorithm
 * (Soviet Math. Dokl. 11, 1970). Arcs may be added between runs.
 */
#ifndef GW__FLOW_H
#define GW__FLOW_H

#include <gradwire/base.h>

#define GW__FLOW_NONE UINT32_MAX

struct gw__flow_arc {
    uint32_t to, next; /* the next arc of the same node */
    int64_t left;      /* residual capacity */
    int64_t capacity;
};

/* Arc 2 i is the i-th one, 2 i + 1 its reverse. */
struct gw__flow {
    unsigned nodes;
    uint32_t arc_count, arc_room;
    struct gw__flow_arc *arcs;
    uint32_t *first; /* arc of each node */
    uint32_t *level, *current, *queue, *via;
    bool full; /* out of memory: results mean nothing */
};

/* GW_ENOMEM. Free it with gw__flow_fini, also after a failure. */
GW_MUST_CHECK enum gw_err gw__flow_init(struct gw__flow *flow, unsigned nodes,
                                        struct gw_error *why);
void gw__flow_fini(struct gw__flow *flow);
/* Adds an arc and returns its index, or GW__FLOW_NONE: out of memory. */
uint32_t gw__flow_add(struct gw__flow *flow, uint32_t from, uint32_t to,
                      int64_t capacity);
/* Sets the capacity of an arc; it counts from the next gw__flow_max on. */
void gw__flow_set(struct gw__flow *flow, uint32_t arc, int64_t capacity);
/* Returns the value of a maximum flow, or any value of at least `enough` as
 * soon as the flow has reached it. */
int64_t gw__flow_max(struct gw__flow *flow, uint32_t from, uint32_t to,
                     int64_t enough);
/* Returns the flow on an arc. */
int64_t gw__flow_on(const struct gw__flow *flow, uint32_t arc);
/* After gw__flow_max without `enough`: is the node on the source's side of the
 * smallest cut? */
bool gw__flow_inside(const struct gw__flow *flow, uint32_t node);

#endif
