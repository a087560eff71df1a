/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs that belong to a tool of their own, and are only looked at
 * (common/announce.h).
 */
#ifndef LOOKED_AT_H
#define LOOKED_AT_H

#include "common/output.h"

#include <jansson.h>

/* Does this status, or summary, come from such a run? */
bool is_looked_at(const json_t *status);
/* Whose it is, what it does, and all that its tool tells beside. */
void looked_at_notes(struct output *output, json_t *status);

#endif
