/* SPDX-License-Identifier: MIT
 *
 * Algorithms by number, which is how ranks tell each other what they run: the
 * library's own as in gw_algo_list, then those of gw_algo_add in the order in
 * which they came. The processes of a run have added the same.
 */
#ifndef GW__PLAN_REGISTRY_H
#define GW__PLAN_REGISTRY_H

#include <gradwire/plan.h>

/* The algorithm must be one of them. */
unsigned gw__algo_number(const struct gw_algo *algo);
/* NULL: no such number. */
const struct gw_algo *gw__algo_numbered(unsigned number);
/* Not of the library: whatever it says of itself is to be proven. */
bool gw__algo_is_added(const struct gw_algo *algo);

#endif
