/* SPDX-License-Identifier: MIT
 *
 * Timing of a step of a layout:
 *   layout_time.c       operators, and the whole step
 *   layout_time_call.c  one collective or message
 *   layout_time_end.c   communication after the last pass
 *   layout_axis.c       all groups of an axis on the topology
 */
#ifndef GW__PIPE_LAYOUT_TIME_H
#define GW__PIPE_LAYOUT_TIME_H

#include "layout_axis.h"
#include "layout_parts.h"

#include <gradwire/pipe.h>

#include <assert.h>

/* Microseconds per micro-batch in a virtual stage, and of its messages. */
struct gw__virtual_stage_times {
    double *forward, *input, *weight, *activation, *gradient;
};

struct gw__timing {
    struct gw_layout_timer *timer;
    const struct gw_layout *layout;
    const struct gw_schedule *schedule;
    enum gw_mesh_order order;
    struct gw_layout_time *time;
    unsigned call_room;
    struct gw__virtual_stage_times virtual_stage;
    /* Of each virtual stage, per micro-batch, all passes. */
    double *compute, *tensor, *data;
    double *all;      /* the memory of all arrays above */
    uint64_t *blocks; /* of each stage */
};

static inline unsigned gw__timing_stage(const struct gw__timing *t,
                                        unsigned operator_index)
{
    assert(t->layout->options.mesh.pipe > 0);
    return t->layout->op_layouts[operator_index].virtual_stage %
           t->layout->options.mesh.pipe;
}

/* Times the call `axis`, whose mesh, group and order are set here, and records
 * it with the kind, stage, index and calls of `call`. *us is the time of one
 * call. */
GW_MUST_CHECK enum gw_err gw__timing_call(struct gw__timing *t,
                                          struct gw__axis_call axis,
                                          struct gw_layout_call call,
                                          double *us, struct gw_error *why);
/* Adds the times of the calls at the step's end. */
GW_MUST_CHECK enum gw_err gw__timing_end(struct gw__timing *t,
                                         double *tensor_us, double *data_us,
                                         struct gw_error *why);

#endif
