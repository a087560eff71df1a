/* SPDX-License-Identifier: MIT
 *
 * One collective or message of a layout: its time, its bytes on each link, its
 * entry in the list of calls.
 */
#include "layout_time.h"

#include <stdlib.h>

static enum gw_err add_call(struct gw__timing *t,
                            const struct gw_layout_call *call,
                            struct gw_error *why)
{
    struct gw_layout_time *time = t->time;
    if (time->call_count == t->call_room) {
        unsigned room = t->call_room ? 2 * t->call_room : 16;
        void *moved = realloc(time->calls, room * sizeof *time->calls);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "%u collectives of a layout", room);
        time->calls = moved;
        t->call_room = room;
    }
    time->calls[time->call_count++] = *call;
    return GW_OK;
}

enum gw_err gw__timing_call(struct gw__timing *t, struct gw__axis_call axis,
                            struct gw_layout_call call, double *us,
                            struct gw_error *why)
{
    const struct gw__axis_time *known;
    bool sends = axis.axis == GW__AXIS_PIPE;
    axis.mesh = t->layout->options.mesh;
    axis.group = t->layout->options.shard_group;
    axis.order = t->order;
    enum gw_err err = gw__axis_time(t->timer, &axis, &known, why);
    if (err)
        return err;
    call.what = sends ? "send" : gw_collective_name(axis.collective);
    call.algo = known->algo;
    call.bytes = known->bytes;
    call.axis = axis.axis == GW__AXIS_TENSOR ? 'T' : sends ? 'P' : 'D';
    call.time_us = *us = known->time_us;
    for (unsigned i = 0; i < t->time->links; i++)
        t->time->link_bytes[i] += call.calls * known->link_bytes[i];
    return add_call(t, &call, why);
}
