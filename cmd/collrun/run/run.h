/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun run`: a rank (run_rank.c), the sum of the ranks' reports
 * (run_result.c), the numbers themselves (run_values.c), and the command around
 * them (run.c).
 */
#ifndef RUN_H
#define RUN_H

#include "common/launch.h"
#include "pattern.h"

/* Numbers that --values prints per rank, before the call and after it. */
enum { RUN_VALUES_MAX = 64, RUN_VALUES_ROOM = RUN_VALUES_MAX * 21 };
struct run_values {
    char before[RUN_VALUES_ROOM], after[RUN_VALUES_ROOM];
};

struct run_spec {
    const struct gw_plan *plan;
    struct pattern pattern; /* of the one call */
    bool is_watched;        /* slow motion: its time is no measurement */
};

/* A rank's report on the call. */
struct run_report {
    uint64_t messages, planned_messages; /* sent to all peers */
    uint64_t bytes, planned_bytes;
    uint64_t wrong, first_wrong;
    uint64_t time_ns;
    char miscount[160];       /* "" when every link matches the plan */
    struct run_values values; /* for a counting pattern */
};

/* Fills the buffers, runs the plan once, checks result and counters, reports.
 */
GW_MUST_CHECK enum gw_err run_rank(struct gw_comm *comm,
                                   struct reporter *report,
                                   const struct run_spec *spec,
                                   struct gw_error *why);

/* The sum of all ranks' reports. */
struct run_result {
    struct run_report total; /* the time is the slowest rank's */
    char first_wrong[128];
    struct run_values *values; /* one per rank; NULL: not requested */
};
void run_result_add(struct run_result *result, unsigned rank,
                    const struct run_report *report);
/* GW_EWRONG when some element or some counter is wrong. */
GW_MUST_CHECK enum gw_err run_result_check(const struct run_result *result,
                                           struct gw_error *why);
/* The record on stdout; `error` is the run's error, or NULL. */
GW_MUST_CHECK enum gw_err run_result_print(const struct run_result *result,
                                           const struct run_spec *spec,
                                           const char *wire,
                                           const struct gw_error *error,
                                           struct gw_error *why);

/* GW_EINVAL: more numbers than can be printed, or than the type holds exactly.
 */
GW_MUST_CHECK enum gw_err run_values_check(const struct pattern *pattern,
                                           struct gw_error *why);
/* "0 1 2 3" */
void run_values_text(enum gw_dtype type, const void *values, size_t count,
                     char text[RUN_VALUES_ROOM]);
/* Instead of the record: a row for each rank. */
GW_MUST_CHECK enum gw_err run_values_print(const struct run_result *result,
                                           const struct run_spec *spec,
                                           const char *wire,
                                           const struct gw_error *error,
                                           struct gw_error *why);

#endif
