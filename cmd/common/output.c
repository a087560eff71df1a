/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one writer of stdout. It keeps the open document and its notes, and
 * guarantees a valid end: `output_finish` closes any document that a command
 * leaves open. Each format is in output_FORMAT.c.
 */
#include "common/output/output_format.h"
#include "internal.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it the digits of a real are noise, and there may be 300 of them. */
static const double digits_end = 1e15;

static FILE *target;
static struct output *open_document;
/* Atomic, although the lock of the file protects them: flockfile has the
 * attribute "leaf", by which a compiler may remove a store between two locks. */
static atomic_uint documents;
static atomic_bool finished; /* a command of one process has printed all */

static const struct output_format *const formats[] = {
    &output_table, &output_json, &output_jsonl, &output_csv};

/* The watcher of computing.c ends the document between two holds. */
static void hold(FILE *file)
{
    computing_yield();
    flockfile(file);
}

void output_to(FILE *file)
{
    target = file;
}

static const struct output_format *format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

enum gw_err output_begin(const char *title, const char *format,
                         const struct field *fields, unsigned field_count,
                         struct output **output, struct gw_error *why)
{
    *output = NULL;
    const struct output_format *chosen = format_find(format);
    if (!chosen)
        return gw_fail(why, GW_EINVAL, "unknown output format \"%.60s\"",
                       format);
    struct output *o = calloc(1, sizeof *o + field_count * sizeof *fields);
    if (!o)
        return gw_fail(why, GW_ENOMEM, "output of %u fields", field_count);
    o->format = chosen;
    o->file = target ? target : stdout;
    o->title = title;
    o->field_count = field_count;
    memcpy(o->fields, fields, field_count * sizeof *fields);
    if (chosen != &output_table)
        provenance_take(&o->provenance);
    hold(o->file);
    open_document = o;
    documents++;
    funlockfile(o->file);
    *output = o;
    return GW_OK;
}

void output_collect(struct output *output)
{
    assert(!output->head_done);
    output->collect = true;
}

void output_spare(struct output *output, const char *names)
{
    assert(!output->head_done);
    output->spare = names;
}

void output_reserve(struct output *output, const char *name, const char *text)
{
    assert(!output->head_done);
    if (!output->reserved)
        output->reserved =
            calloc(output->field_count, sizeof *output->reserved);
    if (!output->reserved) /* the table is less well aligned */
        return;
    for (unsigned i = 0; i < output->field_count; i++)
        if (strcmp(output->fields[i].name, name) == 0)
            output_reserve_width(output, i, text);
}

static void head_once(struct output *output, const union value *sample)
{
    if (output->head_done)
        return;
    output->early_count = output->note_count;
    output->head_done = true;
    progress("%s", "");
    output->format->head(output, sample);
}

void output_row(struct output *output, const union value *values)
{
    hold(output->file);
    head_once(output, values);
    output->row_count++;
    progress("%s", "");
    output->format->row(output, values);
    output_flush(output->file);
    funlockfile(output->file);
}

static void add_note(struct output *output, const char *name,
                     enum field_kind kind, union value value)
{
    hold(output->file);
    assert(output->note_count < NOTES_MAX);
    struct note *note = &output->notes[output->note_count++];
    note->field = (struct field){.name = name, .kind = kind, .decimals = 3};
    note->value = value;
    if (kind == FIELD_TEXT && value.text) {
        snprintf(note->text, sizeof note->text, "%s", value.text);
        note->value.text = note->text;
    }
    funlockfile(output->file);
}

void output_note_text(struct output *output, const char *name, const char *text)
{
    add_note(output, name, FIELD_TEXT, (union value){.text = text});
}

void output_note_integer(struct output *output, const char *name, int64_t value)
{
    add_note(output, name, FIELD_INTEGER, (union value){.integer = value});
}

void output_note_real(struct output *output, const char *name, double value)
{
    add_note(output, name, FIELD_REAL, (union value){.real = value});
}

