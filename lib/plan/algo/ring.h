/* SPDX-License-Identifier: MIT
 *
 * One round of a ring: a ring of all ranks, or one of many that run at the same
 * time (hierarchical all-reduce). Member j is rank first + j * stride and owns
 * block j at the end. Block j consists of the parts j, j + members, ... of
 * `parts`; a part has `width` chunks.
 *
 * In round i of the reduce-scatter member j passes block j - 1 - i on to member
 * j + 1, which adds it; after members - 1 rounds block j is complete at j. In
 * round i of the all-gather member j passes block j - i on. Rounds past the
 * last add nothing, so that rings of unequal length can share steps.
 */
#ifndef GW__RING_H
#define GW__RING_H

#include <gradwire/plan.h>

struct gw__ring {
    unsigned first, stride, members; /* ranks */
    unsigned chunk, width, parts;    /* chunks chunk .. chunk+width*parts-1 */
};

/* `.valid` where every rank pairs up with a neighbour: p even, or 1. */
bool gw__ring_pairs_up(unsigned ranks);

/* All ranks, one chunk per block. */
struct gw__ring gw__ring_of(unsigned ranks);

/* Both add to the current step. */
void gw__ring_reduce(struct gw_builder *builder, const struct gw__ring *ring,
                     unsigned round);
void gw__ring_gather(struct gw_builder *builder, const struct gw__ring *ring,
                     unsigned round);

#endif
