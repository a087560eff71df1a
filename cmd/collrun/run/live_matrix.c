/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Merging the ranks' events step by step (live_matrix.h). The ranks are not
 * synchronised: while one rank is in step 5 another may be in step 3. The
 * picture is nevertheless exact, since a transfer's values depend only on the
 * steps before it; drawing waits for the slowest.
 */
#include "live_matrix.h"

#include "collrun/plan/matrix.h"

#include <event/apply.h>

#include <stdlib.h>

static void draw_matrix(struct live_matrix *w)
{
    matrix_draw(w->file, w->plan, w->trace, w->step, w->width);
}

/* Draws the steps that are complete. */
static void advance(struct live_matrix *w)
{
    while (w->step < w->plan->steps && w->missing[w->step] == 0) {
        w->step = gw_plan_trace_step(w->trace);
        draw_matrix(w);
    }
}

enum gw_err live_matrix_init(struct live_matrix *w, const struct gw_plan *plan,
                             FILE *file, unsigned width, struct gw_error *why)
{
    *w = (struct live_matrix){.plan = plan, .file = file, .width = width};
    if (gw_plan_trace_new(plan, &w->trace, why))
        return why->code;
    w->missing = calloc(plan->steps + (size_t)1, sizeof *w->missing);
    w->reported = calloc(plan->transfer_count + 1, sizeof *w->reported);
    if (!w->missing || !w->reported)
        return gw_fail(why, GW_ENOMEM, "watching %zu transfers",
                       plan->transfer_count);
    for (unsigned s = 0; s < plan->steps; s++)
        w->missing[s] = plan->step_begin[s + 1] - plan->step_begin[s];
    draw_matrix(w);
    return GW_OK;
}

static bool explains(const struct gw_transfer *t, const struct gw_event *event)
{
    const struct gw__apply apply = {t->action, t->src_scratch, t->dst_scratch};
    return t->src == event->peer && t->dst == event->rank &&
           t->chunk == event->chunk && gw__apply_value(&apply) == event->value;
}

void live_matrix_event(struct live_matrix *w, const struct gw_event *event)
{
    const struct gw_plan *plan = w->plan;
    if (event->kind != GW_EV_APPLY)
        return;
    size_t i = 0, end = 0;
    if (event->step < plan->steps) {
        i = plan->step_begin[event->step];
        end = plan->step_begin[event->step + 1];
    }
    while (i < end && (w->reported[i] || !explains(&plan->transfers[i], event)))
        i++;
    if (i == end) {
        w->surprises++;
        return;
    }
    w->reported[i] = true;
    w->missing[event->step]--;
    advance(w);
}

enum gw_err live_matrix_end(const struct live_matrix *w, struct gw_error *why)
{
    if (w->surprises > 0)
        return gw_fail(why, GW_EWRONG,
                       "%llu events describe transfers that are not in the "
                       "plan",
                       (unsigned long long)w->surprises);
    if (w->step < w->plan->steps)
        return gw_fail(why, GW_EWRONG,
                       "%zu transfers of step %u were not reported by any rank",
                       w->missing[w->step], w->step + 1);
    return GW_OK;
}

void live_matrix_fini(struct live_matrix *w)
{
    gw_plan_trace_destroy(&w->trace);
    free(w->missing);
    free(w->reported);
}
