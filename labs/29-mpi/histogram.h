/* SPDX-License-Identifier: MIT
 *
 * The function of bins.c.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

enum { BINS = 64 };

/* Adds up the bins of all ranks. Rank 0 has the sums in `all`. */
void add_bins(const long *mine, long *all);

#endif
