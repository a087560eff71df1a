/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The candidates of a comparison: each schedule with its formula and simulation
 * and, after a run, its measurement.
 */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include "costs.h"
#include "schedule_source.h"

struct candidate {
    const char *name; /* of the schedule, or of its file */
    struct gw_schedule *schedule;
    struct costs costs;
    struct gw_pipe_price price;
    bool priced; /* there is a formula that holds for these costs */
    struct gw_timeline *simulated;
    struct gw_timeline *measured; /* NULL: not run */
};

struct candidates {
    unsigned count;
    struct candidate *list;
};

/* Every built-in schedule of source's shape, then those of the files, which
 * must have the same stages and micro-batches; if source has none, the first
 * file's. On failure nothing is left to be freed. */
GW_MUST_CHECK enum gw_err
candidates_gather(const struct schedule_source *source, unsigned file_count,
                  char **files, const struct cost_options *costs,
                  struct candidates *candidates, struct gw_error *why);
/* Runs all of them, one after the other. GW_EINVAL: the costs differ between
 * stages otherwise than by --slow. */
GW_MUST_CHECK enum gw_err candidates_run(struct candidates *candidates,
                                         const char *wire, unsigned steps,
                                         struct gw_error *why);
void candidates_fini(struct candidates *candidates);

#endif
