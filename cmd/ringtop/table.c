/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See table.h.
 */
#include "table.h"

#include <stdio.h>

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

void table_row(const struct table *table, const struct picture *p,
               const struct area *area, int y, unsigned number)
{
    char text[128];
    int x = 1;
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
