/* SPDX-License-Identifier: MIT
 *
 * Algorithms by number; ranks exchange these numbers to name an algorithm.
 * First come the library's own, as in gw_algo_list, then those of gw_algo_add
 * in the order in which they were added. All processes of a run must add the
 * same ones.
 */
#ifndef GW__PLAN_REGISTRY_H
#define GW__PLAN_REGISTRY_H

#include <gradwire/plan.h>

/* The algorithm must be a registered one. */
unsigned gw__algo_number(const struct gw_algo *algo);
/* NULL: unknown number. */
const struct gw_algo *gw__algo_numbered(unsigned number);
/* Not the library's own: its claims about itself must be proven. */
bool gw__algo_is_added(const struct gw_algo *algo);

#endif
