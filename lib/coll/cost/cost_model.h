/* SPDX-License-Identifier: MIT
 *
 * The bill of a call: how much of everything that costs time it needs (cost_model.c),
 * and finding what each of it costs from the times of many calls (fit.c). Pure.
 */
#ifndef GW__COST_MODEL_H
#define GW__COST_MODEL_H

#include "cost_features.h"

/* The amounts, one a figure of gw_figure_name. */
void gw__cost_breakdown(const struct gw__cost_features *work,
                        const struct gw__setting *setting,
                        double amounts[GW_FIGURES_MAX]);
/* Their sum at these prices. */
double gw__cost_us(const double amounts[GW_FIGURES_MAX],
                   const double figures[GW_FIGURES_MAX]);

struct gw__sample {
    double amounts[GW_FIGURES_MAX];
    double us;
};
/* The figures, none negative, by which the samples are predicted with the least
 * relative errors; a few that are far off do not count for more. What no sample
 * needed costs what its lower neighbour of the same kind does. False when
 * memory is short. */
bool gw__fit(const struct gw__sample *samples, size_t count,
             double figures[GW_FIGURES_MAX]);

#endif
