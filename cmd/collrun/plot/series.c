/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See series.h.
 */
#include "series.h"

#include "common/text/json_get.h"
#include "rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_MAX = 256 };

/* ---- axes ---- */

/* The first name that a row has with a number; NULL: none. */
static const char *first_of(const struct rows *rows, const char *const *names)
{
    for (; *names; names++)
        for (size_t i = 0; i < rows->count; i++)
            if (json_is_number(json_object_get(rows->rows[i], *names)))
                return *names;
    return NULL;
}

/* The recoveries of a run follow one another by epoch. */
static const char *choose_x(const struct rows *rows, const char *wanted,
                            const char *y)
{
    static const char *const usual[] = {"bytes",   "ranks", "micro", "stages",
                                        "workers", "step",  NULL};
    if (!wanted && y && strcmp(y, "resumed_ms") == 0)
        return "epoch";
    return wanted ? wanted : first_of(rows, usual);
}

static const char *choose_y(const struct rows *rows, const char *wanted)
{
    static const char *const times[] = {"time_us", "us",           "best_us",
                                        "step_us", "predicted_us", "resumed_ms",
                                        NULL};
    if (strcmp(wanted, "time") == 0)
        return first_of(rows, times);
    if (strcmp(wanted, "algbw") == 0)
        return "algbw_GBps";
    return strcmp(wanted, "busbw") == 0 ? "busbw_GBps" : wanted;
}

/* ---- labels ---- */

/* The fields that distinguish series, in the order of a label. */
static const char *const keys[] = {
    "library", "op",       "algo",    "best",     "schedule", "wire",  "dtype",
    "change",  "delay_ms", "ranks",   "topology", "hosts",    "racks", "order",
    "without", "servers",  "workers", "mode",     "stages",   "how",   NULL};

static void print_value(const json_t *value, char *out, size_t size)
{
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else
        snprintf(out, size, "%g", json_number_value(value));
}

/* Where the library chose the algorithm, it changes with the size, but the series
 * is that of the choice. */
static const json_t *value_of(const json_t *row, const char *key)
{
    const json_t *choice = json_object_get(row, "choice");
    return choice && strcmp(key, "algo") == 0 ? choice
                                              : json_object_get(row, key);
}

static bool varies(const struct rows *rows, const char *key)
{
    const json_t *first = value_of(rows->rows[0], key);
    for (size_t i = 1; i < rows->count; i++) {
        const json_t *value = value_of(rows->rows[i], key);
        if (value != first && !json_equal(value, first))
            return true;
    }
    return false;
}

/* The key is a number that x determines, as the number of hosts may follow from
 * the number of ranks. It distinguishes points, not series. */
static bool follows_x(const struct rows *rows, const char *key, const char *x)
{
    if (strcmp(x, "bytes") == 0)
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        const json_t *value = json_object_get(rows->rows[i], key);
        const json_t *at = json_object_get(rows->rows[i], x);
        if (!json_is_number(value))
            return false;
        for (size_t k = 0; k < i; k++)
            if (json_equal(json_object_get(rows->rows[k], x), at) &&
                !json_equal(json_object_get(rows->rows[k], key), value))
                return false;
    }
    return true;
}

static void append_word(char label[LABEL_MAX], const char *key,
                        const json_t *value)
{
    char word[64];
    size_t used = strlen(label);
    print_value(value, word, sizeof word);
    snprintf(label + used, LABEL_MAX - used, "%s%s%s%s", used ? " " : "", word,
             json_is_string(value) ? "" : " ",
             json_is_string(value) ? "" : key);
}

/* The values of the keys in `used`, as bits. */
static void make_label(const json_t *row, uint64_t used, char label[LABEL_MAX])
{
    *label = 0;
    for (unsigned k = 0; keys[k]; k++) {
        const json_t *value = value_of(row, keys[k]);
        bool none = !value || json_is_null(value) ||
                    (json_is_string(value) &&
                     strcmp(json_string_value(value), "-") == 0);
        if ((used >> k & 1) && !none)
            append_word(label, keys[k], value);
    }
}

/* The keys, as bits, whose values differ between rows, or else do not. */
static uint64_t keys_that(const struct rows *rows, const char *x_name,
                          bool differ)
{
    uint64_t used = 0;
    for (unsigned k = 0; keys[k]; k++)
        if (strcmp(keys[k], x_name) != 0 && varies(rows, keys[k]) == differ &&
            !(differ && follows_x(rows, keys[k], x_name)))
            used |= UINT64_C(1) << k;
    return used;
}

/* ---- points ---- */

static struct series *find_series(struct figure *figure, const char *label)
{
    for (size_t i = 0; i < figure->count; i++)
        if (strcmp(figure->series[i].label, label) == 0)
            return &figure->series[i];
    struct series *grown =
        realloc(figure->series, (figure->count + 1) * sizeof *figure->series);
    if (!grown)
        return NULL;
    figure->series = grown;
    struct series *series = &grown[figure->count];
    *series = (struct series){.label = strdup(label)};
    figure->count += series->label != NULL;
    return series->label ? series : NULL;
}

