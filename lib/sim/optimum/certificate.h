/* SPDX-License-Identifier: MIT
 *
 * A certificate: what shows that a ratio of blocks to capacity is the optimum
 * of a graph. Data starts in the ranks, `weight` blocks in each, and all blocks
 * must reach each sink.
 *
 *   cut    the blocks that start inside of it must leave it through its edges,
 *          so no plan takes less than blocks / capacity per block
 *   flows  one per sink: all blocks reach it within that time. By the theorem
 *          of Edmonds (1973) one flow per sink is enough for trees that reach
 *          all sinks at once
 *
 * certificate.c judges one. It shares no code with the solver (cut.c) and does
 * not include its headers.
 */
#ifndef GW__CERTIFICATE_H
#define GW__CERTIFICATE_H

#include <gradwire/base.h>

struct gw__certificate {
    unsigned ranks, nodes;
    size_t edges;
    uint32_t *from, *to;    /* of each edge */
    int64_t *edge_capacity; /* of each edge */
    int64_t *weight;        /* of each rank */
    unsigned sink_count;
    uint32_t *sinks;
    bool *inside; /* of each node: on the cut's side of the data */
    int64_t blocks, capacity;
    /* [sink][ranks + edges]: the flow that starts in each rank, then on each
     * edge. In time `blocks` an edge carries blocks * edge_capacity, and
     * `capacity` per block of weight starts in a rank. */
    int64_t *flow;
};

/* GW_EINTERNAL: the certificate proves nothing, and why. */
GW_MUST_CHECK enum gw_err
gw__certificate_check(const struct gw__certificate *certificate,
                      struct gw_error *why);
/* GW_ENOMEM. Free it with gw__certificate_fini, also after a failure. */
GW_MUST_CHECK enum gw_err
gw__certificate_init(struct gw__certificate *certificate, unsigned ranks,
                     unsigned nodes, size_t edges, struct gw_error *why);
void gw__certificate_fini(struct gw__certificate *certificate);

#endif
