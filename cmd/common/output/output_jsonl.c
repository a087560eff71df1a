/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One JSON object per line, each a self-contained row with the early notes. The
 * first line of a document also has its provenance: a line of its own would be a
 * row that no reader expects. A last line, recognised by its "status", is only
 * written for late notes, a failure or an interruption.
 */
#include "output_format.h"

static void head(struct output *output, const union value *sample)
{
    (void)output;
    (void)sample;
}

static void row(struct output *output, const union value *values)
{
    for (unsigned i = 0; i < output->field_count; i++) {
        fputc(i ? ',' : '{', output->file);
        put_json_member(output->file, &output->fields[i], values[i]);
    }
    for (unsigned i = 0; i < output->early_count; i++) {
        const struct note *note = &output->notes[i];
        if (output_has_field(output, note->field.name))
            continue;
        fputc(',', output->file);
        put_json_member(output->file, &note->field, note->value);
    }
    if (output->row_count == 1)
        put_json_provenance(output->file, &output->provenance);
    fputs("}\n", output->file);
}

static void tail(struct output *output, const struct gw_error *error,
                 bool partial)
{
    unsigned first = output->row_count ? output->early_count : 0;
    if (first == output->note_count && !error && !partial)
        return;
    put_json_opening(output->file, output->title);
    if (output->row_count == 0)
        put_json_provenance(output->file, &output->provenance);
    for (unsigned i = first; i < output->note_count; i++) {
        fputc(',', output->file);
        put_json_member(output->file, &output->notes[i].field,
                        output->notes[i].value);
    }
    put_json_ending(output->file, error, partial);
    fputs("}\n", output->file);
}

static void record(struct output *output, const union value *values,
                   const struct gw_error *error, bool partial)
{
    output_json.record(output, values, error, partial);
}

const struct output_format output_jsonl = {
    .name = "jsonl",
    .head = head,
    .row = row,
    .tail = tail,
    .record = record,
};
