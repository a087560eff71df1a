/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantiles of measured times. Pure.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

/* Sorts `samples` upwards, in place. */
void stats_sort(double *samples, size_t count);
/* The smallest sample that at least `share` of all do not exceed (nearest
 * rank): 0.5 is the median, 0 the least, 1 the greatest. The result is always a
 * measured value; NaN when count is 0. */
double stats_quantile(const double *sorted, size_t count, double share);
/* The usual median, the mean of the two middle ones of an even number: for few
 * samples. NaN when count is 0. */
double stats_median(const double *sorted, size_t count);

#endif
