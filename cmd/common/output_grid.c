/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table whose rows are all known, drawn by libsmartcols: each column as wide
 * as its content, and on a terminal that is too narrow the last texts wrap.
 */
#include "internal.h"
#include "output_format.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text up to here is a name, and stays whole: "by feature". */
enum { NAME_WIDTH = 16 };

static struct libscols_table *table_of(struct output *output)
{
    return (struct libscols_table *)(void *)output->grid;
}

/* How wide a text would like to be. */
static size_t whole_text(const struct libscols_column *column, const char *text,
                         void *unused)
{
    (void)column;
    (void)unused;
    return mbstowcs(NULL, text, 0);
}

/* Ends the line at the last blank that still fits, and returns what follows;
 * NULL: all of it fits. */
static char *next_line(const struct libscols_column *column, char *text,
                       void *unused)
{
    (void)unused;
    size_t room = scols_column_get_width(column), width = 0;
    char *blank = NULL;
    for (char *at = text; *at; at++) {
        width += (*at & 0xc0) != 0x80;
        if (*at == ' ' && (width <= room + 1 || !blank))
            blank = at;
        if (width > room && blank) {
            *blank = 0;
            return blank + 1;
        }
    }
    return NULL;
}

static bool is_prose(const union value *sample)
{
    return sample && sample->text && strlen(sample->text) > NAME_WIDTH &&
           strchr(sample->text, ' ');
}

static const char *header_of(const struct field *field)
{
    return field->header ? field->header : field->name;
}

/* The last column that is shown, if the others leave room for some words;
 * else the number of columns. */
static unsigned last_with_room(const struct output *output)
{
    unsigned last = output->field_count;
    size_t before = 0, words = 20;
    for (unsigned i = 0; i < output->field_count; i++) {
        if (!output_field_shown(&output->fields[i]))
            continue;
        if (last < output->field_count)
            before += strlen(header_of(&output->fields[last])) + 2;
        last = i;
    }
    size_t columns = (size_t)terminal_columns(fileno(output->file));
    return before + words <= columns ? last : output->field_count;
}

/* A text column whose first text is prose may be broken at blanks, and so may
 * the last one. */
static void add_column(struct libscols_table *table, const struct field *field,
                       const union value *sample, bool last)
{
    bool text = field->kind == FIELD_TEXT || field->kind == FIELD_BOOL;
    bool prose = field->kind == FIELD_TEXT && (last || is_prose(sample));
    const char *header = header_of(field);
    struct libscols_column *column =
        scols_table_new_column(table, header, prose ? 0.2 : 0,
                               prose  ? SCOLS_FL_WRAP
                               : text ? 0
                                      : SCOLS_FL_RIGHT);
    if (column && prose)
        scols_column_set_wrapfunc(column, whole_text, next_line, NULL);
    if (column && color_on(STDOUT_FILENO))
        scols_cell_set_color(scols_column_get_header(column), "bold");
}

void grid_head(struct output *output, const union value *sample)
{
    struct libscols_table *table = scols_new_table();
    if (!table) {
        (void)complain_with(GW_ENOMEM, "table");
        return;
    }
    output->grid = (struct grid *)(void *)table;
    scols_table_set_stream(table, output->file);
    scols_table_set_column_separator(table, "  ");
    scols_table_enable_colors(table, color_on(STDOUT_FILENO));
    bool person = output->file == stdout && isatty(STDOUT_FILENO);
    scols_table_set_termforce(table, person ? SCOLS_TERMFORCE_AUTO
                                            : SCOLS_TERMFORCE_NEVER);
    unsigned last = last_with_room(output);
    for (unsigned i = 0; i < output->field_count; i++)
        if (output_field_shown(&output->fields[i]))
            add_column(table, &output->fields[i], sample ? &sample[i] : NULL,
                       i == last);
}

void grid_row(struct output *output, const union value *values)
{
    char buf[64];
    size_t column = 0;
    struct libscols_line *line =
        output->grid ? scols_table_new_line(table_of(output), NULL) : NULL;
    if (!line)
        return;
    for (unsigned i = 0; i < output->field_count; i++)
        if (output_field_shown(&output->fields[i]))
            (void)scols_line_set_data(
                line, column++,
                output_cell(&output->fields[i], values[i], "-", buf));
}

void grid_draw(struct output *output)
{
    if (!output->grid)
        return;
    scols_print_table(table_of(output));
    scols_unref_table(table_of(output));
    output->grid = NULL;
}
