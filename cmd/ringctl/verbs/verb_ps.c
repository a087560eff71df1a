/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ps: the parameter servers, their contents and counters.
 */
#include "ringctl/ringctl.h"
#include "ringctl/servers.h"

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
    {"bytes_per_second", "bytes/s", FIELD_REAL, 0, false},
    {"push_keys", NULL, FIELD_INTEGER, 0, true},
    {"pull_keys", NULL, FIELD_INTEGER, 0, true},
    {"duplicates", NULL, FIELD_INTEGER, 0, true},
    {"refused", NULL, FIELD_INTEGER, 0, true},
    {"fenced", NULL, FIELD_INTEGER, 0, true},
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

static void print_server(struct output *output, const json_t *node)
{
    union value row[FIELDS];
    servers_row(fields, FIELDS, node, row);
    output_row(output, row);
}

static int run_ps(int operand_count, char **operands)
{
    const struct servers_table table = {
        .title = "ringctl ps",
        .fields = fields,
        .field_count = FIELDS,
        .spare = "learners bytes_per_second freeze_ms moved takeovers pulls",
        .list = "nodes",
        .role = "server",
        .print = print_server};
    (void)operand_count;
    (void)operands;
    return servers_print(&table);
}

const struct command command_ps = {
    .name = "ps",
    .help =
        "print the parameter servers: slots, rows, pushes and pulls of each",
    .examples = "ringctl ps\n"
                "ringctl ps -v\n",
    .run = run_ps,
};
