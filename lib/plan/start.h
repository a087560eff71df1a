/* SPDX-License-Identifier: MIT
 *
 * Plans that begin with given contributor sets. A plan usually begins with the
 * values that its collective defines. A recovery begins with the partial sums
 * that the survivors hold, each with its own set of contributors, and must end
 * with one set everywhere. Such a plan is verified against this start.
 * Contributors are nodes, which need not be ranks (dead members are among
 * them).
 */
#ifndef GW__PLAN_START_H
#define GW__PLAN_START_H

#include <base/nodes/nodes.h>
#include <gradwire/plan.h>

struct gw__start {
    /* [rank * chunks + chunk]: contributors of the value there; empty: no
     * value */
    const struct gw_nodes *sets;
    struct gw_nodes full; /* the set required everywhere at the end */
};

/* As gw_plan_verify, from another start. Only for all-reduce plans of at most
 * GW__NODES_MAX ranks. */
GW_MUST_CHECK enum gw_err gw__plan_verify_from(const struct gw_plan *plan,
                                               const struct gw__start *start,
                                               unsigned link_chunks,
                                               struct gw_verdict *verdict,
                                               struct gw_error *why);

#endif
