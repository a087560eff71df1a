/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The data of a figure: series of points, read from result documents
 * (gradwire-results(5)) in the formats json and jsonl.
 *
 * A row becomes a point. Its series is named by the texts and numbers that
 * differ between rows: the algorithm, the wire, the number of ranks. Points of
 * a series with the same x are repetitions.
 */
#ifndef COLLRUN_PLOT_SERIES_H
#define COLLRUN_PLOT_SERIES_H

#include <gradwire/base.h>

struct point {
    double x, y;
    /* In the unit of y; NaN: not in the document. */
    double predicted, bound, least, largest;
};

struct series {
    char *label;
    size_t count;
    struct point *points; /* sorted by x, then y */
};

struct figure {
    const char *x_name, *y_name; /* fields of the documents */
    char title[256];             /* the values that all rows have in common */
    size_t count;
    struct series *series; /* in the order of their first rows */
};

/* The wanted axes: names of fields, or "time", "algbw", "busbw" for y. x NULL:
 * the first of bytes, ranks, ... that the documents have. */
struct axes {
    const char *x, *y;
};

/* Reads all files. GW_EDATA: a file is not a result document, or no row has both
 * axes (the sentence names the fields that it has); GW_ENOMEM. Then, and
 * after an error, figure_free. The strings of `axes` must outlive the figure. */
GW_MUST_CHECK enum gw_err figure_read(char *const *paths, size_t count,
                                      const struct axes *axes,
                                      struct figure *figure,
                                      struct gw_error *why);
void figure_free(struct figure *figure);

#endif
