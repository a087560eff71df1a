/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Read-only runs, which belong to a separate tool (common/announce.h).
 */
#ifndef READ_ONLY_H
#define READ_ONLY_H

#include "common/output.h"

#include <jansson.h>

/* Does this status, or summary, come from such a run? */
bool is_read_only(const json_t *status);
/* Notes about its tool, its command, and all other values in its status. */
void read_only_notes(struct output *output, json_t *status);

#endif
