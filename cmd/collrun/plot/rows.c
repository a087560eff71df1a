/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See rows.h. A json document is an object with an array "rows"; in jsonl each
 * line is a row, and the last line is the document's ending. The rows of a
 * status of ringctl are its recoveries.
 */
#include "rows.h"

#include <base/file.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static enum gw_err append(struct rows *rows, json_t *row, struct gw_error *why)
{
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 64;
        json_t **grown = realloc(rows->rows, room * sizeof *grown);
        if (!grown)
            return gw_fail(why, GW_ENOMEM, "%zu rows", room);
        rows->rows = grown;
        rows->room = room;
    }
    rows->rows[rows->count++] = json_incref(row);
    return GW_OK;
}

/* Adds the document's notes to each of its rows. */
static enum gw_err append_rows(struct rows *rows, json_t *document,
                               const char *name, struct gw_error *why)
{
    const json_t *list = json_object_get(document, name);
    enum gw_err err = GW_OK;
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        if (!json_is_object(row))
            return gw_fail(why, GW_EDATA, "row %zu is not an object", i + 1);
        if (json_object_update_missing(row, document) != 0)
            err = gw_fail(why, GW_ENOMEM, "rows");
        json_object_del(row, name); /* else each row has all rows */
        if (!err)
            err = append(rows, row, why);
        if (err)
            return err;
    }
    return GW_OK;
}

static enum gw_err append_document(struct rows *rows, json_t *document,
                                   struct gw_error *why)
{
    static const char *const lists[] = {"rows", "recoveries"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_is_array(json_object_get(document, lists[i])))
            return append_rows(rows, document, lists[i], why);
    return append(rows, document, why);
}

/* Skips white space. */
static bool at_end(FILE *file)
{
    int c = getc(file);
    while (isspace(c))
        c = getc(file);
    return ungetc(c, file) == EOF;
}

enum gw_err rows_read(const char *path, struct rows *rows, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    json_error_t fault;
    FILE *file = gw__file_stream(path, why);
    if (!file)
        return why->code;
    while (!err && !at_end(file)) {
        json_t *document = json_loadf(file, JSON_DISABLE_EOF_CHECK, &fault);
        if (!json_is_object(document))
            err = gw_fail(why, GW_EDATA,
                          "%.200s: not json or jsonl of a result; write it "
                          "with -o jsonl",
                          path);
        else
            err = append_document(rows, document, why);
        if (err && json_is_object(document))
            err = gw_wrap(why, err, "%.200s", path);
        json_decref(document);
    }
    fclose(file);
    return err;
}

void rows_free(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        json_decref(rows->rows[i]);
    free(rows->rows);
    *rows = (struct rows){.count = 0};
}
