/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `ringctl chaos --faults`: a fault schedule of `ringctl sim`, applied to a run.
 */
#ifndef CHAOS_SCHEDULE_H
#define CHAOS_SCHEDULE_H

#include "chaos.h"
#include "common/output.h"

#include <jansson.h>

/* Executes an action, and prints its answer as a row. */
typedef enum gw_err chaos_blow(void *context, enum chaos_kind kind,
                               const char *node, json_t *request,
                               struct gw_error *why);
/* Applies the schedule `word` (a file, or faults separated by semicolons) from
 * now on. Its effects remain at the end. GW_EDATA: an error in the schedule.
 * Else GW_EINTR or the error of an action. */
GW_MUST_CHECK enum gw_err chaos_schedule_run(const char *word, chaos_blow *blow,
                                             void *context,
                                             struct gw_error *why);
/* Sleeps until then. False: interrupted. */
bool chaos_sleep(uint64_t until_ns);

#endif