/* Ends the hold, too. */
static void free_output(struct output **output)
{
    FILE *file = (*output)->file;
    output_flush(file);
    free((*output)->columns);
    free((*output)->reserved);
    free(*output);
    *output = NULL;
    open_document = NULL;
    funlockfile(file);
}

void output_end(struct output **output, const struct gw_error *error,
                bool partial)
{
    if (!*output)
        return;
    hold((*output)->file);
    (*output)->failed = error != NULL;
    head_once(*output, NULL);
    (*output)->format->tail(*output, error, partial);
    free_output(output);
}

enum gw_err output_record(const char *title, const char *format,
                          const struct field *fields, const union value *values,
                          unsigned count, const struct gw_error *error,
                          bool partial, struct gw_error *why)
{
    struct output *output;
    if (output_begin(title, format, fields, count, &output, why))
        return why->code;
    assert(output);
    hold(output->file);
    progress("%s", "");
    output->format->record(output, values, error, partial);
    free_output(&output);
    return GW_OK;
}

const char *output_cell(const struct field *field, union value value,
                        const char *absent, char buf[64])
{
    switch (field->kind) {
    case FIELD_TEXT:
        return value.text ? value.text : absent;
    case FIELD_INTEGER:
        snprintf(buf, 64, "%lld", (long long)value.integer);
        return buf;
    case FIELD_REAL:
        if (!isfinite(value.real))
            return absent;
        if (fabs(value.real) < digits_end)
            snprintf(buf, 64, "%.*f", field->decimals, value.real);
        else
            snprintf(buf, 64, "%g", value.real);
        return buf;
    case FIELD_BOOL:
        return value.boolean ? "true" : "false";
    }
    return absent;
}

bool output_field_shown(const struct field *field)
{
    return !field->hidden || common.verbose;
}

const char *output_header(const struct field *field)
{
    return field->header ? field->header : field->name;
}

bool output_has_field(const struct output *output, const char *name)
{
    for (unsigned i = 0; i < output->field_count; i++)
        if (strcmp(output->fields[i].name, name) == 0)
            return true;
    return false;
}

/* A document without rows that contains the error. */
static void write_failure(void)
{
    char title[96];
    struct provenance provenance;
    bool line = strcmp(common.output, "jsonl") == 0;
    if (!line && strcmp(common.output, "json") != 0)
        return;
    if (the_command)
        command_typed(the_command, title);
    else
        snprintf(title, sizeof title, "%s", the_tool->name);
    FILE *file = target ? target : stdout;
    provenance_take(&provenance);
    put_json_opening(file, title);
    put_json_provenance(file, &provenance);
    put_json_ending(file, complaint(), interrupted != 0);
    fputs("}\n", file);
}

/* Keeps the lock, unlike output_end, so that no output can follow. */
void output_interrupt(void)
{
    FILE *file = target ? target : stdout;
    flockfile(file);
    if (open_document) {
        head_once(open_document, NULL);
        open_document->format->tail(open_document, complaint(), true);
    } else if (!documents && !finished)
        write_failure();
    output_flush(file);
}

/* The watcher may be about to call output_interrupt: it must find this
 * document. */
static void end_with_failure(void)
{
    FILE *file = target ? target : stdout;
    hold(file);
    write_failure();
    documents++;
    funlockfile(file);
}

/* The watcher may be about to call output_interrupt. */
static void forget_documents(void)
{
    FILE *file = target ? target : stdout;
    flockfile(file);
    finished = true;
    documents = 0;
    funlockfile(file);
}

int output_finish(int status)
{
    const struct gw_error *error = complaint();
    if (open_document)
        output_end(&open_document, error, interrupted != 0);
    else if (!documents && error)
        end_with_failure();
    forget_documents();
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    int unwritten = complain_with(GW_ESYS, "cannot write the output");
    return status ? status : unwritten;
}
