/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See script.h.
 */
#include "script.h"

#include <math.h>
#include <string.h>

void script_text(FILE *file, const char *text)
{
    putc('\'', file);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', file);
        putc(*text == '\n' ? ' ' : *text, file);
    }
    putc('\'', file);
}

/* ---- data ---- */

/* The number of points from `from` on that have its x. */
static size_t repeats(const struct series *series, size_t from)
{
    size_t end = from;
    while (end < series->count &&
           series->points[end].x == series->points[from].x)
        end++;
    return end - from;
}

static double median_of(const struct point *points, size_t count)
{
    return count % 2 ? points[count / 2].y
                     : (points[count / 2 - 1].y + points[count / 2].y) / 2;
}

/* "x y least largest predicted bound"; gnuplot skips NaN. Points at the same
 * x are repetitions, and a single one may know the range of its own. */
static void print_series(FILE *file, const struct series *series)
{
    for (size_t i = 0; i < series->count;) {
        const struct point *p = &series->points[i];
        size_t count = repeats(series, i);
        bool known = count == 1 && !isnan(p->least);
        fprintf(file, "%.12g %.12g %.12g %.12g %.12g %.12g\n", p->x,
                median_of(p, count), known ? p->least : p->y,
                known ? p->largest : p[count - 1].y, p->predicted, p->bound);
        i += count;
    }
}

/* ---- decisions ---- */

bool script_any(const struct figure *figure, bool (*is)(const struct point *))
{
    for (size_t i = 0; i < figure->count; i++)
        for (size_t k = 0; k < figure->series[i].count; k++)
            if (is(&figure->series[i].points[k]))
                return true;
    return false;
}

static bool is_negative_x(const struct point *point)
{
    return point->x <= 0;
}

bool script_is_negative_y(const struct point *point)
{
    return point->y <= 0;
}

static bool has_prediction(const struct series *series)
{
    return !isnan(series->points[0].predicted);
}

bool script_is_repeated(const struct series *series)
{
    for (size_t i = 0; i < series->count; i++)
        if (repeats(series, i) > 1 ||
            series->points[i].least < series->points[i].largest)
            return true;
    return false;
}

/* A bound depends on the collective and the sizes, so series share it where it
 * is the same: it is drawn once for each first that differs. */
static bool has_own_bound(const struct figure *figure, size_t number)
{
    const struct point *own = figure->series[number].points;
    if (isnan(own->bound))
        return false;
    for (size_t i = 0; i < number; i++)
        if (figure->series[i].points->x == own->x &&
            figure->series[i].points->bound == own->bound)
            return false;
    return true;
}

/* ---- the script ---- */

