/* SPDX-License-Identifier: MIT
 *
 * Places all slots by a placement policy (gradwire/placement.h), for the
 * command PLACE. Pure, if the policy is.
 */
#ifndef GW__CLUSTER_PLACEMENT_H
#define GW__CLUSTER_PLACEMENT_H

#include "route.h"

#include <gradwire/placement.h>

struct gw__placement_case {
    unsigned slots;
    unsigned replicas;                /* wanted; fewer if there are fewer
                                       servers */
    struct gw_nodes servers;          /* candidates */
    double weight[GW_PS_SLOTS_MAX];   /* above 0; only the ratios count */
    const struct gw__slot_route *now; /* [slots]; NULL: no slot is placed */
};

/* Calls the policy for every replica of every slot, the heaviest slot first.
 * GW_EINVAL: there is no server, or the policy picks an invalid one;
 * GW_ENOMEM. */
GW_MUST_CHECK enum gw_err
gw__placement_run(const struct gw_placement *policy,
                  const struct gw__placement_case *input,
                  struct gw__advice *advice, struct gw_error *why);

#endif
