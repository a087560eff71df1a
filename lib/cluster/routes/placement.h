/* SPDX-License-Identifier: MIT
 *
 * What a policy of placement (gradwire/placement.h) says of all slots, for the
 * command PLACE. Pure, if the policy is.
 */
#ifndef GW__CLUSTER_PLACEMENT_H
#define GW__CLUSTER_PLACEMENT_H

#include "route.h"

#include <gradwire/placement.h>

struct gw__placement_case {
    unsigned slots;
    unsigned replicas;              /* wanted; fewer where servers are fewer */
    uint64_t servers;               /* that may have some, as bits */
    double weight[GW_PS_SLOTS_MAX]; /* above 0; only how they compare counts */
    const struct gw__slot_route *now; /* [slots]; NULL: nobody has anything */
};

/* Asks for every replica of every slot, the heaviest slot first. GW_EINVAL: no
 * server, or the policy picks one that is not there. */
GW_MUST_CHECK enum gw_err
gw__placement_ask(const struct gw_placement *policy,
                  const struct gw__placement_case *given,
                  struct gw__advice *advice, struct gw_error *why);

#endif
