/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One JSON object: schema, version, provenance, early notes, "rows", late notes, and the
 * ending. Rows are written as they come; `tail` writes the closing brackets.
 */
#include "output_format.h"

static void notes(struct output *output, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        fputc(',', output->file);
        put_json_member(output->file, &output->notes[i].field,
                        output->notes[i].value);
    }
}

static void head(struct output *output, const union value *sample)
{
    (void)sample;
    put_json_opening(output->file, output->title);
    put_json_provenance(output->file, &output->provenance);
    notes(output, 0, output->early_count);
    fputs(",\"rows\":[", output->file);
}

static void row(struct output *output, const union value *values)
{
    FILE *file = output->file;
    fputs(output->row_count > 1 ? ",\n {" : "\n {", file);
    for (unsigned i = 0; i < output->field_count; i++) {
        if (i)
            fputc(',', file);
        put_json_member(file, &output->fields[i], values[i]);
    }
    fputc('}', file);
}

static void tail(struct output *output, const struct gw_error *error,
                 bool partial)
{
    fputs(output->row_count ? "\n]" : "]", output->file);
    notes(output, output->early_count, output->note_count);
    put_json_ending(output->file, error, partial);
    fputs("}\n", output->file);
}

static void record(struct output *output, const union value *values,
                   const struct gw_error *error, bool partial)
{
    put_json_opening(output->file, output->title);
    for (unsigned i = 0; i < output->field_count; i++) {
        fputc(',', output->file);
        put_json_member(output->file, &output->fields[i], values[i]);
    }
    put_json_provenance(output->file, &output->provenance);
    put_json_ending(output->file, error, partial);
    fputs("}\n", output->file);
}

const struct output_format output_json = {
    .name = "json",
    .head = head,
    .row = row,
    .tail = tail,
    .record = record,
};
