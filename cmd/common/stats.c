/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantiles by nearest rank (Hyndman and Fan 1996, definition 1): no
 * interpolation, so that p99 is a time that an operation really took. The
 * median of a few samples interpolates: of two, neither is the median.
 */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, by_value);
}

double stats_quantile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return (double)NAN;
    double rank = ceil(share * (double)count);
    size_t index = rank < 1 ? 0 : (size_t)rank - 1;
    return sorted[index < count ? index : count - 1];
}

double stats_median(const double *sorted, size_t count)
{
    if (count == 0)
        return (double)NAN;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}
