/* SPDX-License-Identifier: MIT
 *
 * Measuring calls of all algorithms, and from that the prices of a bill.
 */
#ifndef GW__SAMPLES_H
#define GW__SAMPLES_H

#include "cost_model.h"

struct gw__sampling;

/* Collective, but for the end. The communicator is told of a failure, and *s is
 * NULL then. */
enum gw_err gw__samples_begin(struct gw_comm *comm, struct gw__sampling **s);
/* Every algorithm once, at every size; `part` of `parts`, from 0, in order: at
 * the sizes of that part. */
enum gw_err gw__samples_round(struct gw__sampling *s, unsigned part,
                              unsigned parts);
/* Fills costs->figures on rank 0, if there was a round. */
enum gw_err gw__samples_fit(struct gw__sampling *s,
                            struct gw_wire_costs *costs);
void gw__samples_end(struct gw__sampling **s);

#endif
