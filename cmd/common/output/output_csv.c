/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comma-separated values after RFC 4180: a line of names, then the rows. Early
 * notes are columns too, so that files of several runs can be joined, and so is
 * the provenance: the format has no comments. Its columns come last and have the
 * names that flattened JSON has. An error that ends a document is printed on
 * stderr only.
 */
#include "output_format.h"

#include <string.h>

static void put_cell(FILE *file, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_value(FILE *file, const struct field *field, union value value)
{
    char buf[64];
    put_cell(file, output_cell(field, value, "", buf));
}

static void head(struct output *output, const union value *sample)
{
    (void)sample;
    for (unsigned i = 0; i < output->field_count; i++) {
        if (i)
            fputc(',', output->file);
        put_cell(output->file, output->fields[i].name);
    }
    for (unsigned i = 0; i < output->early_count; i++) {
        if (output_has_field(output, output->notes[i].field.name))
            continue;
        fputc(',', output->file);
        put_cell(output->file, output->notes[i].field.name);
    }
    for (unsigned i = 0; i < PROVENANCE_FIELDS; i++)
        fprintf(output->file, ",provenance.%s", provenance_fields[i].name);
    fputc('\n', output->file);
}

static void row(struct output *output, const union value *values)
{
    for (unsigned i = 0; i < output->field_count; i++) {
        if (i)
            fputc(',', output->file);
        put_value(output->file, &output->fields[i], values[i]);
    }
    for (unsigned i = 0; i < output->early_count; i++) {
        const struct note *note = &output->notes[i];
        if (output_has_field(output, note->field.name))
            continue;
        fputc(',', output->file);
        put_value(output->file, &note->field, note->value);
    }
    for (unsigned i = 0; i < PROVENANCE_FIELDS; i++) {
        fputc(',', output->file);
        put_value(output->file, &provenance_fields[i],
                  output->provenance.values[i]);
    }
    fputc('\n', output->file);
}

static void tail(struct output *output, const struct gw_error *error,
                 bool partial)
{
    (void)output;
    (void)error;
    (void)partial;
}

static void record(struct output *output, const union value *values,
                   const struct gw_error *error, bool partial)
{
    (void)error;
    (void)partial;
    head(output, values);
    row(output, values);
}

const struct output_format output_csv = {
    .name = "csv",
    .head = head,
    .row = row,
    .tail = tail,
    .record = record,
};
