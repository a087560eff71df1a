/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ps, slots and clocks have in common: they are about a run of parameter
 * servers.
 */
#ifndef SERVERS_H
#define SERVERS_H

#include "common/output.h"

#include <jansson.h>

/* The status; GW_ENOTSUP: the run is a ring. */
GW_MUST_CHECK enum gw_err servers_status(json_t **status, struct gw_error *why);
/* "0 2 3" of an array of numbers, "-" of none; returns out. */
const char *numbers_text(const json_t *list, char *out, size_t room);
/* NULL for "" and for what is missing. */
const char *text_or_null(const json_t *object, const char *name);
/* The number, or "-" for null. */
const char *number_or_dash(const json_t *object, const char *name,
                           char out[24]);
/* Above the rows: mode, how far it is, replicas. */
void note_servers(struct output *output, const json_t *status);

#endif
