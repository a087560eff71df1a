/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See servers.h.
 */
#include "servers.h"

#include "common/command.h"
#include "request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* GW_ENOTSUP: the run is a ring. */
static enum gw_err request_ps_status(json_t **status, struct gw_error *why)
{
    enum gw_err code = request_status(status, why);
    if (code || json_object_get(*status, "slots"))
        return code;
    json_decref(*status);
    return gw_fail(why, GW_ENOTSUP,
                   "this run is a ring; up --servers 3 starts parameter "
                   "servers");
}

const char *numbers_text(const json_t *list, char *out, size_t room)
{
    size_t i, used = 0;
    json_t *number;
    snprintf(out, room, "-");
    json_array_foreach(list, i, number)
    {
        if (used < room)
            used +=
                (size_t)snprintf(out + used, room - used, "%s%d", i ? " " : "",
                                 (int)json_integer_value(number));
    }
    return out;
}

/* NULL for "" and for a missing member. */
static const char *text_or_null(const json_t *object, const char *name)
{
    const char *text = text_of(object, name, "");
    return *text ? text : NULL;
}

const char *number_or_dash(const json_t *object, const char *name, char out[24])
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value))
        return "-";
    snprintf(out, 24, "%" PRId64, integer_of(object, name, 0));
    return out;
}

static void note_progress(struct output *output, const json_t *status)
{
    char text[200];
    const json_t *clock = json_object_get(status, "clocks");
    snprintf(text, sizeof text,
             "%s, step %" PRId64 ", %" PRId64 " of %" PRId64 " items, %" PRId64
             " dropped, %" PRId64 " redone, %" PRId64
             " parts dropped with a dead worker",
             text_of(clock, "mode", "?"), integer_of(status, "step", 0),
             integer_of(clock, "items", 0), integer_of(clock, "expected", 0),
             integer_of(clock, "dropped", 0), integer_of(clock, "redone", 0),
             integer_of(clock, "parts_dropped", 0));
    output_note_text(output, "work", text);
}

static void note_servers(struct output *output, const json_t *status)
{
    static const char *const names[] = {"epoch",   "data_epoch", "step",
                                        "servers", "workers",    "replicas",
                                        "lost",    "doubled"};
    static const char *const counts[] = {"items", "expected", "dropped",
                                         "redone", "parts_dropped"};
    const json_t *clock = json_object_get(status, "clocks");
    output_note_text(output, "run", text_of(status, "run", "?"));
    output_note_text(output, "state", text_of(status, "state", "?"));
    if (strcmp(common.output, "table") == 0) {
        note_progress(output, status);
        return;
    }
    output_note_text(output, "mode", text_of(clock, "mode", "?"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        output_note_integer(output, names[i], integer_of(status, names[i], 0));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        output_note_integer(output, counts[i], integer_of(clock, counts[i], 0));
}

void servers_row(const struct field *fields, unsigned count, const json_t *node,
                 union value *row)
{
    for (unsigned i = 0; i < count; i++) {
        const char *name = fields[i].name;
        if (fields[i].kind == FIELD_TEXT)
            row[i].text = text_or_null(node, name);
        else if (fields[i].kind == FIELD_REAL)
            row[i].real = real_of(node, name);
        else
            row[i].integer = integer_of(node, i ? name : "node", 0);
    }
}

int servers_print(const struct servers_table *table)
{
    struct gw_error why;
    struct output *output;
    json_t *status, *item;
    size_t i;
    if (request_ps_status(&status, &why))
        return complain(&why);
    if (output_begin(table->title, common.output, table->fields,
                     table->field_count, &output, &why)) {
        json_decref(status);
        return complain(&why);
    }
    output_collect(output);
    output_spare(output, table->spare);
    note_servers(output, status);
    if (table->note)
        table->note(output, status);
    json_array_foreach(json_object_get(status, table->list), i, item)
    {
        if (!table->role || strcmp(text_of(item, "role", ""), table->role) == 0)
            table->print(output, item);
    }
    output_end(&output, NULL, false);
    json_decref(status);
    return 0;
}