const char *script_axis(const char *field)
{
    static const char *const names[][2] = {
        {"bytes", "size (bytes)"},
        {"time_us", "time (us)"},
        {"us", "time (us)"},
        {"best_us", "time of the fastest algorithm (us)"},
        {"predicted_us", "predicted time (us)"},
        {"resumed_ms", "time from the failure to the resumed op (ms)"},
        {"members", "members of the ring"},
        {"resume_ms", "time from the change to the resumed op (ms)"},
        {"algbw_GBps", "algorithm bandwidth (GB/s)"},
        {"busbw_GBps", "bus bandwidth (GB/s)"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(field, names[i][0]) == 0)
            return names[i][1];
    return field;
}

/* Epochs are numbers without a size. */
static bool is_logarithmic_x(const struct figure *figure,
                             const struct script *script)
{
    return !script->linear && strcmp(figure->x_name, "epoch") != 0 &&
           !script_any(figure, is_negative_x);
}

struct range {
    double least, largest;
};

static struct range x_range(const struct figure *figure)
{
    struct range range = {(double)INFINITY, (double)-INFINITY};
    for (size_t i = 0; i < figure->count; i++) {
        const struct series *series = &figure->series[i];
        range.least = fmin(range.least, series->points[0].x);
        range.largest =
            fmax(range.largest, series->points[series->count - 1].x);
    }
    return range;
}

static void print_size(FILE *file, const char *before, double bytes)
{
    char size[16];
    gw_format_bytes((uint64_t)bytes, size);
    fprintf(file, "%s'%s' %.0f", before, size, bytes);
}

/* At most a dozen powers of two, named as in the options: 64, 4K, 1M. A range
 * without one has the name of its first size. */
static void print_sizes(FILE *file, const struct range *range)
{
    enum { SIZES_MAX = 12 };
    double first = ceil(log2(range->least)), last = floor(log2(range->largest));
    double step = floor((last - first) / SIZES_MAX) + 1;
    fputs("set xtics (", file);
    for (double power = first; power <= last && power < 64; power += step)
        print_size(file, power == first ? "" : ", ", exp2(power));
    if (first > last)
        print_size(file, "", range->least);
    fputs(")\n", file);
}

/* Some room at both sides, since the frame would hide the marks on it. */
static void print_range(FILE *file, const struct figure *figure,
                        const struct script *script)
{
    bool bytes = strcmp(figure->x_name, "bytes") == 0;
    const struct range range = x_range(figure);
    if (is_logarithmic_x(figure, script))
        fprintf(file, "set logscale x 2\nset xrange [%g:%g]\n",
                range.least / 1.3, range.largest * 1.3);
    else if (range.least < range.largest)
        fputs("set offsets graph 0.03, graph 0.03, 0, 0\n", file);
    if (bytes && is_logarithmic_x(figure, script))
        print_sizes(file, &range);
}

static void print_axes(FILE *file, const struct figure *figure,
                       const struct script *script)
{
    print_range(file, figure, script);
    if (!script->linear && !script_any(figure, script_is_negative_y))
        fputs("set logscale y 10\n", file);
    fputs("set xlabel ", file);
    script_text(file, script_axis(figure->x_name));
    fputs("\nset ylabel ", file);
    script_text(file, script_axis(figure->y_name));
    fputs("\nset grid\nset key outside right top\n", file);
}

static void print_line(FILE *file, const struct figure *figure, size_t number)
{
    const struct series *series = &figure->series[number];
    unsigned line = (unsigned)number + 1;
    const char *sep = number ? ", \\\n     " : "";
    fprintf(file, "%s$s%u using 1:2 with linespoints lt %u pt %u lw 2 ", sep,
            line, line, line);
    fputs(*series->label ? "title " : "notitle", file);
    if (*series->label)
        script_text(file, series->label);
    if (script_is_repeated(series))
        fprintf(file,
                ", \\\n     $s%u using 1:2:3:4 with yerrorbars lt %u "
                "pt 0 notitle",
                line, line);
    if (has_prediction(series))
        fprintf(file,
                ", \\\n     $s%u using 1:5 with lines lt %u dt 2 "
                "notitle",
                line, line);
}

/* The first has the entry in the key. */
static void print_bounds(FILE *file, const struct figure *figure)
{
    const char *title = "title 'bound'";
    for (size_t i = 0; i < figure->count; i++) {
        if (!has_own_bound(figure, i))
            continue;
        fprintf(file,
                ", \\\n     $s%zu using 1:6 with lines lc 'gray40' dt 3 %s",
                i + 1, title);
        title = "notitle";
    }
}

static void print_lines(FILE *file, const struct figure *figure,
                        const struct script *script)
{
    fputs("set title ", file);
    script_text(file, script->title ? script->title : figure->title);
    putc('\n', file);
    print_axes(file, figure, script);
    fputs("plot ", file);
    for (size_t i = 0; i < figure->count; i++)
        print_line(file, figure, i);
    print_bounds(file, figure);
}

void script_print(FILE *file, const struct figure *figure,
                  const struct script *script)
{
    for (size_t i = 0; i < figure->count; i++) {
        fprintf(file, "$s%zu << END\n", i + 1);
        print_series(file, &figure->series[i]);
        fputs("END\n", file);
    }
    fprintf(file, "set terminal %s noenhanced\nset output ", script->terminal);
    script_text(file, script->path);
    putc('\n', file);
    if (script_has_bars(figure))
        script_bars(file, figure, script);
    else
        print_lines(file, figure, script);
    fputs("\nset output\n", file);
}
