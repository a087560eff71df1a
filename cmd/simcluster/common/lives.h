/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processes of a simulated node, and their incarnations. After a crash it
 * is another process. A member that was declared dead, or has left, starts
 * again as another incarnation of the same process.
 */
#ifndef SIMCLUSTER_LIVES_H
#define SIMCLUSTER_LIVES_H

#include <cluster/registry/registry.h>
#include <sim/sim.h>

/* For one seed; zero at first. */
struct lives {
    unsigned processes[GW__NODES_MAX];    /* of each node so far, */
    unsigned incarnations[GW__NODES_MAX]; /* and all incarnations */
    struct gw_nodes stays; /* nodes that start again as the same process */
};

/* A node starts: the high half of its incarnation. */
uint64_t lives_next(struct lives *lives, unsigned node);
/* Starts it again after this time, as the same process. */
void lives_again(struct lives *lives, struct gw__sim *sim, unsigned node,
                 uint64_t after_ns);

#endif
