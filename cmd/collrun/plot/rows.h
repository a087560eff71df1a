/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of result documents, json or jsonl, from several files.
 */
#ifndef COLLRUN_PLOT_ROWS_H
#define COLLRUN_PLOT_ROWS_H

#include <gradwire/base.h>
#include <jansson.h>

struct rows {
    size_t count, room;
    json_t **rows; /* objects; owned */
};

/* Appends the rows of a file. Each row also has the document's notes, unless it
 * has a member of that name. GW_EDATA: "PATH:LINE: ..."; GW_ENOMEM. */
GW_MUST_CHECK enum gw_err rows_read(const char *path, struct rows *rows,
                                    struct gw_error *why);
void rows_free(struct rows *rows);

#endif
