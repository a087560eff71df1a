/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The predicted time of a step: by formula where there is one, and always
 * simulated, for the individual stages and for the picture. Messages are
 * assumed to take no time, so their real time appears as a difference.
 */
#include "run.h"

#include "pipebench/schedule_source.h"

#include <stdlib.h>

enum part { FORWARD, INPUT, WEIGHT, PARTS };

/* Makes room for the times of each virtual stage, to which the costs point. */
static enum gw_err reserve_times(const struct gw_schedule *s,
                                 struct run_prediction *p, struct gw_error *why)
{
    size_t count = (size_t)s->stages * s->chunks;
    p->each = calloc(PARTS * count, sizeof *p->each);
    if (!p->each)
        return gw_fail(why, GW_ENOMEM, "times of %zu chunks", count);
    p->costs.forward_each_us = p->each + FORWARD * count;
    p->costs.input_each_us = p->each + INPUT * count;
    p->costs.weight_each_us = p->each + WEIGHT * count;
    return GW_OK;
}

static bool all_alike(const struct run_spec *spec)
{
    for (unsigned s = 0; s < spec->schedule->stages; s++)
        if (spec->slow[s] < 1 || spec->slow[s] > 1)
            return false;
    return true;
}

static void slow_down(const struct run_spec *spec, struct run_prediction *p)
{
    const struct gw_schedule *s = spec->schedule;
    size_t count = (size_t)s->stages * s->chunks;
    for (size_t k = 0; k < count; k++) {
        double slow = spec->slow[k % s->stages];
        p->each[FORWARD * count + k] = spec->work.forward_us * slow;
        p->each[INPUT * count + k] = spec->work.input_us * slow;
        p->each[WEIGHT * count + k] = spec->work.weight_us * slow;
    }
}

enum gw_err run_predict(const struct run_spec *spec, struct run_prediction *p,
                        struct gw_error *why)
{
    const struct gw_schedule *s = spec->schedule;
    *p = (struct run_prediction){
        .costs = {.forward_us = spec->work.forward_us,
                  .input_us = spec->work.input_us,
                  .weight_us = spec->work.weight_us,
                  .activation_bytes =
                      spec->work.message_elements * sizeof(float)}};
    bool alike = all_alike(spec);
    if (!alike && reserve_times(s, p, why))
        return why->code;
    if (!alike)
        slow_down(spec, p);
    p->priced = schedule_price(s, &p->costs, &p->price);
    return gw_pipe_simulate(s, &p->costs, &p->timeline, why);
}

/* The mean time of each kind of pass, for each virtual stage. A B counts as
 * half I and half W. */
static void average(const struct gw_schedule *s,
                    const struct gw_timeline *measured,
                    struct run_prediction *p)
{
    size_t count = (size_t)s->stages * s->chunks;
    for (unsigned stage = 0; stage < s->stages; stage++)
        for (size_t i = s->begin[stage]; i < s->begin[stage + 1]; i++) {
            const struct gw_pass *pass = &s->passes[i];
            size_t k = gw_schedule_virtual(s, stage, pass->chunk);
            double us =
                (measured->times[i].end_us - measured->times[i].begin_us) /
                s->micros;
            double half_us = pass->kind == GW_BACKWARD ? us / 2 : us;
            if (pass->kind == GW_FORWARD)
                p->each[FORWARD * count + k] += us;
            if (pass->kind == GW_BACKWARD || pass->kind == GW_BACKWARD_INPUT)
                p->each[INPUT * count + k] += half_us;
            if (pass->kind == GW_BACKWARD || pass->kind == GW_BACKWARD_WEIGHT)
                p->each[WEIGHT * count + k] += half_us;
        }
}

enum gw_err run_predict_from(const struct run_spec *spec,
                             const struct gw_timeline *measured,
                             struct run_prediction *p, struct gw_error *why)
{
    *p = (struct run_prediction){.each = NULL};
    if (reserve_times(spec->schedule, p, why))
        return why->code;
    average(spec->schedule, measured, p);
    return gw_pipe_simulate(spec->schedule, &p->costs, &p->timeline, why);
}

void run_prediction_fini(struct run_prediction *p)
{
    gw_timeline_destroy(&p->timeline);
    free(p->each);
    *p = (struct run_prediction){.each = NULL};
}
