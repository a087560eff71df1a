/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table for people. Rows of a measurement come one by one over minutes, so
 * each is printed at once and the widths must be known before. Numbers get room
 * for eight digits before the point and their fixed decimals after it, which
 * aligns 0.01 to 10^7. Texts get the width of the header, of the first row, and
 * of the texts that the command expects (output_reserve). A longer text takes
 * room from the next columns, so that the line becomes aligned again; on a
 * terminal it is cut if the line would wrap. On a narrow terminal, numbers get
 * less room, and then columns are omitted (output_narrow.c). Complete tables are drawn by libsmartcols
 * instead (output_grid.c).
 */
#include "common/internal.h"
#include "common/text/visible.h"
#include "output_format.h"

#include <stdlib.h>
#include <string.h>

/* Digits before the point; NARROW: where there is no room for more. */
enum { DIGITS = 8, DIGITS_NARROW = 5, NOTE_MAX = 8192 };

/* Characters, not bytes. */
static int width_within(const char *text, size_t bytes)
{
    int width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += (text[i] & 0xc0) != 0x80;
    return width;
}

static int width_of(const char *text)
{
    return width_within(text, strlen(text));
}

static int larger_of(int a, int b)
{
    return a > b ? a : b;
}

static int column_width(const struct field *field, const union value *sample,
                        int digits)
{
    char buf[64];
    int width = width_of(output_header(field));
    if (sample)
        width =
            larger_of(width, width_of(output_cell(field, *sample, "-", buf)));
    if (field->kind == FIELD_INTEGER)
        width = larger_of(width, digits);
    if (field->kind == FIELD_REAL)
        width = larger_of(width, digits + 1 + field->decimals);
    return width;
}

/* A line that is being printed. */
struct line {
    int debt;    /* by how much it is too long so far */
    int pending; /* blanks before the next cell, if any */
};

/* Text to the left, numbers to the right. */
static void put_cell(struct output *output, unsigned i, const char *text,
                     struct line *line)
{
    const struct field *field = &output->fields[i];
    char cut[CUT_BYTES];
    text = output_cut(output, i, text, line->debt, cut);
    int room = output->columns[i].width - line->debt, width = width_of(text);
    int blanks = room > width ? room - width : 0;
    bool left = field->kind == FIELD_TEXT || field->kind == FIELD_BOOL;
    fprintf(output->file, "%*s%s", line->pending + (left ? 0 : blanks), "",
            text);
    line->pending = OUTPUT_GAP + (left ? blanks : 0);
    line->debt = width + blanks - room;
}

/* On a terminal it is broken between words; further lines are indented. */
static void put_note(FILE *file, int columns, const char *name,
                     const char *text)
{
    int used = width_of(name) + 3;
    fprintf(file, "# %s:", name);
    do {
        size_t bytes = strcspn(text, " ");
        int width = 1 + width_within(text, bytes);
        if (used + width > columns) {
            fputs("\n#  ", file);
            used = 3;
        }
        fprintf(file, " %.*s", (int)bytes, text);
        used += width;
        text += bytes;
    } while (*text++ == ' ');
    fputc('\n', file);
}

static void put_notes(struct output *output, unsigned from, unsigned to)
{
    char buf[64], escaped[NOTE_MAX];
    int room = output_room(output);
    for (unsigned i = from; i < to; i++) {
        const struct note *note = &output->notes[i];
        const char *text = output_cell(&note->field, note->value, "-", buf);
        put_note(output->file, room, note->field.name,
                 visible(text, escaped, sizeof escaped));
    }
}

static void put_header(struct output *output)
{
    struct line line = {0, 0};
    bool bold = output->file == stdout && color_on(1);
    fputs(bold ? "\033[1m" : "", output->file);
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].shown)
            put_cell(output, i, output_header(&output->fields[i]), &line);
    fputs(bold ? "\033[m\n" : "\n", output->file);
}

/* A path may be long: more than this takes room from the next columns, or is cut
 * on a terminal. */
enum { RESERVED_MAX = 32 };

void output_reserve_width(struct output *output, unsigned field,
                          const char *text)
{
    int width = width_of(text) < RESERVED_MAX ? width_of(text) : RESERVED_MAX;
    output->reserved[field] = larger_of(output->reserved[field], width);
}

/* Expected texts have at most a quarter of a terminal. */
static int reserved_width(const struct output *output, unsigned field)
{
    int reserved = output->reserved ? output->reserved[field] : 0;
    int most = output_room(output) / 4;
    return reserved < most ? reserved : most;
}

static void set_widths(struct output *output, const union value *sample,
                       int digits)
{
    for (unsigned i = 0; i < output->field_count; i++)
        output->columns[i].width =
            larger_of(column_width(&output->fields[i],
                                   sample ? &sample[i] : NULL, digits),
                      reserved_width(output, i));
}

static void head(struct output *output, const union value *sample)
{
    put_notes(output, 0, output->early_count);
    output->columns = calloc(output->field_count + 1, sizeof *output->columns);
    if (!output->columns) {
        (void)complain_with(GW_ENOMEM, "table");
        return;
    }
    for (unsigned i = 0; i < output->field_count; i++)
        output->columns[i].shown = output_field_shown(&output->fields[i]);
    if (output->failed) /* before the first row: no table */
        return;
    if (output->collect) {
        grid_head(output);
        return;
    }
    set_widths(output, sample, DIGITS);
    if (!output_fits(output))
        set_widths(output, sample, DIGITS_NARROW);
    output_narrow(output);
    put_header(output);
}

static void row(struct output *output, const union value *values)
{
    char buf[64];
    struct line line = {0, 0};
    if (!output->columns)
        return;
    if (output->collect) {
        grid_row(output, values);
        return;
    }
    for (unsigned i = 0; i < output->field_count; i++)
        if (output->columns[i].shown)
            put_cell(output, i,
                     output_cell(&output->fields[i], values[i], "-", buf),
                     &line);
    fputc('\n', output->file);
}

static void put_left_out(const struct output *output)
{
    char names[NOTE_MAX / 2], text[NOTE_MAX];
    if (*output_left_out(output, names, sizeof names) == 0)
        return;
    snprintf(text, sizeof text, "%s (-v or -o jsonl shows them)", names);
    put_note(output->file, output_room(output), "not shown", text);
}

static void tail(struct output *output, const struct gw_error *error,
                 bool partial)
{
    (void)error; /* printed on stderr */
    if (output->collect)
        grid_draw(output);
    put_left_out(output);
    put_notes(output, output->early_count, output->note_count);
    if (partial)
        fputs("# partial: interrupted\n", output->file);
}

static void record(struct output *output, const union value *values,
                   const struct gw_error *error, bool partial)
{
    char buf[64];
    int width = 0;
    (void)error;
    for (unsigned i = 0; i < output->field_count; i++)
        width = larger_of(width, width_of(output_header(&output->fields[i])));
    for (unsigned i = 0; i < output->field_count; i++) {
        const struct field *field = &output->fields[i];
        const char *header = output_header(field);
        if (output_field_shown(field))
            fprintf(output->file, "%s%*s  %s\n", header,
                    width - width_of(header), "",
                    output_cell(field, values[i], "-", buf));
    }
    if (partial)
        fputs("# partial: interrupted\n", output->file);
}

const struct output_format output_table = {
    .name = "table",
    .head = head,
    .row = row,
    .tail = tail,
    .record = record,
};
