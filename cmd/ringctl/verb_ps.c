/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ps: the parameter servers, what they hold and what they have done.
 */
#include "ask.h"
#include "ringctl.h"
#include "servers.h"

#include <string.h>

static const struct field fields[] = {
    {"server", NULL, FIELD_INTEGER, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"phase", NULL, FIELD_TEXT, 0, false},
    {"primaries", NULL, FIELD_INTEGER, 0, false},
    {"secondaries", NULL, FIELD_INTEGER, 0, false},
    {"learners", NULL, FIELD_INTEGER, 0, false},
    {"rows", NULL, FIELD_INTEGER, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"pushes", NULL, FIELD_INTEGER, 0, false},
    {"pulls", NULL, FIELD_INTEGER, 0, false},
    {"push_keys", NULL, FIELD_INTEGER, 0, true},
    {"pull_keys", NULL, FIELD_INTEGER, 0, true},
    {"duplicates", NULL, FIELD_INTEGER, 0, true},
    {"refused", NULL, FIELD_INTEGER, 0, true},
    {"nans", NULL, FIELD_INTEGER, 0, true},
    {"dropped", NULL, FIELD_INTEGER, 0, true},
    {"staged", NULL, FIELD_INTEGER, 0, true},
    {"takeovers", NULL, FIELD_INTEGER, 0, false},
    {"moved", NULL, FIELD_INTEGER, 0, false},
    {"freeze_ms", "frozen ms", FIELD_REAL, 1, false},
    {"pid", NULL, FIELD_INTEGER, 0, true},
    {"text", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* The columns have the names of the status. */
static void print_server(struct output *output, const json_t *node)
{
    union value row[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++) {
        const char *name = fields[i].name;
        if (fields[i].kind == FIELD_TEXT)
            row[i].text = text_or_null(node, name);
        else if (fields[i].kind == FIELD_REAL)
            row[i].real = real_of(node, name);
        else
            row[i].integer = integer_of(node, i ? name : "node", 0);
    }
    output_row(output, row);
}

static int run(int operand_count, char **operands)
{
    struct gw_error why;
    struct output *output;
    json_t *status, *node;
    size_t i;
    (void)operand_count;
    (void)operands;
    if (servers_status(&status, &why))
        return complain(&why);
    if (output_begin("ringctl ps", common.output, fields, FIELDS, &output,
                     &why)) {
        json_decref(status);
        return complain(&why);
    }
    output_collect(output);
    note_servers(output, status);
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "role", ""), "server") == 0)
            print_server(output, node);
    }
    output_end(&output, NULL, false);
    json_decref(status);
    return 0;
}

const struct command command_ps = {
    .name = "ps",
    .help = "the parameter servers: slots, rows, pushes and pulls of each",
    .examples = "ringctl ps\n"
                "ringctl ps -v\n",
    .run = run,
};
