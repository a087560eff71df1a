/* SPDX-License-Identifier: MIT
 *
 * The table of conversions of gradwire/layout.h, and the bytes that each one
 * sends. For a tensor of S bytes and T ranks a rank sends
 *
 *     slice            nothing
 *     all-gather       (T-1)/T S: its share to T-1 others, or round the ring
 *     reduce-scatter   (T-1)/T S
 *     all-reduce       2 (T-1)/T S: a reduce-scatter and an all-gather
 *     all-to-all       (T-1)/T S/T: its share except the own part
 *
 * Elements that do not divide by T are padded. Only an all-reduce can need
 * this; for the other conversions widths and rows have been checked.
 */
#include "layout_parts.h"

#include <assert.h>

static enum gw_collective collective_of(enum gw_sharding from,
                                        enum gw_sharding to)
{
    static const enum gw_collective table[GW_PARTIAL + 1][GW_PARTIAL] = {
        [GW_REPLICATED] = {GW_COLLECTIVES, GW_COLLECTIVES, GW_COLLECTIVES},
        [GW_BY_ROW] = {GW_ALLGATHER, GW_COLLECTIVES, GW_ALLTOALL},
        [GW_BY_FEATURE] = {GW_ALLGATHER, GW_ALLTOALL, GW_COLLECTIVES},
        [GW_PARTIAL] = {GW_ALLREDUCE, GW_REDUCE_SCATTER, GW_REDUCE_SCATTER},
    };
    return table[from][to];
}

struct gw_conversion gw__convert(enum gw_sharding from, enum gw_sharding to,
                                 unsigned rows, unsigned features,
                                 unsigned tensor)
{
    assert(to != GW_PARTIAL);
    struct gw_conversion made = {.needed = from != to,
                                 .from = from,
                                 .to = to,
                                 .collective = collective_of(from, to)};
    uint64_t elements = (uint64_t)rows * features;
    uint64_t share = (elements + tensor - 1) / tensor * sizeof(float);
    switch (made.collective) {
    case GW_ALLREDUCE:
        made.bytes = 2 * (tensor - 1) * share;
        break;
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
        made.bytes = (tensor - 1) * share;
        break;
    case GW_ALLTOALL:
        made.bytes = (tensor - 1) * (share / tensor);
        break;
    default:
        made.bytes = 0;
    }
    return made;
}
