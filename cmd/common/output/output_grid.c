/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table whose rows are all known, drawn by libsmartcols: each column is as
 * wide as its content. On a narrow terminal, prose and the last text wrap.
 * Columns that still do not fit are omitted (output_narrow.c).
 */
#include "common/internal.h"
#include "output_format.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text up to this width is a name and is not broken: "by feature". */
enum { NAME_WIDTH = 16 };

/* The texts of all cells, row by row; those not shown are NULL. */
struct grid {
    size_t count, room;
    char **cells;
};

/* Breaks a text at blanks into lines of at most `room` characters, if its words
 * are not longer. */
static void break_lines(char *text, int room)
{
    char *blank = NULL;
    int width = 0;
    for (char *at = text; *at; at++) {
        width += (*at & 0xc0) != 0x80;
        if (*at == ' ')
            blank = at;
        if (width > room && blank) {
            *blank = '\n';
            at = blank;
            width = 0;
            blank = NULL;
        }
    }
}

static bool is_prose(const char *text)
{
    return strlen(text) > NAME_WIDTH && strchr(text, ' ');
}

/* ---- collecting rows ---- */

void grid_head(struct output *output)
{
    output->grid = calloc(1, sizeof *output->grid);
    if (!output->grid)
        (void)complain_with(GW_ENOMEM, "table");
    for (unsigned i = 0; i < output->field_count; i++)
        output->columns[i].width =
            (int)strlen(output_header(&output->fields[i]));
}

/* Grows the column to the minimal width of this cell. The first prose in it
 * makes it one that wraps. */
static void widen_column(struct column *column, const char *text, bool prose)
{
    if (prose && !column->wraps && column->width > OUTPUT_WORDS)
        column->width = OUTPUT_WORDS;
    column->wraps |= prose;
    size_t width = mbstowcs(NULL, text, 0);
    if (width == (size_t)-1)
        width = strlen(text);
    if (width > (size_t)column->unbroken_width)
        column->unbroken_width = (int)width;
    if (column->wraps && width > OUTPUT_WORDS)
        width = OUTPUT_WORDS;
    if (width > (size_t)column->width)
        column->width = (int)width;
}

static bool room_for(struct grid *grid, size_t more)
{
    if (grid->count + more <= grid->room)
        return true;
    size_t room = 2 * grid->room + more;
    char **cells = realloc(grid->cells, room * sizeof *cells);
    if (!cells)
        return false;
    grid->cells = cells;
    grid->room = room;
    return true;
}

void grid_row(struct output *output, const union value *values)
{
    char buf[64];
    struct grid *grid = output->grid;
    if (!grid)
        return;
    if (!room_for(grid, output->field_count)) {
        (void)complain_with(GW_ENOMEM, "row of a table");
        return;
    }
    for (unsigned i = 0; i < output->field_count; i++) {
        bool shown = output->columns[i].shown;
        const char *text = output_cell(&output->fields[i], values[i], "-", buf);
        bool prose = output->fields[i].kind == FIELD_TEXT && is_prose(text);
        if (shown)
            widen_column(&output->columns[i], text, prose);
        grid->cells[grid->count++] = shown ? strdup(text) : NULL;
    }
}

/* ---- the complete table ---- */

/* The room that the other columns leave; *sharing receives the number of columns
 * that have texts to break. */
static int room_for_texts(const struct output *output, int *sharing)
{
    int room = output_room(output) + OUTPUT_GAP;
    *sharing = 0;
    for (unsigned i = 0; i < output->field_count; i++) {
        const struct column *column = &output->columns[i];
        if (column->shown)
            room -= OUTPUT_GAP + (column->wraps ? 0 : column->width);
        *sharing += column->shown && column->wraps;
    }
    return room;
}

/* The next text that needs no more than an equal share of the room. */
static struct column *modest_column(const struct output *output, int share)
{
    for (unsigned i = 0; i < output->field_count; i++) {
        struct column *column = &output->columns[i];
        if (column->shown && column->wraps && column->width == 0 &&
            column->unbroken_width <= share)
            return column;
    }
    return NULL;
}

/* Texts that may be broken share the room equally, but none takes more than it
 * needs. */
static void share_room(struct output *output)
{
    int sharing, room = room_for_texts(output, &sharing);
    struct column *modest;
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].wraps)
            output->columns[i].width = 0;
    while (sharing > 0 && (modest = modest_column(output, room / sharing))) {
        modest->width = modest->unbroken_width;
        room -= modest->width;
        sharing--;
    }
    int share = sharing > 0 ? room / sharing : 0;
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].wraps && output->columns[i].width == 0)
            output->columns[i].width =
                share > OUTPUT_WORDS ? share : OUTPUT_WORDS;
}

/* On a narrow terminal the last text may be broken as well. */
static void lay_out_grid(struct output *output)
{
    unsigned last = 0;
    output_narrow(output);
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].shown)
            last = i;
    if (output->fields[last].kind == FIELD_TEXT &&
        output_width(output) <= output_room(output))
        output->columns[last].wraps = true;
    share_room(output);
}

static void add_column(struct libscols_table *table, const struct field *field,
                       bool wraps)
{
    bool text = field->kind == FIELD_TEXT || field->kind == FIELD_BOOL;
    struct libscols_column *column =
        scols_table_new_column(table, output_header(field), 0,
                               wraps  ? SCOLS_FL_WRAP
                               : text ? 0
                                      : SCOLS_FL_RIGHT);
    if (column && wraps) {
        scols_column_set_wrapfunc(column, scols_wrapnl_chunksize,
                                  scols_wrapnl_nextchunk, NULL);
        scols_column_set_safechars(column, "\n");
    }
    if (column && color_on(STDOUT_FILENO))
        scols_cell_set_color(scols_column_get_header(column), "bold");
}

static void add_row(struct libscols_table *table, const struct output *output,
                    char *const *cells)
{
    size_t column = 0;
    struct libscols_line *line = scols_table_new_line(table, NULL);
    for (unsigned i = 0; line && i < output->field_count; i++) {
        const struct column *at = &output->columns[i];
        if (!at->shown)
            continue;
        if (at->wraps && cells[i])
            break_lines(cells[i], at->width);
        (void)scols_line_set_data(line, column++, cells[i]);
    }
}

static void print_table(struct libscols_table *table,
                        const struct output *output)
{
    const struct grid *grid = output->grid;
    bool person = output->file == stdout && is_terminal(STDOUT_FILENO);
    scols_table_set_stream(table, output->file);
    scols_table_set_column_separator(table, "  ");
    scols_table_enable_colors(table, color_on(STDOUT_FILENO));
    scols_table_set_termforce(table, person ? SCOLS_TERMFORCE_AUTO
                                            : SCOLS_TERMFORCE_NEVER);
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].shown)
            add_column(table, &output->fields[i], output->columns[i].wraps);
    for (size_t at = 0; at < grid->count; at += output->field_count)
        add_row(table, output, grid->cells + at);
    scols_print_table(table);
}

void grid_draw(struct output *output)
{
    struct grid *grid = output->grid;
    struct libscols_table *table = grid ? scols_new_table() : NULL;
    if (table) {
        lay_out_grid(output);
        print_table(table, output);
        scols_unref_table(table);
    }
    for (size_t i = 0; grid && i < grid->count; i++)
        free(grid->cells[i]);
    if (grid)
        free(grid->cells);
    free(grid);
    output->grid = NULL;
}
