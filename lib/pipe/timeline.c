/* SPDX-License-Identifier: MIT
 *
 * Timelines: begin and end of each pass, simulated (simulate.c) or measured,
 * and the resulting work and waiting time of each stage, and the bubble. Both
 * kinds are summed up by the same code, so that their results are comparable.
 */
#include <gradwire/pipe.h>

#include "pipe/schedule/schedule.h"

#include <stdlib.h>

enum gw_err gw_timeline_new(const struct gw_schedule *schedule,
                            struct gw_timeline **timeline, struct gw_error *why)
{
    struct gw_timeline *made = calloc(1, sizeof *made);
    *timeline = NULL;
    if (made) {
        *made = (struct gw_timeline){
            .stages = schedule->stages,
            .pass_count = schedule->pass_count,
            .times = calloc(schedule->pass_count + 1, sizeof *made->times),
            .stage = calloc(schedule->stages, sizeof *made->stage),
        };
        if (made->times && made->stage) {
            for (size_t i = 0; i < made->pass_count; i++)
                made->times[i].waited_for = GW_NONE;
            for (unsigned stage = 0; stage < made->stages; stage++)
                made->stage[stage].waits_most_for = GW_NONE;
            *timeline = made;
            return GW_OK;
        }
        gw_timeline_destroy(&made);
    }
    return gw_fail(why, GW_ENOMEM, "timeline of %zu passes",
                   schedule->pass_count);
}

void gw_timeline_destroy(struct gw_timeline **timeline)
{
    if (!*timeline)
        return;
    free((*timeline)->times);
    free((*timeline)->stage);
    free(*timeline);
    *timeline = NULL;
}

/* The stage for which a stage waits longest: messages come from two stages
 * only. */
static uint32_t waits_most_for(const struct gw_timeline *timeline,
                               const struct gw_schedule *schedule,
                               unsigned stage)
{
    uint32_t before = (stage + schedule->stages - 1) % schedule->stages;
    uint32_t after = (stage + 1) % schedule->stages;
    double before_us = 0, after_us = 0;
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1];
         i++) {
        const struct gw_pass_time *time = &timeline->times[i];
        double wait_us = time->begin_us - time->ready_us;
        if (time->waited_for == before)
            before_us += wait_us;
        else if (time->waited_for == after)
            after_us += wait_us;
    }
    if (before_us <= 0 && after_us <= 0)
        return GW_NONE;
    return before_us >= after_us ? before : after;
}

/* Computes a stage's totals except its rest; returns the end of its
 * last pass. */
static double sum_stage(struct gw_timeline *timeline,
                        const struct gw_schedule *schedule, unsigned stage)
{
    struct gw_stage_total total = {
        .peak_activations = gw_schedule_peak(schedule, stage),
        .waits_most_for = waits_most_for(timeline, schedule, stage),
    };
    double end_us = 0;
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1];
         i++) {
        const struct gw_pass_time *time = &timeline->times[i];
        struct gw_pass pass = schedule->passes[i];
        struct gw__message sends = gw__pass_sends(schedule, stage, pass);
        total.busy_us += time->end_us - time->begin_us;
        total.wait_us += time->begin_us - time->ready_us;
        end_us = time->end_us > end_us ? time->end_us : end_us;
        timeline->messages +=
            sends.there && gw__stage_of(schedule, sends.to) != stage;
    }
    timeline->stage[stage] = total;
    return end_us;
}

void gw_timeline_complete(struct gw_timeline *timeline,
                          const struct gw_schedule *schedule)
{
    double work_us = 0;
    timeline->time_us = timeline->ideal_us = 0;
    timeline->messages = 0;
    timeline->peak_activations = 0;
    for (unsigned stage = 0; stage < timeline->stages; stage++) {
        struct gw_stage_total *total = &timeline->stage[stage];
        double end_us = sum_stage(timeline, schedule, stage);
        total->rest_us = end_us; /* until the end of the step is known */
        work_us += total->busy_us;
        if (end_us > timeline->time_us)
            timeline->time_us = end_us;
        if (total->busy_us > timeline->ideal_us)
            timeline->ideal_us = total->busy_us;
        if (total->peak_activations > timeline->peak_activations)
            timeline->peak_activations = total->peak_activations;
    }
    for (unsigned stage = 0; stage < timeline->stages; stage++)
        timeline->stage[stage].rest_us =
            timeline->time_us - timeline->stage[stage].rest_us;
    double all_us = timeline->stages * timeline->time_us;
    double ideal_us = timeline->ideal_us;
    timeline->bubble_us = timeline->time_us - ideal_us;
    timeline->bubble_of_total = all_us > 0 ? (all_us - work_us) / all_us : 0;
    timeline->bubble_of_ideal =
        ideal_us > 0 ? timeline->bubble_us / ideal_us : 0;
}
