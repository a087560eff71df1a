/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode actors: actors that play and a learner that trains on their play, with
 * a bounded queue between them (gradwire/actors.h). actors.c has the options
 * and the virtual actors, actors_processes.c the processes, actors_rows.c the
 * output of both.
 */
#ifndef PSNODE_ACTORS_H
#define PSNODE_ACTORS_H

#include "common/faults.h"
#include "common/output.h"

#include <gradwire/actors.h>

struct actors_spec {
    struct gw_actors_config config;
    unsigned updates, every;
    const char *correction; /* its name */
    /* of processes */
    const char *wire;
    struct rank_faults faults; /* the rank is an actor, the step an update */
};

struct actors_totals {
    uint64_t updates, trajectories, dropped, episodes, steps, lag_max, time_ns;
    double lag_sum, queue_sum, actors_sum, busy_ns, newest;
    unsigned lost;
    uint64_t digest;
};

/* The number of updates in the next row; 0: no more rows. */
unsigned actors_next(const struct actors_spec *spec,
                     const struct actors_totals *totals);
double actors_lag(const struct actors_totals *totals);

/* ---- actors_rows.c ---- */

GW_MUST_CHECK enum gw_err actors_begin(const struct actors_spec *spec,
                                       struct output **output,
                                       struct gw_error *why);
void actors_row(struct output *output, const struct gw_actors_report *report,
                struct actors_totals *totals);
void actors_put_totals(struct output *output, const struct actors_spec *spec,
                       const struct actors_totals *totals);

/* ---- actors_processes.c ---- */

enum { ACTORS_PROCESSES_MAX = 64 };

/* Runs all of it; *totals are those of the virtual actors, for comparison. */
GW_MUST_CHECK enum gw_err
actors_processes(const struct actors_spec *spec,
                 const struct actors_totals *predicted, struct gw_error *why);

#endif