/* A predicted or least time in the unit of y: for a bandwidth, y in that time.
 */
static double as_y(const struct figure *figure, const json_t *row,
                   const char *name)
{
    double y = real_of(row, figure->y_name), us = real_of(row, name);
    if (strcmp(figure->y_name, name) == 0)
        return (double)NAN;
    if (strstr(figure->y_name, "bw_GBps"))
        return y * real_of(row, "time_us") / us;
    return strstr(figure->y_name, "us") ? us : (double)NAN;
}

static struct point make_point(const struct figure *figure, const json_t *row)
{
    double one = as_y(figure, row, "time_min_us");
    double other = as_y(figure, row, "time_max_us");
    return (struct point){.x = real_of(row, figure->x_name),
                          .y = real_of(row, figure->y_name),
                          .predicted = as_y(figure, row, "predicted_us"),
                          .bound = as_y(figure, row, "bound_us"),
                          .least = fmin(one, other),
                          .largest = fmax(one, other)};
}

static bool append_point(struct series *series, const struct point *point)
{
    struct point *grown =
        realloc(series->points, (series->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    series->points = grown;
    grown[series->count++] = *point;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    int by_x = (p->x > q->x) - (p->x < q->x);
    return by_x ? by_x : (p->y > q->y) - (p->y < q->y);
}

static enum gw_err make_series(const struct rows *rows, struct figure *figure,
                               struct gw_error *why)
{
    assert(rows->rows && figure->x_name && figure->y_name);
    uint64_t used = keys_that(rows, figure->x_name, true);
    char label[LABEL_MAX];
    for (size_t i = 0; i < rows->count; i++) {
        const json_t *row = rows->rows[i];
        const struct point point = make_point(figure, row);
        make_label(row, used, label);
        struct series *series = find_series(figure, label);
        if (!series || !append_point(series, &point))
            return gw_fail(why, GW_ENOMEM, "%zu points", rows->count);
    }
    make_label(rows->rows[0], keys_that(rows, figure->x_name, false),
               figure->title);
    for (size_t i = 0; i < figure->count; i++)
        qsort(figure->series[i].points, figure->series[i].count,
              sizeof(struct point), compare);
    return GW_OK;
}

/* ---- reading ---- */

/* Drops the rows without both numbers, such as the ending of a document. */
static void keep_plotted(struct rows *rows, const struct figure *figure)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        json_t *row = rows->rows[i];
        if (isnan(real_of(row, figure->x_name)) ||
            isnan(real_of(row, figure->y_name)))
            json_decref(row);
        else
            rows->rows[kept++] = row;
    }
    rows->count = kept;
}

static bool has_points(const struct rows *rows, const struct figure *figure)
{
    for (size_t i = 0; i < rows->count; i++)
        if (!isnan(real_of(rows->rows[i], figure->x_name)) &&
            !isnan(real_of(rows->rows[i], figure->y_name)))
            return true;
    return false;
}

/* Names the numbers that could be an axis. */
static enum gw_err refuse(const struct rows *rows, const char *x, const char *y,
                          struct gw_error *why)
{
    char names[300] = "";
    const char *name;
    const json_t *value;
    assert(rows->rows);
    json_object_foreach(rows->rows[0], name, value)
    {
        size_t used = strlen(names);
        if (json_is_number(value))
            snprintf(names + used, sizeof names - used, "%s%s",
                     used ? ", " : "", name);
    }
    return gw_fail(why, GW_EDATA,
                   "no row has numbers for x \"%s\" and y \"%s\"; the first "
                   "row has %s",
                   x ? x : "bytes", y, *names ? names : "no numbers");
}

static enum gw_err read_rows(char *const *paths, size_t count,
                             struct rows *rows, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < count && !err; i++) {
        size_t before = rows->count;
        err = rows_read(paths[i], rows, why);
        if (!err && rows->count == before)
            err = gw_fail(why, GW_EDATA, "%.200s: no rows", paths[i]);
    }
    return err;
}

enum gw_err figure_read(char *const *paths, size_t count,
                        const struct axes *axes, struct figure *figure,
                        struct gw_error *why)
{
    struct rows rows = {.count = 0};
    *figure = (struct figure){.count = 0};
    enum gw_err err = read_rows(paths, count, &rows, why);
    if (!err) {
        figure->y_name = choose_y(&rows, axes->y);
        figure->x_name = choose_x(&rows, axes->x, figure->y_name);
        if (!figure->x_name || !figure->y_name || !has_points(&rows, figure))
            err = refuse(&rows, figure->x_name, axes->y, why);
    }
    if (!err) {
        keep_plotted(&rows, figure);
        err = make_series(&rows, figure, why);
    }
    rows_free(&rows);
    return err;
}

void figure_free(struct figure *figure)
{
    for (size_t i = 0; i < figure->count; i++) {
        free(figure->series[i].label);
        free(figure->series[i].points);
    }
    free(figure->series);
    *figure = (struct figure){.count = 0};
}
