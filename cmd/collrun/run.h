/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun run`: what a rank does (run_rank.c) and what the supervisor
 * makes of it (run.c).
 */
#ifndef RUN_H
#define RUN_H

#include "common/launch.h"
#include "pattern.h"

struct run_job {
    const struct gw_plan *plan;
    struct pattern pattern; /* of the one call */
};

/* What a rank tells of the call. */
struct run_report {
    uint64_t messages, planned_messages; /* sent to all peers */
    uint64_t bytes, planned_bytes;
    uint64_t wrong, first_wrong;
    uint64_t time_ns;
    char miscount[160]; /* "" when every link carried what the plan says */
};

/* Fills the buffers, runs the plan once, checks result and counters, reports.
 */
GW_MUST_CHECK enum gw_err run_rank(struct gw_comm *comm,
                                   struct reporter *report,
                                   const struct run_job *job,
                                   struct gw_error *why);

#endif
