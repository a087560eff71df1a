/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a set of measured times says. Pure.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

/* Sorts `samples` upwards, in place. */
void stats_sort(double *samples, size_t count);
/* The smallest sample that at least `share` of all do not exceed (nearest
 * rank): share 0.5 is the median, 0.99 what 99 in 100 stay under, 0 the least,
 * 1 the greatest. It is always one that was measured. NaN when count is 0. */
double stats_quantile(const double *sorted, size_t count, double share);

#endif
