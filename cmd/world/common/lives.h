/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes that a simulated node has been, and their incarnations. After a
 * crash it is another process; one that was convicted, or has left, begins anew
 * as another incarnation of the same.
 */
#ifndef WORLD_LIVES_H
#define WORLD_LIVES_H

#include <cluster/registry/registry.h>
#include <sim/sim.h>

/* Of a seed; zero at first. */
struct lives {
    unsigned processes[GW__NODES_MAX];    /* how many a node has been, */
    unsigned incarnations[GW__NODES_MAX]; /* and incarnations in all */
    uint64_t stays; /* nodes that begin anew as the same */
};

/* A node starts: the high half of its incarnation. */
uint64_t lives_next(struct lives *lives, unsigned node);
/* It will start again after so long, as the same process. */
void lives_again(struct lives *lives, struct gw__sim *sim, unsigned node,
                 uint64_t after_ns);

#endif
