/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables in a picture: one row per rank, server or worker. A column has a width
 * and an importance. A narrow screen shows the most important ones, in their
 * usual order. The row that the user searches for is marked and scrolled to.
 */
#ifndef RINGTOP_TABLE_H
#define RINGTOP_TABLE_H

#include "draw.h"

struct table_column {
    const char *title;
    int width;
    int importance; /* unique; 0, the lowest, is omitted last */
    void (*write)(const struct picture *picture, unsigned row, char *out,
                  size_t size);
    /* NULL: plain. */
    enum style (*style)(const struct picture *picture, unsigned row);
};

enum { TABLE_COLUMNS = 16 };

struct table {
    const struct table_column *columns;
    int count; /* at most TABLE_COLUMNS */
    bool chosen[TABLE_COLUMNS];
};

/* Chooses the columns that fit `width`. */
struct table table_fit(const struct table_column *columns, int count,
                       int width);
void table_heading(const struct table *table, const struct area *area);
/* The first row to show, so that the found row is visible. */
unsigned table_top(const struct table *table, const struct picture *picture,
                   const unsigned *order, unsigned count, int rows);
/* `number`: of the rank, server or worker, in line `y`. */
void table_row(const struct table *table, const struct picture *picture,
               const struct area *area, int y, unsigned number);
/* The heading, and the rows of order[0..count) that fit below it, from the
 * view's first one on. A line counts the omitted rows, and an empty table has a
 * line, too. `one`: the word for a row. */
void table_list(const struct table *table, const struct picture *picture,
                const struct area *area, const unsigned *order, unsigned count,
                const char *one);
/* Cells, right-aligned: "w3"; a number, or "-" if unknown. */
void table_name(char kind, unsigned number, int width, char *out, size_t size);
void table_number(bool known, uint64_t number, int width, char *out,
                  size_t size);
void table_real(double number, int decimals, int width, char *out, size_t size);
/* The largest weight comes first, and of equal ones the lower number. */
void table_sort(const struct picture *picture, unsigned *order, unsigned count,
                uint64_t (*weight)(const struct picture *picture,
                                   unsigned row));

#endif
