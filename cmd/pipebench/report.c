/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of report.h. A share is of the whole time of the step: the time
 * without work is bubble, partly waiting for messages and partly rest after the
 * stage's last pass.
 */
#include "report.h"

#include "common/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUBBLE_FIELD = 4, FIELD_COUNT = 11 };

static const struct field simulated_fields[FIELD_COUNT] = {
    {"stage", NULL, FIELD_TEXT, 0, false},
    {"time_us", "time us", FIELD_REAL, 1, false},
    {"ideal_us", "ideal us", FIELD_REAL, 1, false},
    {"bubble_predicted", "predicted", FIELD_REAL, 4, false},
    {"bubble_simulated", "bubble", FIELD_REAL, 4, false},
    {"bubble_of_ideal", "of ideal", FIELD_REAL, 4, false},
    {"bubble_of_ideal_predicted", "of ideal predicted", FIELD_REAL, 4, true},
    {"peak_activations", "peak", FIELD_INTEGER, 0, false},
    {"waiting", NULL, FIELD_REAL, 4, false},
    {"resting", NULL, FIELD_REAL, 4, true},
    {"waits_for", "waits for", FIELD_TEXT, 0, false},
};

enum gw_err report_begin(const struct report *report, struct output **output,
                         struct gw_error *why)
{
    struct field fields[FIELD_COUNT];
    const struct gw_schedule *schedule = report->schedule;
    memcpy(fields, simulated_fields, sizeof fields);
    if (report->measured)
        fields[BUBBLE_FIELD].name = "bubble_measured";
    if (output_begin(report->title, common.output, fields, FIELD_COUNT, output,
                     why))
        return why->code;
    output_note_text(*output, "schedule", schedule->name);
    output_note_integer(*output, "stages", schedule->stages);
    output_note_integer(*output, "micros", schedule->micros);
    output_note_integer(*output, "chunks", schedule->chunks);
    output_collect(*output);
    output_spare(*output, "bubble_of_ideal ideal_us waiting");
    return GW_OK;
}

/* The stage for which all stages together waited most. */
static uint32_t most_waited_for(const struct report *report, double *waited_us)
{
    const struct gw_timeline *timeline = report->timeline;
    uint32_t most = GW_NONE;
    for (size_t i = 0; i < timeline->pass_count; i++) {
        const struct gw_pass_time *time = &timeline->times[i];
        if (time->waited_for < timeline->stages)
            waited_us[time->waited_for] += time->begin_us - time->ready_us;
    }
    for (unsigned s = 0; s < timeline->stages; s++)
        if (waited_us[s] > 0 &&
            (most == GW_NONE || waited_us[s] > waited_us[most]))
            most = s;
    return most;
}

static const char *stage_name(uint32_t stage, char out[16])
{
    snprintf(out, 16, "%u", stage);
    return stage == GW_NONE ? NULL : out;
}

static void whole_row(const struct report *report, struct output *output)
{
    char name[16];
    const struct gw_timeline *t = report->timeline;
    double waiting_us = 0, resting_us = 0;
    double *waited_us = calloc(t->stages, sizeof *waited_us);
    uint32_t most = waited_us ? most_waited_for(report, waited_us) : GW_NONE;
    free(waited_us);
    for (unsigned s = 0; s < t->stages; s++) {
        waiting_us += t->stage[s].wait_us / t->stages;
        resting_us += t->stage[s].rest_us / t->stages;
    }
    double of_total = report->price       ? report->price->bubble_of_total
                      : report->simulated ? report->simulated->bubble_of_total
                                          : (double)NAN;
    double of_ideal = report->price       ? report->price->bubble_of_ideal
                      : report->simulated ? report->simulated->bubble_of_ideal
                                          : (double)NAN;
    output_row(output, (union value[FIELD_COUNT]){
                           {.text = "all"},
                           {.real = t->time_us},
                           {.real = t->ideal_us},
                           {.real = of_total},
                           {.real = t->bubble_of_total},
                           {.real = t->bubble_of_ideal},
                           {.real = of_ideal},
                           {.integer = t->peak_activations},
                           {.real = waiting_us / t->time_us},
                           {.real = resting_us / t->time_us},
                           {.text = stage_name(most, name)},
                       });
}

/* If all stages are equal, each has the bubble of the whole. */
static void predicted_of(const struct report *report, unsigned stage,
                         double *of_total, double *of_ideal)
{
    const struct gw_timeline *simulated = report->simulated;
    *of_total = *of_ideal = (double)NAN;
    if (simulated) {
        double busy_us = simulated->stage[stage].busy_us;
        *of_total = 1 - busy_us / simulated->time_us;
        *of_ideal = simulated->time_us / busy_us - 1;
    } else if (report->price) {
        *of_total = report->price->bubble_of_total;
        *of_ideal = report->price->bubble_of_ideal;
    }
}

static void stage_row(const struct report *report, struct output *output,
                      unsigned stage)
{
    char name[16], waits_for[16];
    double of_total, of_ideal, time_us = report->timeline->time_us;
    const struct gw_stage_total *s = &report->timeline->stage[stage];
    predicted_of(report, stage, &of_total, &of_ideal);
    output_row(output, (union value[FIELD_COUNT]){
                           {.text = stage_name(stage, name)},
                           {.real = time_us},
                           {.real = s->busy_us},
                           {.real = of_total},
                           {.real = 1 - s->busy_us / time_us},
                           {.real = time_us / s->busy_us - 1},
                           {.real = of_ideal},
                           {.integer = s->peak_activations},
                           {.real = s->wait_us / time_us},
                           {.real = s->rest_us / time_us},
                           {.text = stage_name(s->waits_most_for, waits_for)},
                       });
}

void report_rows(const struct report *report, struct output *output)
{
    if (!report->timeline)
        return;
    whole_row(report, output);
    for (unsigned s = 0; s < report->timeline->stages; s++)
        stage_row(report, output, s);
}
