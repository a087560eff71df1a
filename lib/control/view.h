/* SPDX-License-Identifier: MIT
 *
 * A view: who is in the ring, in which order, since which epoch. It is what a
 * member has to know; the registry makes it and the driver carries it.
 */
#ifndef GW__CONTROL_VIEW_H
#define GW__CONTROL_VIEW_H

#include "bytes.h"

#include <base/machine.h>

struct gw__ring_member {
    unsigned node;
    struct gw__id incarnation;
    uint64_t from_op; /* takes part in ops from here on */
};

/* Position in `ring` is the rank. */
struct gw__view {
    uint64_t epoch;      /* grows with every change of members */
    uint64_t ring_epoch; /* the epoch in which the ring changed last: the one
                            that its messages carry */
    uint64_t op_floor;   /* all members have completed the ops below */
    unsigned ring_count;
    struct gw__ring_member ring[GW__NODES_MAX];
};

/* The rank of a node, or -1. */
int gw__view_rank(const struct gw__view *view, unsigned node);
/* Its nodes as bits. */
uint64_t gw__view_nodes(const struct gw__view *view);

void gw__put_ring_member(struct gw__writer *, const struct gw__ring_member *);
void gw__get_ring_member(struct gw__reader *, struct gw__ring_member *);

enum { GW__VIEW_BYTES_MAX = 32 + GW__NODES_MAX * 32 };
void gw__put_view(struct gw__writer *writer, const struct gw__view *view);
/* Bad when a node is there twice or is none. */
void gw__get_view(struct gw__reader *reader, struct gw__view *view);

#endif
