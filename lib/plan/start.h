/* SPDX-License-Identifier: MIT
 *
 * A plan usually begins with what its collective says that the ranks hold. A
 * recovery begins with what the survivors of a death hold: partial sums of this
 * or that set of contributors, and it must end with one set everywhere. Such a
 * plan is verified against its own start; contributors are numbers below 64
 * that need not be ranks (the dead are among them).
 */
#ifndef GW__PLAN_START_H
#define GW__PLAN_START_H

#include <gradwire/plan.h>

enum { GW__CONTRIBUTORS_MAX = 64 };

struct gw__start {
    const uint64_t *sets; /* [rank * chunks + chunk]: contributors as bits of
                             the value that is there; 0: none is */
    uint64_t full;        /* what each set must be at the end */
};

/* As gw_plan_verify, from another start. Plans of at most 64 ranks, of
 * all-reduce. */
GW_MUST_CHECK enum gw_err gw__plan_verify_from(const struct gw_plan *plan,
                                               const struct gw__start *start,
                                               unsigned link_chunks,
                                               struct gw_verdict *verdict,
                                               struct gw_error *why);

#endif
