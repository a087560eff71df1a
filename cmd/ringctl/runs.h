/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The runs of this folder, living and ended ones.
 */
#ifndef RUNS_H
#define RUNS_H

#include "common/rpc_client.h"

enum { RUNS_LISTED_MAX = 256 };

struct runs {
    unsigned count;
    char *names[RUNS_LISTED_MAX]; /* by name */
};
void runs_list(struct runs *runs);
void runs_fini(struct runs *runs);
/* A JSON file of a run's directory: run.json or summary.json. `name` NULL: the
 * latest. NULL: missing. */
json_t *runs_read(const char *name, const char *file);
/* The summary of a run that is over. One whose supervisor ended without it has
 * died: it has the facts of run.json, and an error. NULL: missing. */
json_t *runs_summary(const char *name);

#endif
