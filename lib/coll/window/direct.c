/* SPDX-License-Identifier: MIT
 *
 * Finds out whether windows can run a plan in one pass (passes.c), also one that
 * a user has written: every value sent is the initial value of its sender, or a
 * sum that the sender has finished, and every value is written in one step.
 * Scratch and copies inside a rank need window loads (loads.c).
 */
#include "coll/program.h"

#include "plan/index.h"

#include <stdlib.h>

/* The writes of a step into a rank's value of a chunk. */
struct written {
    uint32_t step; /* counted from 1; 0: nothing */
    bool sum;
};

static bool may_be_sent(const struct gw_plan *plan, const struct gw_transfer *t,
                        const struct written *value, uint32_t step)
{
    if (value->step == 0 || value->step == step)
        return gw_plan_holds(plan, t->src, t->chunk);
    return value->sum && t->action == GW_REPLACE;
}

static bool step_is_direct(const struct gw_plan *plan, unsigned s,
                           struct written *values)
{
    size_t begin = plan->step_begin[s], end = plan->step_begin[s + 1];
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        struct written *to = &values[(size_t)t->dst * plan->chunks + t->chunk];
        if (gw__is_local(t) || (to->step != 0 && to->step != s + 1))
            return false;
        *to = (struct written){.step = s + 1, .sum = t->action == GW_ADD};
    }
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        size_t from = (size_t)t->src * plan->chunks + t->chunk;
        if (!may_be_sent(plan, t, &values[from], s + 1))
            return false;
    }
    return true;
}

enum gw_err gw__plan_is_direct(const struct gw_plan *plan, bool *direct,
                               struct gw_error *why)
{
    *direct = plan->scratch == 0;
    if (!*direct)
        return GW_OK;
    struct written *values =
        calloc((size_t)plan->ranks * plan->chunks, sizeof *values);
    if (!values)
        return gw_fail(why, GW_ENOMEM, "window passes");
    for (unsigned s = 0; s < plan->steps && *direct; s++)
        *direct = step_is_direct(plan, s, values);
    free(values);
    return GW_OK;
}
