/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * controllers: the leader and its followers, the length of their logs, and
 * their received and granted messages.
 */
#include "common/output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"controller", NULL, FIELD_INTEGER, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"role", NULL, FIELD_TEXT, 0, false},
    {"follows", NULL, FIELD_TEXT, 0, false},
    {"term", NULL, FIELD_INTEGER, 0, false},
    {"last", NULL, FIELD_INTEGER, 0, false},
    {"committed", NULL, FIELD_INTEGER, 0, false},
    {"applied", NULL, FIELD_INTEGER, 0, false},
    {"hellos", NULL, FIELD_INTEGER, 0, false},
    {"leases", NULL, FIELD_INTEGER, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields, FOLLOWS = 3 };

static void print_controller(struct output *output, const json_t *item)
{
    char follows[24] = "-";
    int64_t leader = integer_of(item, "follows", -1);
    bool alive = strcmp(text_of(item, "state", ""), "alive") == 0;
    if (alive && leader >= 0 && leader != integer_of(item, "controller", 0))
        snprintf(follows, sizeof follows, "c%" PRId64, leader);
    union value row[FIELDS] = {
        {.integer = integer_of(item, "controller", 0)},
        {.text = text_of(item, "state", "?")},
        {.text = alive ? text_of(item, "role", "-") : "-"},
        {.text = follows},
    };
    for (unsigned f = FOLLOWS + 1; f < FIELDS; f++)
        row[f].integer = integer_of(item, fields[f].name, 0);
    output_row(output, row);
}

static int print_controllers(const json_t *status)
{
    size_t i;
    const json_t *item;
    struct gw_error why;
    struct output *output;
    if (output_begin("ringctl controllers", common.output, fields, FIELDS,
                     &output, &why))
        return complain(&why);
    output_collect(output);
    output_note_integer(output, "leader", integer_of(status, "leader", -1));
    output_note_integer(output, "epoch", integer_of(status, "epoch", 0));
    json_array_foreach(json_object_get(status, "controller_list"), i, item)
    {
        print_controller(output, item);
    }
    output_end(&output, NULL, false);
    return 0;
}

static int run_controllers(int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    return request_and_print_status(print_controllers);
}

const struct command command_controllers = {
    .name = "controllers",
    .help =
        "print the controllers: terms, logs, received hellos, granted leases",
    .examples = "ringctl controllers\n"
                "ringctl kill leader; ringctl controllers\n",
    .run = run_controllers,
};
