/* SPDX-License-Identifier: MIT
 *
 * Assigns observers to members. In a ring of p members each member is watched
 * by its two neighbours, whose links it uses anyway, and by one more, which
 * detects a cut between a neighbour and it. The third is a permutation without
 * fixed points and without neighbours, drawn from the epoch. All members can
 * compute it, and each member watches exactly one non-neighbour. A cycle with a
 * random matching has, almost always, a diameter of about log2 p (Bollobás,
 * Chung, "The diameter of a cycle plus a random matching", SIAM J. Disc. Math.
 * 1, 1988). So the contents of beats reach all members in few hops. Rapid
 * (Suresh et al., ATC 2018) watches along an expander for the same reason.
 */
#ifndef GW__CLUSTER_OBSERVERS_H
#define GW__CLUSTER_OBSERVERS_H

#include <base/machine.h>

struct gw__observers {
    unsigned count;
    uint16_t stranger[GW__NODES_MAX]; /* observer of rank i; p < 4: i itself */
};

void gw__observers_make(struct gw__observers *observers, unsigned count,
                        uint64_t epoch);
/* As sets of ranks: the observers of `rank`, and the ranks that it observes. */
struct gw_nodes gw__observers_of(const struct gw__observers *, unsigned rank);
struct gw_nodes gw__observers_observed(const struct gw__observers *,
                                       unsigned rank);

#endif
