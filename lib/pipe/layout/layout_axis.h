/* SPDX-License-Identifier: MIT
 *
 * One call of all groups of a mesh axis at the same time, on a topology. The
 * groups of an axis are the ranks that differ in that coordinate alone.
 */
#ifndef GW__PIPE_LAYOUT_AXIS_H
#define GW__PIPE_LAYOUT_AXIS_H

#include <gradwire/layout.h>

enum gw__axis {
    GW__AXIS_TENSOR,
    GW__AXIS_DATA,   /* the ranks of a shard group */
    GW__AXIS_ACROSS, /* the ranks of equal place in different shard groups */
    GW__AXIS_PIPE    /* from stage `stage` to stage `peer`, a message a rank */
};

struct gw__axis_call {
    enum gw__axis axis;
    enum gw_collective collective; /* not of GW__AXIS_PIPE */
    struct gw_mesh mesh;
    enum gw_mesh_order order;
    unsigned group;         /* ranks of a shard group */
    unsigned stage, stages; /* which stages call: so many from that one */
    unsigned peer;
    const uint64_t *bytes; /* of each of these stages: the elements of gw_call,
                              that is a block of an all-gather, ... */
};

struct gw__axis_time {
    double time_us;
    const char *algo;     /* "" of messages */
    uint64_t bytes;       /* sent by a rank that sends, on average */
    uint64_t *link_bytes; /* the timer's */
};

/* *time stays as long as the timer. */
GW_MUST_CHECK enum gw_err gw__axis_time(struct gw_layout_timer *timer,
                                        const struct gw__axis_call *call,
                                        const struct gw__axis_time **time,
                                        struct gw_error *why);
/* Links of the timer's topology, and its costs. */
unsigned gw__timer_links(const struct gw_layout_timer *timer);
const struct gw_layout_costs *
gw__timer_costs(const struct gw_layout_timer *timer);
unsigned gw__timer_ranks(const struct gw_layout_timer *timer);

#endif
