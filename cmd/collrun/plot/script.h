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

#endif
