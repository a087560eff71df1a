/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A figure of several series at one x, such as all algorithms at one size: one
 * bar per series, in the order of the rows. The prediction and the bound are
 * marks on it.
 */
#include "script.h"

#include <math.h>
#include <string.h>

bool script_has_bars(const struct figure *figure)
{
    double x = figure->count ? figure->series[0].points[0].x : 0;
    for (size_t i = 0; i < figure->count; i++)
        for (size_t k = 0; k < figure->series[i].count; k++)
            if (figure->series[i].points[k].x != x)
                return false;
    return figure->count > 1;
}

/* "allreduce 8 ranks 1M": with the x of all bars. */
static void print_title(FILE *file, const struct figure *figure,
                        const struct script *script)
{
    char text[sizeof figure->title + 40], x[24];
    double value = figure->series[0].points[0].x;
    if (strcmp(figure->x_name, "bytes") == 0) {
        gw_format_bytes((uint64_t)value, x);
        snprintf(text, sizeof text, "%s %s", figure->title, x);
    } else {
        snprintf(text, sizeof text, "%s %g %s", figure->title, value,
                 figure->x_name);
    }
    fputs("set title ", file);
    script_text(file, script->title ? script->title : text);
}

/* Bars begin at 0, unless the longest would hide the others. */
static bool is_logarithmic(const struct figure *figure,
                           const struct script *script)
{
    enum { TOO_DIFFERENT = 20 };
    double least = (double)INFINITY, largest = 0;
    if (script->linear || script_any(figure, script_is_negative_y))
        return false;
    for (size_t i = 0; i < figure->count; i++) {
        least = fmin(least, figure->series[i].points[0].y);
        largest = fmax(largest, figure->series[i].points[0].y);
    }
    return largest > TOO_DIFFERENT * least;
}

static void print_axes(FILE *file, const struct figure *figure,
                       const struct script *script)
{
    fputs(is_logarithmic(figure, script) ? "\nset logscale y 10\n"
                                         : "\nset yrange [0:*]\n",
          file);
    fputs("set ylabel ", file);
    script_text(file, script_axis(figure->y_name));
    fprintf(file,
            "\nset xrange [0.4:%zu.6]\nset boxwidth 0.7\n"
            "set style fill solid 0.5\nset grid y\n"
            "set key outside right top\nset xtics rotate by -45 (",
            figure->count);
    for (size_t i = 0; i < figure->count; i++) {
        fputs(i ? ", " : "", file);
        script_text(file, figure->series[i].label);
        fprintf(file, " %zu", i + 1);
    }
    fputs(")\n", file);
}

/* Marks of one kind have one entry in the key. */
static void print_marks(FILE *file, const struct figure *figure,
                        unsigned column, const char *style, const char *title)
{
    for (size_t i = 0; i < figure->count; i++) {
        const struct point *point = figure->series[i].points;
        if (isnan(column == 5 ? point->predicted : point->bound))
            continue;
        fprintf(file, ", \\\n     $s%zu using (%zu):%u with points %s %s%s%s",
                i + 1, i + 1, column, style, title ? "title '" : "notitle",
                title ? title : "", title ? "'" : "");
        title = NULL;
    }
}

void script_bars(FILE *file, const struct figure *figure,
                 const struct script *script)
{
    print_title(file, figure, script);
    print_axes(file, figure, script);
    fputs("plot ", file);
    for (size_t i = 0; i < figure->count; i++) {
        fprintf(file, "%s$s%zu using (%zu):2 with boxes lt 6 notitle",
                i ? ", \\\n     " : "", i + 1, i + 1);
        if (script_is_repeated(&figure->series[i]))
            fprintf(file,
                    ", \\\n     $s%zu using (%zu):2:3:4 with yerrorbars "
                    "lc 'black' pt 0 notitle",
                    i + 1, i + 1);
    }
    print_marks(file, figure, 5, "pt 2 lc 'black'", "prediction");
    print_marks(file, figure, 6, "pt 1 lc 'gray40'", "bound");
}
