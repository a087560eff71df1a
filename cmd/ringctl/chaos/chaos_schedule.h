/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `ringctl chaos --faults`: a fault schedule of `ringctl sim`, applied to a run.
 */
#ifndef CHAOS_SCHEDULE_H
#define CHAOS_SCHEDULE_H

#include "chaos.h"
#include "common/output.h"

#include <jansson.h>

/* Does what is asked, and prints how it was answered as a row. */
typedef enum gw_err chaos_blow(void *context, enum chaos_kind kind,
                               const char *node, json_t *request,
                               struct gw_error *why);
/* Applies the schedule `word` (a file, or faults with semicolons between) from
 * now on; it is left as it ends, nothing is undone. GW_EDATA: what is wrong in
 * it; GW_EINTR; what a blow returns. */
GW_MUST_CHECK enum gw_err chaos_schedule_run(const char *word, chaos_blow *blow,
                                             void *context,
                                             struct gw_error *why);

#endif
