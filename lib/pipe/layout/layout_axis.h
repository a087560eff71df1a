/* SPDX-License-Identifier: MIT
 *
 * One call by all groups of a mesh axis at the same time, on a topology. A
 * group has the ranks that differ only in the coordinate of this axis.
 */
#ifndef GW__PIPE_LAYOUT_AXIS_H
#define GW__PIPE_LAYOUT_AXIS_H

#include <gradwire/layout.h>

enum gw__axis {
    GW__AXIS_TENSOR,
    GW__AXIS_DATA, /* the ranks of a shard group */
    /* the ranks with equal position in different shard groups */
    GW__AXIS_ACROSS,
    /* messages from stage `stage` to stage `peer`, one per rank */
    GW__AXIS_PIPE
};

struct gw__axis_call {
    enum gw__axis axis;
    enum gw_collective collective; /* not for GW__AXIS_PIPE */
    struct gw_mesh mesh;
    enum gw_mesh_order order;
    unsigned group; /* ranks of a shard group */
    /* the calling stages: `stages` ones from `stage` on */
    unsigned stage, stages;
    unsigned peer;
    /* of each of these stages, in the elements of gw_call, such as a block of
     * an all-gather */
    const uint64_t *bytes;
};

struct gw__axis_time {
    double time_us;
    const char *algo;     /* "" for messages */
    uint64_t bytes;       /* mean of the sending ranks */
    uint64_t *link_bytes; /* owned by the timer */
};

/* *time is valid as long as the timer. */
GW_MUST_CHECK enum gw_err gw__axis_time(struct gw_layout_timer *timer,
                                        const struct gw__axis_call *call,
                                        const struct gw__axis_time **time,
                                        struct gw_error *why);
/* The links of the timer's topology, and its costs. */
unsigned gw__timer_links(const struct gw_layout_timer *timer);
const struct gw_layout_costs *
gw__timer_costs(const struct gw_layout_timer *timer);
unsigned gw__timer_ranks(const struct gw_layout_timer *timer);

#endif
