/* SPDX-License-Identifier: MIT
 *
 * Do all ranks of an all-reduce add each chunk in the same order? Floating-point
 * sums depend on the order, so ranks that add in different orders have results
 * of different bits, and the states of their members would differ.
 *
 * The plan is executed with expressions instead of values. An input is a number
 * that identifies its rank, and a sum is a hash of its two operands. Addition is
 * commutative in IEEE 754, but not associative, so the hash is the same for
 * a + b and b + a, and for no other expression. Several values that a rank
 * receives in one step are added with its own in ascending order of ranks, as
 * the engine does (coll/engine.c).
 */
#ifndef GW__RING_ADDITION_ORDER_H
#define GW__RING_ADDITION_ORDER_H

#include <gradwire/plan.h>

/* Of a verified plan without scratch. GW_ENOTSUP: the orders differ; the message
 * has a chunk and two ranks. GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__addition_order_check(const struct gw_plan *plan,
                                                   struct gw_error *why);

#endif
