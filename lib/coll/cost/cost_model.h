/* SPDX-License-Identifier: MIT
 *
 * The cost breakdown of a call: the amount of each cost that it incurs
 * (cost_model.c). fit.c finds the coefficients from the times of many calls.
 * Pure.
 */
#ifndef GW__COST_MODEL_H
#define GW__COST_MODEL_H

#include "cost_features.h"

/* The amounts, one per name of gw_coefficient_name. */
void gw__cost_breakdown(const struct gw__cost_features *work,
                        const struct gw__setting *setting,
                        double features[GW_COEFFICIENTS_MAX]);
/* Their sum with these coefficients. */
double gw__cost_us(const double features[GW_COEFFICIENTS_MAX],
                   const double coefficients[GW_COEFFICIENTS_MAX]);

struct gw__sample {
    double features[GW_COEFFICIENTS_MAX];
    double us;
};
/* Finds the non-negative coefficients that predict the samples with the least
 * relative errors; a few outliers do not get more weight. A cost that no sample
 * contains gets the coefficient of its lower neighbour of the same kind. False
 * when memory is short. */
bool gw__fit(const struct gw__sample *samples, size_t count,
             double coefficients[GW_COEFFICIENTS_MAX]);

#endif
