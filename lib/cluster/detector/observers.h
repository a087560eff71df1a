/* SPDX-License-Identifier: MIT
 *
 * Who watches whom. In a ring of p members each is watched by its two
 * neighbours, whose links it uses anyway, and by one more, so that a cut
 * between a neighbour and it finds a witness. The third is a permutation
 * without fixed points and without neighbours, drawn from the epoch: everybody
 * can compute it, each member watches exactly one stranger, and a cycle with a
 * random matching laid over it has, almost always, a diameter of about log2 p
 * (Bollobás, Chung, "The diameter of a cycle plus a random matching", SIAM J.
 * Disc. Math. 1, 1988): what beats carry reaches everybody in few hops. Rapid
 * (Suresh et al., ATC 2018) watches along an expander for the same reason.
 */
#ifndef GW__CLUSTER_OBSERVERS_H
#define GW__CLUSTER_OBSERVERS_H

#include <base/machine.h>

struct gw__observers {
    unsigned count;
    uint8_t stranger[GW__NODES_MAX]; /* who watches rank i; p < 4: i itself */
};

void gw__observers_make(struct gw__observers *observers, unsigned count,
                        uint64_t epoch);
/* Ranks as bits: who watches `rank`, and whom it watches. */
uint64_t gw__observers_of(const struct gw__observers *, unsigned rank);
uint64_t gw__observers_watched(const struct gw__observers *, unsigned rank);

#endif
