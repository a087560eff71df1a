/* SPDX-License-Identifier: MIT
 *
 * Measures calls of all algorithms and finds the coefficients of the cost model
 * from them.
 */
#ifndef GW__SAMPLES_H
#define GW__SAMPLES_H

#include "cost_model.h"

struct gw__sampling;

/* Collective, except gw__samples_end. On failure the communicator fails and *s
 * is NULL. */
enum gw_err gw__samples_begin(struct gw_comm *comm, struct gw__sampling **s);
/* Runs every algorithm once at every size of part `part` of `parts`, counted
 * from 0, in order. */
enum gw_err gw__samples_round(struct gw__sampling *s, unsigned part,
                              unsigned parts);
/* Fills costs->figures on rank 0, if there was a round. */
enum gw_err gw__samples_fit(struct gw__sampling *s,
                            struct gw_wire_costs *costs);
void gw__samples_end(struct gw__sampling **s);

#endif
