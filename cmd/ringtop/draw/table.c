/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See table.h.
 */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table table_fit(const struct table_column *columns, int count, int width)
{
    struct table table = {.columns = columns, .count = count};
    for (int importance = 0; importance < count; importance++)
        for (int i = 0; i < count; i++) {
            if (columns[i].importance != importance)
                continue;
            table.chosen[i] = width > columns[i].width;
            if (!table.chosen[i])
                return table;
            width -= columns[i].width + 1;
        }
    return table;
}

void table_heading(const struct table *table, const struct area *area)
{
    int x = 1;
    for (int i = 0; i < table->count; i++)
        if (table->chosen[i]) {
            area_text(area, x, 0, STYLE_STRONG, table->columns[i].title);
            x += table->columns[i].width + 1;
        }
}

static bool found(const struct table *table, const struct picture *p,
                  unsigned number)
{
    char name[32];
    table->columns[0].write(p, number, name, sizeof name);
    return view_finds(p->view, table->columns[0].title, number,
                      name + strspn(name, " "));
}

void table_row(const struct table *table, const struct picture *p,
               const struct area *area, int y, unsigned number)
{
    char text[128];
    int x = 1;
    if (found(table, p, number))
        area_put(area, 0, y, STYLE_STRONG, '>');
    for (int i = 0; i < table->count; i++) {
        const struct table_column *column = &table->columns[i];
        if (!table->chosen[i])
            continue;
        column->write(p, number, text, sizeof text);
        struct area cell = area_part(area, x, y, column->width, 1);
        area_text(&cell, 0, 0,
                  column->style ? column->style(p, number) : STYLE_PLAIN, text);
        x += column->width + 1;
    }
}

unsigned list_top(unsigned wanted, unsigned count, int rows)
{
    unsigned shown = rows > 0 ? (unsigned)rows : 0;
    unsigned last = count > shown ? count - shown : 0;
    return wanted < last ? wanted : last;
}

unsigned table_top(const struct table *table, const struct picture *p,
                   const unsigned *order, unsigned count, int rows)
{
    unsigned last = list_top(count, count, rows);
    unsigned top = list_top(p->view->rank_top, count, rows);
    for (unsigned i = 0; i < count; i++)
        if (found(table, p, order[i]) && (i < top || i >= top + (unsigned)rows))
            top = i < last ? i : last;
    return top;
}

void table_list(const struct table *table, const struct picture *p,
                const struct area *area, const unsigned *order, unsigned count,
                const char *one)
{
    int rows = area->height > 1 ? area->height - 1 : 0;
    bool truncated = count > (unsigned)rows && rows > 1;
    rows -= truncated;
    unsigned top = table_top(table, p, order, count, rows);
    table_heading(table, area);
    for (int y = 1; y <= rows && top < count; y++)
        table_row(table, p, area, y, order[top++]);
    if (truncated)
        area_print(area, 1, area->height - 1, STYLE_DIM,
                   "%u more %ss; Up and Down scroll", count - (unsigned)rows,
                   one);
    if (count == 0)
        area_print(area, 1, 1, STYLE_DIM, "no %s has reported yet", one);
}

void table_name(char kind, unsigned number, int width, char *out, size_t size)
{
    char name[16];
    snprintf(name, sizeof name, "%c%u", kind, number);
    snprintf(out, size, "%*s", width, name);
}

void table_number(bool known, uint64_t number, int width, char *out,
                  size_t size)
{
    if (known)
        snprintf(out, size, "%*" PRIu64, width, number);
    else
        snprintf(out, size, "%*s", width, "-");
}

void table_real(double number, int decimals, int width, char *out, size_t size)
{
    if (isfinite(number))
        snprintf(out, size, "%*.*f", width, decimals, number);
    else
        snprintf(out, size, "%*s", width, "-");
}

struct sorting {
    const struct picture *picture;
    uint64_t (*weight)(const struct picture *picture, unsigned row);
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *by = context;
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    uint64_t wx = by->weight(by->picture, x), wy = by->weight(by->picture, y);
    if (wx != wy)
        return wx < wy ? 1 : -1;
    return (x > y) - (x < y);
}

void table_sort(const struct picture *p, unsigned *order, unsigned count,
                uint64_t (*weight)(const struct picture *picture, unsigned row))
{
    struct sorting by = {p, weight};
    qsort_r(order, count, sizeof *order, compare_rows, &by);
}

void draw_sparkline(const struct picture *p, const struct rates *rates,
                    unsigned count, unsigned number, char *out, size_t size)
{
    unsigned used = rates_used(rates, p->state->now_ns);
    uint64_t most = 1;
    size_t at = 0;
    for (unsigned row = 0; row < count; row++)
        for (unsigned i = 0; i < used; i++)
            most = rates->bytes[row][i] > most ? rates->bytes[row][i] : most;
    *out = 0;
    for (unsigned i = 0; i < used; i++) {
        uint64_t bytes = rates->bytes[number][i];
        double level = (double)bytes * 8 / (double)most;
        unsigned shown = bytes > 0 && level < 1 ? 1 : (unsigned)level;
        const char *text = p->glyphs->levels[shown];
        at += (size_t)snprintf(out + at, at < size ? size - at : 0, "%s", text);
    }
}
