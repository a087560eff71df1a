/* SPDX-License-Identifier: MIT
 *
 * Rounds in which all ranks do the same relative to their own place: rank r
 * sends blocks r + a, r + b, ... to rank r + distance, modulo p. The circulant
 * algorithms, Bruck, PAT and the direct ones consist of such rounds only, so
 * they serve any p.
 */
#ifndef GW__SHIFT_H
#define GW__SHIFT_H

#include <gradwire/plan.h>

/* All sums are modulo `ranks`. */
struct gw__shift {
    unsigned ranks;
    unsigned distance; /* every rank r sends to rank r + distance */
    unsigned first;    /* the blocks r + first, */
    unsigned stride;   /* r + first + stride, ... */
    unsigned count;    /* number of blocks; not twice around */
    enum gw_action action;
};

/* Adds the transfers to the current step, ascending by block on each link. */
void gw__shift_add(struct gw_builder *builder, const struct gw__shift *shift);

/* A complete round in which every rank r extends its blocks r .. r+held-1 to r
 * .. r+next-1: it receives the missing ones from rank r + held. held < next <=
 * 2 held. */
void gw__shift_gather(struct gw_builder *builder, unsigned ranks, unsigned held,
                      unsigned next);

#endif
