/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Watching a plan during its run: the ranks' events come in any order; a step
 * is drawn when all its transfers have been reported, after those before it.
 */
#ifndef LIVE_MATRIX_H
#define LIVE_MATRIX_H

#include <gradwire/gradwire.h>

struct live_matrix {
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
GW_MUST_CHECK enum gw_err live_matrix_init(struct live_matrix *matrix,
                                           const struct gw_plan *plan,
                                           FILE *file, unsigned width,
                                           struct gw_error *why);
/* Takes one event of any kind from any rank. */
void live_matrix_event(struct live_matrix *matrix,
                       const struct gw_event *event);
/* GW_EWRONG when events were missing or too many. */
GW_MUST_CHECK enum gw_err live_matrix_end(const struct live_matrix *matrix,
                                          struct gw_error *why);
void live_matrix_fini(struct live_matrix *matrix);

#endif
