/* SPDX-License-Identifier: MIT
 *
 * The cut that limits a collective in a graph, with its certificate.
 */
#ifndef GW__CUT_H
#define GW__CUT_H

#include "certificate.h"
#include "network.h"

#define GW__NO_SINK UINT32_MAX

/* The data that moves: `weight` blocks start in each rank and must reach all
 * ranks, or only `sink`. */
struct gw__demand {
    const int64_t *weight; /* of each rank */
    uint32_t sink;         /* GW__NO_SINK: all ranks */
    bool reversed;         /* in the graph with all edges turned around */
};

/* Finds the cut with the largest ratio of blocks to capacity and fills the
 * certificate, which has been checked. GW_EDATA: a rank cannot be reached.
 * GW_ENOMEM; GW_EINTERNAL. Free the certificate also after a failure. */
GW_MUST_CHECK enum gw_err gw__cut_find(const struct gw__network *network,
                                       const struct gw__demand *demand,
                                       struct gw__certificate *certificate,
                                       struct gw_error *why);

/* The least capacity from the ranks in `group` to all other ranks; -1: out of
 * memory. */
int64_t gw__cut_of_group(const struct gw__network *network, const bool *group);

#endif
