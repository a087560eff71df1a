/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ps, slots and clocks have in common: they are about a run of parameter
 * servers.
 */
#ifndef SERVERS_H
#define SERVERS_H

#include "common/output.h"

#include <jansson.h>

/* A command that prints the status of a run of parameter servers: what stands
 * above the rows, and a row for each item of a list of it. */
struct servers_table {
    const char *title;
    const struct field *fields;
    unsigned field_count;
    const char *spare; /* as output_spare wants them */
    const char *list;  /* "nodes", "slots" */
    const char *role;  /* of the items that have a row; NULL: all */
    /* Above the rows, below mode, how far it is, replicas; or NULL. */
    void (*note)(struct output *output, const json_t *status);
    void (*print)(struct output *output, const json_t *item);
};
/* The exit status. A run that is a ring is complained of. */
int servers_print(const struct servers_table *table);
/* A node's row: fields have the names of the status, but for the first, which
 * is the node's number. */
void servers_row(const struct field *fields, unsigned count, const json_t *node,
                 union value *row);

/* "0 2 3" of an array of numbers, "-" of none; returns out. */
const char *numbers_text(const json_t *list, char *out, size_t room);
/* NULL for "" and for what is missing. */
const char *text_or_null(const json_t *object, const char *name);
/* The number, or "-" for null. */
const char *number_or_dash(const json_t *object, const char *name,
                           char out[24]);

#endif
