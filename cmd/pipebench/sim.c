/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench sim: one step of a schedule in virtual time, with the given
 * durations of passes and messages. The output has the bubble by formula (for
 * equal stages and messages that take no time) and the simulated one.
 */
#include "pipebench.h"

#include "costs.h"
#include "pipebench/gantt/gantt.h"
#include "report.h"
#include "schedule_source.h"
#include "sim_events.h"

#include <string.h>

static struct schedule_source source = SCHEDULE_UNSET;
static struct cost_options cost_options;
static const char *svg, *events;
static bool draw;

static const struct option_spec options[] = {
    SCHEDULE_SOURCE_OPTIONS(source),
    COST_OPTIONS(cost_options),
    {"gantt", 'g', OPTION_FLAG, &draw, NULL, "Also draw the schedule.", NULL},
    {"svg", 0, OPTION_TEXT, &svg, "FILE.svg",
     "Draw the schedule as an SVG page.", NULL},
    {"events", 0, OPTION_TEXT, &events, "FILE.jsonl",
     "Write the events of the step to FILE, for ringtop.", NULL},
    {0},
};

static enum gw_err report_simulation(const struct gw_schedule *schedule,
                                     const struct costs *costs,
                                     const struct gw_timeline *timeline,
                                     struct gw_error *why)
{
    struct output *output;
    struct gw_pipe_price price;
    bool priced = schedule_price(schedule, &costs->pipe, &price);
    const struct report report = {.title = "pipebench sim",
                                  .schedule = schedule,
                                  .timeline = timeline,
                                  .price = priced ? &price : NULL};
    if (report_begin(&report, &output, why))
        return why->code;
    output_note_integer(output, "messages", (int64_t)timeline->messages);
    output_note_integer(output, "bytes", (int64_t)timeline->bytes);
    report_rows(&report, output);
    output_end(&output, NULL, false);
    return GW_OK;
}

/* The picture is data when the output is a table; otherwise it must not mix
 * with the data. */
static void picture(const struct gw_schedule *schedule,
                    const struct costs *costs,
                    const struct gw_timeline *timeline)
{
    FILE *file = strcmp(common.output, "table") == 0 ? stdout : stderr;
    struct gantt_style style = gantt_style_of(file);
    const struct gantt gantt = {.schedule = schedule,
                                .timeline = timeline,
                                .shortest_pass_us = costs->shortest_pass_us};
    gantt_figure(file, &gantt, &style);
}

static enum gw_err show_simulation(const struct gw_schedule *schedule,
                                   const struct costs *costs,
                                   struct gw_error *why)
{
    struct gw_timeline *timeline;
    if (gw_pipe_simulate(schedule, &costs->pipe, &timeline, why))
        return why->code;
    const struct gantt_panel panel = {
        .title = schedule->name, .schedule = schedule, .predicted = timeline};
    enum gw_err err = GW_OK;
    if (svg)
        err = gantt_svg_write(svg, "Pipeline schedule, simulated", &panel, 1,
                              why);
    if (!err && events)
        err = sim_events_write(events, schedule, timeline, why);
    if (!err && draw)
        picture(schedule, costs, timeline);
    if (!err)
        err = report_simulation(schedule, costs, timeline, why);
    gw_timeline_destroy(&timeline);
    return err;
}

static int run_sim(int operand_count, char **operands)
{
    struct gw_error why;
    struct costs costs;
    struct gw_schedule *schedule;
    if (schedule_get(operand_count ? operands[0] : NULL, &source, &schedule,
                     &why))
        return complain(&why);
    enum gw_err err = costs_get(&cost_options, schedule, &costs, &why);
    if (!err)
        err = show_simulation(schedule, &costs, &why);
    costs_fini(&costs);
    gw_schedule_destroy(&schedule);
    return err ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"schedule", "Pipeline"},
    {"forward", "Costs"},
    {"gantt", "Output"},
    {0},
};

const struct command command_sim = {
    .name = "sim",
    .operands = "[FILE.pipe]",
    .help = "simulate a step: time, bubble, activations, waiting times",
    .examples = "pipebench sim --schedule 1f1b --stages 4 --micro 8 --gantt\n"
                "pipebench sim -s zb-h1 --input 1ms --weight 500us --message "
                "20us\n"
                "pipebench sim mine.pipe --slow 2:1.5 --svg slow.svg\n",
    .options = options,
    .groups = groups,
    .operands_min = 0,
    .operands_max = 1,
    .computes = true,
    .run = run_sim,
};
