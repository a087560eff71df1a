/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables in a picture: a row a rank, server or worker. A column has a width and
 * an importance: a narrow screen shows the most important ones, in their usual
 * order. The row that somebody looks for is marked, and scrolled to.
 */
#ifndef RINGTOP_TABLE_H
#define RINGTOP_TABLE_H

#include "draw.h"

struct table_column {
    const char *title;
    int width;
    int importance; /* unlike the others'; 0, the lowest, is left out last */
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
/* The row in which the list begins, so that what was found is seen. */
unsigned table_top(const struct table *table, const struct picture *picture,
                   const unsigned *order, unsigned count, int rows);
/* `number`: of the rank, server or worker, in line `y`. */
void table_row(const struct table *table, const struct picture *picture,
               const struct area *area, int y, unsigned number);
/* The heading, and those of order[0..count) that fit below it, from the view's
 * first on; what is left out is told as so many more, and that there is none as
 * well. `one`: what a row is called. */
void table_list(const struct table *table, const struct picture *picture,
                const struct area *area, const unsigned *order, unsigned count,
                const char *one);
/* Cells, to the right: "w3"; a number, or "-" where it is not known. */
void table_name(char kind, unsigned number, int width, char *out, size_t size);
void table_number(bool known, uint64_t number, int width, char *out,
                  size_t size);
void table_real(double number, int decimals, int width, char *out, size_t size);
/* The largest weight comes first, and of equal ones the lower number. */
void table_sort(const struct picture *picture, unsigned *order, unsigned count,
                uint64_t (*weight)(const struct picture *picture,
                                   unsigned row));

#endif
