/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The candidates of a comparison: each schedule with its formula and simulation
 * and, after a run, its measurement.
 */
#ifndef ENTRANTS_H
#define ENTRANTS_H

#include "costs.h"
#include "schedule_source.h"

struct entrant {
    const char *name; /* of the schedule, or of its file */
    struct gw_schedule *schedule;
    struct costs costs;
    struct gw_pipe_price price;
    bool priced; /* there is a formula that holds for these costs */
    struct gw_timeline *simulated;
    struct gw_timeline *measured; /* NULL: not run */
};

struct entrants {
    unsigned count;
    struct entrant *list;
};

/* Every built-in schedule of source's shape, then those of the files, which
 * must have the same stages and micro-batches; if source has none, the first
 * file's. On failure nothing is left to be freed. */
GW_MUST_CHECK enum gw_err entrants_gather(const struct schedule_source *source,
                                          unsigned file_count, char **files,
                                          const struct cost_options *costs,
                                          struct entrants *entrants,
                                          struct gw_error *why);
/* Runs all of them, one after the other. GW_EINVAL: the costs differ between
 * stages otherwise than by --slow. */
GW_MUST_CHECK enum gw_err entrants_run(struct entrants *entrants,
                                       const char *wire, unsigned steps,
                                       struct gw_error *why);
void entrants_fini(struct entrants *entrants);

#endif
