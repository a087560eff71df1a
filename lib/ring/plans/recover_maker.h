/* SPDX-License-Identifier: MIT
 *
 * Shared by the two forms of a recovery:
 *   recover.c       the case, and one trip of each chunk around the ring
 *   recover_tree.c  trees
 */
#ifndef GW__RING_RECOVER_MAKER_H
#define GW__RING_RECOVER_MAKER_H

#include "ring/recover.h"

/* How one chunk is completed in the ring. */
struct gw__route {
    bool spread;    /* there are final copies */
    unsigned first; /* else: the rank whose value travels */
    unsigned adds;  /* hops until it is final */
};

struct gw__recovery_tree;

struct gw__recovery_maker {
    const struct gw__recovery_case *c;
    struct gw__recovery *recovery;
    struct gw__route *routes; /* of each chunk */
    struct gw_nodes *held;    /* [rank * chunks + chunk]; NULL: only inputs */
    /* [chunk * ranks + rank]: hops to its left up to a final copy */
    uint16_t *away;
    struct gw__recovery_tree *trees; /* of each chunk; NULL: a ring */
};

/* A rank's value of a chunk: a partial sum, or its input. */
static inline struct gw_nodes gw__held(const struct gw__recovery_maker *m,
                                       unsigned rank, unsigned chunk)
{
    if (m->held &&
        !gw__nodes_is_empty(m->held[(size_t)rank * m->c->chunks + chunk]))
        return m->held[(size_t)rank * m->c->chunks + chunk];
    return gw__nodes_only(m->c->nodes[rank]);
}

static inline struct gw_nodes *gw__start_of(const struct gw__recovery_maker *m,
                                            unsigned rank, unsigned chunk)
{
    return &m->recovery->sets[(size_t)rank * m->c->chunks + chunk];
}

/* Additions in a value with this set. */
static inline unsigned gw__sums_in(struct gw_nodes set)
{
    return gw__nodes_count(set) - 1;
}

/* Counts the chunk in the groups of struct gw__recovery: `sums` additions in
 * partial sums continue; a final copy is spread. */
void gw__count_chunk(const struct gw__recovery_maker *m, unsigned chunk,
                     unsigned sums);
void gw__count_spread(const struct gw__recovery_maker *m);

/* The tables of so many trees, freed as one block; NULL: out of memory. */
struct gw__recovery_tree *gw__recovery_trees_new(unsigned chunks,
                                                 unsigned ranks);
/* Chooses the values from which the ranks start, and emits the plan. */
void gw__recovery_trees(const struct gw__recovery_maker *m,
                        struct gw_builder *b);

#endif
