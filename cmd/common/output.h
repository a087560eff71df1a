/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of a command on stdout, through one table of functions: table
 * (drawn by libsmartcols), json, jsonl, csv. All have the same field names. The
 * document is valid at any end: rows are objects of "rows", and `output_end`
 * closes it with the notes, also after a failure or Ctrl-C. All but the table
 * have their provenance (output/provenance.h).
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <gradwire/base.h>

enum field_kind { FIELD_TEXT, FIELD_INTEGER, FIELD_REAL, FIELD_BOOL };

struct field {
    const char *name;   /* "busbw_GBps" */
    const char *header; /* in the table; NULL: name */
    enum field_kind kind;
    int decimals; /* FIELD_REAL in the table and csv; json has full precision */
    bool hidden;  /* not in the table, unless -v */
};

union value {
    const char *text; /* NULL: null in json, empty elsewhere */
    int64_t integer;
    double real; /* NaN: null in json, "-" in the table */
    bool boolean;
};

struct output;

/* Begins a document of rows. `title` names the schema in json ("collrun
 * bench"). `format` is common.output. In jsonl, csv and the table, rows are
 * written as they come; the header and a sample row determine the widths of the
 * table's columns. */
GW_MUST_CHECK enum gw_err output_begin(const char *title, const char *format,
                                       const struct field *fields,
                                       unsigned field_count,
                                       struct output **output,
                                       struct gw_error *why);
/* Before the first row, for rows that come at once: the table is drawn when it
 * is complete, each column as wide as its content. Other formats are not
 * affected. */
void output_collect(struct output *output);
/* Before the first row: the columns that the table can omit on a narrow
 * terminal. "entropy queued" omits `entropy` first, then `queued`, then columns
 * from the right, as many as necessary. A last line names them. Nothing is
 * omitted with -v or where stdout is not a terminal. `names` must live as long
 * as the document. */
void output_spare(struct output *output, const char *names);
/* Before the first row: a text or number that the column will have. The
 * longest of them determines the width of the column, where there is room. */
void output_reserve(struct output *output, const char *name, const char *text);
/* One value per field. */
void output_row(struct output *output, const union value *values);
/* A fact about the whole document: "seed": 1. Before the first row: above it;
 * later: below. In the table a line that begins with "# "; in jsonl and csv
 * the early ones are members (columns) of every row, so that each row stands
 * alone, and the late ones are a last object (csv: left out). */
void output_note_text(struct output *, const char *name, const char *text);
void output_note_integer(struct output *, const char *name, int64_t value);
void output_note_real(struct output *, const char *name, double value);
/* Ends the document: with `error`, its sentence, code and exit status go in
 * ("error", "code", "status"); `partial` marks an interrupted one. In jsonl
 * they are in a last object, in csv nowhere. Flushes; frees. */
void output_end(struct output **output, const struct gw_error *error,
                bool partial);

/* A document that is one record: name and value pairs. Same ending rules. */
GW_MUST_CHECK enum gw_err
output_record(const char *title, const char *format, const struct field *fields,
              const union value *values, unsigned count,
              const struct gw_error *error, bool partial, struct gw_error *why);

#endif
