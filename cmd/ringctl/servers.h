/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by ps, slots and clocks, the verbs about a run of parameter servers.
 */
#ifndef SERVERS_H
#define SERVERS_H

#include "common/output.h"

#include <jansson.h>

/* A command that prints the status of a run of parameter servers: notes above
 * the rows, and one row for each item of a list. */
struct servers_table {
    const char *title;
    const struct field *fields;
    unsigned field_count;
    const char *spare; /* for output_spare */
    const char *list;  /* "nodes", "slots" */
    const char *role;  /* role of the items to print; NULL: all */
    /* More notes above the rows, after mode, progress and replicas; or NULL. */
    void (*note)(struct output *output, const json_t *status);
    void (*print)(struct output *output, const json_t *item);
};
/* Returns the exit status. A ring is an error. */
int servers_print(const struct servers_table *table);
/* A node's row: the fields are named as in the status, except the first, the
 * node's number. */
void servers_row(const struct field *fields, unsigned count, const json_t *node,
                 union value *row);

/* "0 2 3" of an array of numbers, "-" of none; returns out. */
const char *numbers_text(const json_t *list, char *out, size_t room);
/* The number, or "-" for null. */
const char *number_or_dash(const json_t *object, const char *name,
                           char out[24]);

#endif
