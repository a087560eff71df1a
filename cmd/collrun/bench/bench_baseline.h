/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An earlier document of `collrun bench`, for --compare.
 */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "bench.h"
#include "collrun/plot/rows.h"

struct bench_baseline {
    const char *path;
    struct rows rows;
    bool *used;    /* one per row: it is the partner of a case */
    double *times; /* room for all rows */
};

/* GW_EDATA: not a document of `collrun bench`; then, and after success,
 * bench_baseline_free. */
GW_MUST_CHECK enum gw_err bench_baseline_read(struct bench_baseline *baseline,
                                              const char *path,
                                              struct gw_error *why);
/* The time of the case in the earlier document; NaN: it has no partner. */
double bench_baseline_us(struct bench_baseline *baseline,
                         const struct bench *bench,
                         const struct bench_case *item);
/* Sentences about rows without a partner, on either side. */
void bench_baseline_notes(const struct bench_baseline *baseline,
                          const struct bench *bench, struct output *output);
void bench_baseline_free(struct bench_baseline *baseline);

#endif
