/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Watching a plan during its run: the ranks' events come in any order; a step
 * is drawn when all its transfers have been reported, after those before it.
 */
#ifndef WATCH_H
#define WATCH_H

#include <gradwire/gradwire.h>

struct watch {
    const struct gw_plan *plan;
    struct gw_plan_trace *trace;
    FILE *file;
    unsigned width;
    unsigned step;      /* steps already drawn */
    size_t *missing;    /* per step: transfers not reported yet */
    bool *reported;     /* per transfer */
    uint64_t surprises; /* events that match no transfer of the plan */
};

/* Draws the initial state of the ranks. The plan must outlive the watch. */
GW_MUST_CHECK enum gw_err watch_init(struct watch *watch,
                                     const struct gw_plan *plan, FILE *file,
                                     unsigned width, struct gw_error *why);
/* Takes one event of any kind from any rank. */
void watch_event(struct watch *watch, const struct gw_event *event);
/* GW_EWRONG when events were missing or too many. */
GW_MUST_CHECK enum gw_err watch_end(const struct watch *watch,
                                    struct gw_error *why);
void watch_fini(struct watch *watch);

#endif
