/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * slots: the servers of each slot: the primary serves it, replicas in sync have
 * the same data, and a learner is copying it.
 */
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/servers.h"

static const struct field fields[] = {
    {"slot", NULL, FIELD_INTEGER, 0, false},
    {"primary", NULL, FIELD_TEXT, 0, false},
    {"in_sync", "in sync", FIELD_TEXT, 0, false},
    {"learner", NULL, FIELD_TEXT, 0, false},
    {"leaver", NULL, FIELD_TEXT, 0, false},
    {"successor", NULL, FIELD_TEXT, 0, false},
    {"term", NULL, FIELD_INTEGER, 0, false},
    {"rows", NULL, FIELD_INTEGER, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"keys", NULL, FIELD_INTEGER, 0, false},
    {"keys_per_second", "keys/s", FIELD_REAL, 0, false},
    {"bytes_per_second", "bytes/s", FIELD_REAL, 0, false},
    {"last", NULL, FIELD_INTEGER, 0, true},
    {"committed", NULL, FIELD_INTEGER, 0, true},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void print_slot(struct output *output, const json_t *slot)
{
    char primary[24], learner[24], leaver[24], successor[24], sync[64];
    const union value row[FIELDS] = {
        {.integer = integer_of(slot, "slot", 0)},
        {.text = number_or_dash(slot, "primary", primary)},
        {.text =
             numbers_text(json_object_get(slot, "in_sync"), sync, sizeof sync)},
        {.text = number_or_dash(slot, "learner", learner)},
        {.text = number_or_dash(slot, "leaver", leaver)},
        {.text = number_or_dash(slot, "successor", successor)},
        {.integer = integer_of(slot, "term", 0)},
        {.integer = integer_of(slot, "rows", 0)},
        {.integer = integer_of(slot, "bytes", 0)},
        {.integer = integer_of(slot, "keys", 0)},
        {.real = real_of(slot, "keys_per_second")},
        {.real = real_of(slot, "bytes_per_second")},
        {.integer = integer_of(slot, "last", 0)},
        {.integer = integer_of(slot, "committed", 0)},
    };
    output_row(output, row);
}

static int run_slots(int operand_count, char **operands)
{
    const struct servers_table table = {
        .title = "ringctl slots",
        .fields = fields,
        .field_count = FIELDS,
        .spare =
            "successor leaver learner keys keys_per_second bytes_per_second",
        .list = "slots",
        .print = print_slot};
    (void)operand_count;
    (void)operands;
    return servers_print(&table);
}

const struct command command_slots = {
    .name = "slots",
    .help = "print the slots: primary, replicas in sync, learner, term",
    .examples = "ringctl slots\n",
    .run = run_slots,
};
