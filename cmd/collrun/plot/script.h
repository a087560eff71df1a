/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A figure as a script of gnuplot, with its data.
 */
#ifndef COLLRUN_PLOT_SCRIPT_H
#define COLLRUN_PLOT_SCRIPT_H

#include "series.h"

#include <stdio.h>

struct script {
    const char *terminal; /* "svg ...", "pngcairo ..." */
    const char *path;     /* of the picture */
    const char *title;    /* NULL: the figure's */
    bool linear;          /* axes; else logarithmic */
};

/* Axes are logarithmic unless a value is 0 or less. Repeated points become
 * their median, with a bar from the least to the largest. Predictions are
 * dashed, bounds dotted. */
void script_print(FILE *file, const struct figure *figure,
                  const struct script *script);

/* ---- for script.c and script_bars.c ---- */

/* A text of gnuplot: in single quotes, each quote doubled. */
void script_text(FILE *file, const char *text);
/* The name of a field with its unit, as one reads it. */
const char *script_axis(const char *field);
/* A point of the series has repetitions, or a range of its own. */
bool script_is_repeated(const struct series *series);
/* The figure has such a point. */
bool script_any(const struct figure *figure, bool (*is)(const struct point *));
bool script_is_negative_y(const struct point *point);

/* All points have the same x, so that lines would be points one above the
 * other: each series is a bar instead (script_bars.c). */
bool script_has_bars(const struct figure *figure);
/* The title, the axes and the plot command of such a figure. */
void script_bars(FILE *file, const struct figure *figure,
                 const struct script *script);

#endif
