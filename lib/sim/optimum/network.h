/* SPDX-License-Identifier: MIT
 *
 * A topology as a directed graph with integer capacities, for the bounds and
 * the synthesis of plans. Nodes 0 .. ranks - 1 are the ranks; the others are
 * switches, which forward and hold no data.
 */
#ifndef GW__NETWORK_H
#define GW__NETWORK_H

#include <gradwire/optimum.h>

/* The link of an edge inside a host, without a limit. */
#define GW__NO_LINK UINT32_MAX

struct gw__network_edge {
    uint32_t from, to;
    uint32_t link; /* of the topology, or GW__NO_LINK */
    int64_t capacity;
    uint64_t latency_ns;
};

struct gw__network {
    unsigned ranks, nodes;
    size_t edge_count, edge_room;
    struct gw__network_edge *edges;
    uint64_t unit; /* bytes per second of a capacity of 1 */
    bool limited;  /* a link has a rate */
};

/* Makes the graph of the first `ranks` ranks in the topology's order. `divided`:
 * the ranks of a host have equal shares of its NIC and inner link, so that every
 * switch sends as much as it receives. Otherwise they share them, and a bus may
 * seem to copy data, which a bound may assume, but a plan may not. The
 * greatest common divisor of all rates is the unit; links without a limit have
 * more than the sum of all other capacities, so that they are in no smallest
 * cut.
 * GW_EINVAL: too many ranks, or rates for which sums would not fit 64 bits;
 * GW_ENOMEM. Free it with gw__network_fini, also after a failure. */
GW_MUST_CHECK enum gw_err gw__network_init(struct gw__network *network,
                                           const struct gw_topology *topology,
                                           unsigned ranks, bool divided,
                                           struct gw_error *why);
void gw__network_fini(struct gw__network *network);

#endif
