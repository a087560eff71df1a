/* SPDX-License-Identifier: MIT
 *
 * The prediction for a plan that is not of the library.
 */
#ifndef GW__CHOOSE_H
#define GW__CHOOSE_H

#include <gradwire/coll.h>

/* The time of a user's plan under these costs, in microseconds: windows run it in
 * one pass if it is direct. GW_ENOMEM; GW_EINVAL as gw_plan_price. */
GW_MUST_CHECK enum gw_err gw__plan_predict_us(const char *wire,
                                              const struct gw_wire_costs *costs,
                                              const struct gw_plan *plan,
                                              size_t count, size_t elem_bytes,
                                              double *us, struct gw_error *why);

#endif
