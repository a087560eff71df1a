/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the candidates: their work sleeps for the times of the costs.
 */
#include "entrants.h"

#include "pipebench/run/measure.h"

static enum gw_err run_one(struct entrant *entrant, const char *wire,
                           unsigned steps, struct gw_error *why)
{
    const struct costs *costs = &entrant->costs;
    uint64_t bytes = costs->pipe.activation_bytes;
    const struct measure measure = {
        .schedule = entrant->schedule,
        .work = {.forward_us = costs->forward_us,
                 .input_us = costs->input_us,
                 .weight_us = costs->weight_us,
                 .message_elements =
                     (size_t)((bytes + sizeof(float) - 1) / sizeof(float))},
        .slow = costs->slow,
        .wire = wire,
        .steps = steps,
    };
    return measure_steps(&measure, &entrant->measured, NULL, why);
}

enum gw_err entrants_run(struct entrants *entrants, const char *wire,
                         unsigned steps, struct gw_error *why)
{
    for (unsigned i = 0; i < entrants->count; i++) {
        struct entrant *entrant = &entrants->list[i];
        if (entrant->costs.listed)
            return gw_fail(why, GW_EINVAL,
                           "--run needs the same time for all stages; use "
                           "--slow for slower ones");
        progress("running %.60s (%u of %u)", entrant->name, i + 1,
                 entrants->count);
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (run_one(entrant, wire, steps, why))
            return gw_wrap(why, why->code, "%.100s", entrant->name);
    }
    return GW_OK;
}
