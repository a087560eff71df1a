/* SPDX-License-Identifier: MIT
 *
 * Sets of nodes. The processes of a cluster (members, controllers, the
 * supervisor) are nodes, numbered from 0.
 */
#ifndef GRADWIRE_NODES_H
#define GRADWIRE_NODES_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Controllers send each member the whole list of members, in one message, when
 * it changes, and a set has a bit per node: these two bound the numbers. Nodes
 * beyond the members are for controllers and for processes that replace dead
 * ones. */
enum {
    GW_NODES_MAX = 576,
    GW_RING_MEMBERS_MAX = 512 /* of one ring */
};

/* Bit n % 64 of word n / 64: node n is in the set. */
struct gw_nodes {
    uint64_t words[GW_NODES_MAX / 64];
};

/* Returns whether the node is in the set; false for a number that no node can
 * have. */
GW_API bool gw_nodes_has(const struct gw_nodes *nodes, unsigned node);
/* Returns the number of nodes in the set. */
GW_API unsigned gw_nodes_count(const struct gw_nodes *nodes);

#ifdef __cplusplus
}
#endif
#endif
