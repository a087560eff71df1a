/* SPDX-License-Identifier: MIT
 *
 * Measuring calls of all algorithms, and from that the prices of a bill.
 */
#ifndef GW__SAMPLES_H
#define GW__SAMPLES_H

#include "coll/bill.h"

/* Collective: fills costs->figures on rank 0. */
enum gw_err gw__samples_fit(struct gw_comm *comm, struct gw_wire_costs *costs);

#endif
