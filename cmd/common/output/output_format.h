/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The inside of output.h: a format is a table of functions, one file each.
 * Notes are kept by output.c and handed over complete: early ones when `head`
 * is called (before the first row, or before `tail` if there was none), late
 * ones with `tail`.
 */
#ifndef OUTPUT_FORMAT_H
#define OUTPUT_FORMAT_H

#include "common/output.h"
#include "provenance.h"

#include <limits.h>
#include <stdio.h>

enum { NOTES_MAX = 64 };

struct note {
    struct field field;
    union value value;
    char text[512]; /* storage of value.text */
};

struct grid; /* the collected cells of a table */

/* A column of a table: its minimal width and that without breaks, whether its
 * texts may be broken at blanks, and whether it is shown. */
struct column {
    int width, unbroken_width;
    bool wraps;
    bool shown;
};

struct output {
    const struct output_format *format;
    FILE *file;
    const char *title;
    bool collect;
    bool head_done;
    bool failed; /* it ends with an error */
    size_t row_count;
    unsigned note_count, early_count; /* late notes follow the early ones */
    struct note notes[NOTES_MAX];
    const char *spare;      /* of output_spare; NULL: none */
    int *reserved;          /* of output_reserve, by field; NULL: none */
    struct column *columns; /* of a table; NULL before its head */
    struct grid *grid;
    struct provenance provenance; /* empty for a table */
    unsigned field_count;
    struct field fields[];
};

struct output_format {
    const char *name;
    /* `sample`: the first row, or NULL. */
    void (*head)(struct output *output, const union value *sample);
    void (*row)(struct output *output, const union value *values);
    void (*tail)(struct output *output, const struct gw_error *error,
                 bool partial);
    /* A document of one record. */
    void (*record)(struct output *output, const union value *values,
                   const struct gw_error *error, bool partial);
};

extern const struct output_format output_table, output_json, output_jsonl,
    output_csv;

/* Where documents go; NULL (as at first) is stdout. For tests. */
void output_to(FILE *file);

/* The text of one cell, as the table and csv show it. `absent` replaces NULL
 * and NaN. The result is `buf` or the value's own text. */
const char *output_cell(const struct field *field, union value value,
                        const char *absent, char buf[64]);
bool output_field_shown(const struct field *field);
/* The header of its column. */
const char *output_header(const struct field *field);
/* True when a row has a field of this name, which then hides a note's. */
bool output_has_field(const struct output *output, const char *name);

/* The width of the text, in characters, for output_reserve. */
void output_reserve_width(struct output *output, unsigned field,
                          const char *text);

/* ---- a table on a narrow terminal (output_narrow.c) ---- */

/* The available width in characters. */
int output_room(const struct output *output);
/* The gap between two columns; the room for a few words that a wrapped text
 * should have; and the width where it does not matter, to which gaps can be
 * added. */
enum { OUTPUT_GAP = 2, OUTPUT_WORDS = 20, OUTPUT_UNLIMITED = INT_MAX / 2 };
/* The width of a line with all shown columns. */
int output_width(const struct output *output);
/* ... and whether it fits, or need not. */
bool output_fits(const struct output *output);
/* Omits columns until the table fits. */
void output_narrow(struct output *output);
/* The text of a cell, or its end after ".." if the line would wrap: the end of a
 * path is the name of the file. The line is already too long by `debt`. */
enum { CUT_BYTES = 512 };
const char *output_cut(const struct output *output, unsigned column,
                       const char *text, int debt, char out[CUT_BYTES]);
/* The names of the omitted columns, as in jsonl: "entropy, queued"; "" if there
 * are none. Writes and returns `out`. */
const char *output_left_out(const struct output *output, char *out,
                            size_t size);

/* ---- the finished table (output_grid.c) ---- */

void grid_head(struct output *output);
void grid_row(struct output *output, const union value *values);
void grid_draw(struct output *output);

/* ---- JSON by pieces (json_text.c) ---- */

/* Quoted and escaped; bytes that are not UTF-8 become U+FFFD. NULL: null. */
void put_json_text(FILE *file, const char *text);
/* The shortest form that reads back as the same number; null for NaN. */
void put_json_real(FILE *file, double real);
/* "name":value */
void put_json_member(FILE *file, const struct field *field, union value value);
/* ,"partial":false,"status":0 and, after a failure, ,"code":..,"error":.. */
void put_json_ending(FILE *file, const struct gw_error *error, bool partial);
/* {"schema":"collrun plan","version":"0.1.0" */
void put_json_opening(FILE *file, const char *title);
/* ,"provenance":{"date":... */
void put_json_provenance(FILE *file, const struct provenance *provenance);

#endif
