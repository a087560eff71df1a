/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * clocks: the workers of parameter servers, the number of finished items, and
 * the staleness of pulls: the histogram counts items by the clocks that their
 * worker was ahead of the slowest when they were granted.
 */
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/servers.h"

#include <gradwire/ps.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"worker", NULL, FIELD_INTEGER, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"phase", NULL, FIELD_TEXT, 0, false},
    {"clock", NULL, FIELD_TEXT, 0, false},
    {"data_epoch", "epoch", FIELD_INTEGER, 0, false},
    {"batch", NULL, FIELD_INTEGER, 0, false},
    {"part", NULL, FIELD_INTEGER, 0, false},
    {"staleness", NULL, FIELD_INTEGER, 0, false},
    {"items", NULL, FIELD_INTEGER, 0, false},
    {"items_per_second", "items/s", FIELD_REAL, 1, false},
    {"waited_share", "waited", FIELD_REAL, 2, false},
    {"loss", NULL, FIELD_REAL, 4, false},
    {"item_keys", "keys", FIELD_INTEGER, 0, false},
    {"model_keys", "of", FIELD_INTEGER, 0, false},
    {"pull_keys", "pulled", FIELD_INTEGER, 0, false},
    {"push_keys", "pushed", FIELD_INTEGER, 0, true},
    {"retries", NULL, FIELD_INTEGER, 0, true},
    {"nans", NULL, FIELD_INTEGER, 0, true},
    {"rejoined", NULL, FIELD_INTEGER, 0, true},
    {"text", NULL, FIELD_TEXT, 0, true},
};
enum { FIELDS = sizeof fields / sizeof *fields, CLOCK = 3 };

static void print_worker(struct output *output, const json_t *node)
{
    union value row[FIELDS];
    char clock[24];
    servers_row(fields, FIELDS, node, row);
    row[CLOCK].text = number_or_dash(node, "clock", clock);
    output_row(output, row);
}

/* "0: 1200, 1: 35", and for programs staleness_0, staleness_1 ... */
static void note_staleness(struct output *output, const json_t *status)
{
    const json_t *list =
        json_object_get(json_object_get(status, "clocks"), "staleness");
    bool people = strcmp(common.output, "table") == 0;
    static char names[GW_PS_STALENESS_MAX + 1][16]; /* kept by notes */
    char text[1024] = "";
    size_t i, used = 0;
    json_t *count;
    json_array_foreach(list, i, count)
    {
        json_int_t items = json_integer_value(count);
        if (i > GW_PS_STALENESS_MAX)
            break;
        snprintf(names[i], sizeof names[i], "staleness_%zu", i);
        if (!people)
            output_note_integer(output, names[i], items);
        else if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%s%zu: %" PRId64, i ? ", " : "", i,
                                     (int64_t)items);
    }
    if (people)
        output_note_text(output, "staleness", text);
}

static int run_clocks(int operand_count, char **operands)
{
    const struct servers_table table = {
        .title = "ringctl clocks",
        .fields = fields,
        .field_count = FIELDS,
        .spare = "part batch pull_keys model_keys item_keys phase",
        .list = "nodes",
        .role = "worker",
        .note = note_staleness,
        .print = print_worker};
    (void)operand_count;
    (void)operands;
    return servers_print(&table);
}

const struct command command_clocks = {
    .name = "clocks",
    .help = "print the workers: clock, item, waiting time, and the staleness "
            "of pulls",
    .examples = "ringctl clocks\n"
                "ringctl clocks -o json\n",
    .run = run_clocks,
};
