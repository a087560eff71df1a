/* SPDX-License-Identifier: MIT
 *
 * A view: the members of the ring, their order, and the epoch since which it
 * holds. It is the state that a member needs; the registry makes it and the
 * driver transports it.
 */
#ifndef GW__CLUSTER_VIEW_H
#define GW__CLUSTER_VIEW_H

#include "base/bytes.h"

#include <base/machine.h>

struct gw__ring_member {
    unsigned node;
    struct gw__id incarnation;
    uint64_t from_op; /* takes part in ops from this one on */
};

/* A requested order of a ring: first the named nodes, in this order, then the
 * others in their present order. */
struct gw__order {
    unsigned count;
    uint16_t nodes[GW__NODES_MAX];
};

/* Position in `ring` is the rank. */
struct gw__view {
    uint64_t epoch;            /* grows with every change of members */
    uint64_t ring_epoch;       /* the epoch of the last change of the ring: its
                            messages carry it */
    uint64_t op_low_watermark; /* all members have completed the ops below */
    uint64_t from_op;          /* the first op in this order, and of its newest
                            members: the last admission sets both */
    unsigned ring_count;
    bool indexed; /* `ranks` has the rank of every node, or NO_RANK */
    struct gw__ring_member ring[GW__NODES_MAX];
    uint16_t ranks[GW__NODES_MAX];
};

/* In a ring of more members several often end together: those of a host, of a
 * rack. One new view for all is worth this wait after the first. */
enum { GW__GATHER_ABOVE = 16, GW__GATHER_NS = 1000000 };

/* As if zeroed, without the entries of `ring`. */
void gw__view_clear(struct gw__view *view);
/* Copies only the members that there are. */
void gw__view_copy(struct gw__view *to, const struct gw__view *from);
/* The rank of a node, or -1. */
int gw__view_rank(const struct gw__view *view, unsigned node);
struct gw_nodes gw__view_nodes(const struct gw__view *view);

/* Members that take part in `op`, in the order of their places: by seniority,
 * and by number among those that joined together. Neither a joiner nor a new
 * order changes the place of a member that has begun the op. */
unsigned gw__ring_places(const struct gw__ring_member *ring, unsigned count,
                         uint64_t op, uint16_t places[GW__NODES_MAX]);

void gw__view_reorder(struct gw__view *view, const struct gw__order *order);
/* Would gw__view_reorder change nothing? */
bool gw__view_in_order(const struct gw__view *view,
                       const struct gw__order *order);

/* Is the order of the members of both different? */
bool gw__view_is_moved(const struct gw__view *before,
                       const struct gw__view *now);

void gw__put_order(struct gw__writer *writer, const struct gw__order *order);
/* Invalid if a node is repeated or does not exist. */
void gw__get_order(struct gw__reader *reader, struct gw__order *order);

void gw__put_ring_member(struct gw__writer *, const struct gw__ring_member *);
void gw__get_ring_member(struct gw__reader *, struct gw__ring_member *);

enum { GW__VIEW_BYTES_MAX = 40 + GW__NODES_MAX * 32 };
void gw__put_view(struct gw__writer *writer, const struct gw__view *view);
/* Invalid if a node is repeated or does not exist. */
void gw__get_view(struct gw__reader *reader, struct gw__view *view);

#endif
