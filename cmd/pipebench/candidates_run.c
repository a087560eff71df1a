/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the candidates: their work sleeps for the times of the costs.
 */
#include "candidates.h"

#include "pipebench/run/measure.h"

static enum gw_err run_one(struct candidate *candidate, const char *wire,
                           unsigned steps, struct gw_error *why)
{
    const struct costs *costs = &candidate->costs;
    uint64_t bytes = costs->pipe.activation_bytes;
    const struct measure measure = {
        .schedule = candidate->schedule,
        .work = {.forward_us = costs->forward_us,
                 .input_us = costs->input_us,
                 .weight_us = costs->weight_us,
                 .message_elements =
                     (size_t)((bytes + sizeof(float) - 1) / sizeof(float))},
        .slow = costs->slow,
        .wire = wire,
        .steps = steps,
    };
    return measure_steps(&measure, &candidate->measured, NULL, why);
}

enum gw_err candidates_run(struct candidates *candidates, const char *wire,
                           unsigned steps, struct gw_error *why)
{
    for (unsigned i = 0; i < candidates->count; i++) {
        struct candidate *candidate = &candidates->list[i];
        if (candidate->costs.listed)
            return gw_fail(why, GW_EINVAL,
                           "--run needs the same time for all stages; use "
                           "--slow for slower ones");
        progress("running %.60s (%u of %u)", candidate->name, i + 1,
                 candidates->count);
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (run_one(candidate, wire, steps, why))
            return gw_wrap(why, why->code, "%.100s", candidate->name);
    }
    return GW_OK;
}
