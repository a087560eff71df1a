/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench plan: shows a schedule: the order of passes on each stage, drawn
 * with a forward of one millisecond and a backward of two. --text prints the
 * format of gradwire-schedule(5), so that `pipebench plan --text > mine.pipe`
 * is the beginning of one's own; in json, jsonl and csv there is one row per
 * pass.
 */
#include "pipebench.h"

#include "common/output.h"
#include "pipebench/gantt/gantt.h"
#include "schedule_source.h"

#include <string.h>

static struct schedule_source source = SCHEDULE_UNSET;
static const char *svg;
static bool as_text;

static const struct option_spec options[] = {
    SCHEDULE_SOURCE_OPTIONS(source),
    {"text", 0, OPTION_FLAG, &as_text, NULL,
     "Print the text format, which can be edited and used as a FILE.pipe.",
     NULL},
    {"svg", 0, OPTION_TEXT, &svg, "FILE.svg",
     "Also draw the schedule as an SVG page.", NULL},
    {0},
};

/* Idea and formula, below the picture. */
static void report_kind(const struct gw_schedule *schedule)
{
    const struct gw_schedule_kind *kind = schedule_kind_of(schedule);
    if (kind)
        printf("%s (%s): %s\nby formula: %s\n", kind->name, kind->source,
               kind->summary, kind->formula);
}

static void pass_row(struct output *output, const struct gw_schedule *schedule,
                     const struct gw_timeline *timeline, unsigned stage,
                     size_t pass)
{
    const struct gw_pass *what = &schedule->passes[pass];
    char symbol[2] = {gw_pass_symbol((enum gw_pass_kind)what->kind), 0};
    output_row(output,
               (union value[]){
                   {.integer = stage},
                   {.integer = (int64_t)(pass - schedule->begin[stage])},
                   {.text = symbol},
                   {.integer = what->micro},
                   {.integer = what->chunk},
                   {.real = timeline->times[pass].begin_us},
                   {.real = timeline->times[pass].end_us},
               });
}

static enum gw_err list_passes(const struct gw_schedule *schedule,
                               const struct gw_timeline *timeline,
                               struct gw_error *why)
{
    static const struct field fields[] = {
        {"stage", NULL, FIELD_INTEGER, 0, false},
        {"index", NULL, FIELD_INTEGER, 0, false},
        {"pass", NULL, FIELD_TEXT, 0, false},
        {"micro", NULL, FIELD_INTEGER, 0, false},
        {"chunk", NULL, FIELD_INTEGER, 0, false},
        {"begin_us", NULL, FIELD_REAL, 1, false},
        {"end_us", NULL, FIELD_REAL, 1, false},
    };
    struct output *output;
    if (output_begin("pipebench plan", common.output, fields,
                     sizeof fields / sizeof *fields, &output, why))
        return why->code;
    output_note_text(output, "schedule", schedule->name);
    output_note_integer(output, "stages", schedule->stages);
    output_note_integer(output, "micros", schedule->micros);
    output_note_integer(output, "chunks", schedule->chunks);
    const struct gw_schedule_kind *kind = schedule_kind_of(schedule);
    output_note_text(output, "formula", kind ? kind->formula : NULL);
    output_note_real(output, "time_us", timeline->time_us);
    output_note_real(output, "bubble_of_total", timeline->bubble_of_total);
    output_note_real(output, "bubble_of_ideal", timeline->bubble_of_ideal);
    output_note_integer(output, "peak_activations", timeline->peak_activations);
    for (unsigned s = 0; s < schedule->stages && !interrupted; s++)
        for (size_t i = schedule->begin[s]; i < schedule->begin[s + 1]; i++)
            pass_row(output, schedule, timeline, s, i);
    output_end(&output, NULL, interrupted != 0);
    return interrupted ? gw_fail(why, GW_EINTR, "interrupted") : GW_OK;
}

static enum gw_err show_schedule(const struct gw_schedule *schedule,
                                 struct gw_error *why)
{
    struct gw_timeline *timeline;
    struct gantt_style style = gantt_style_of(stdout);
    double pass_us = 1000.0 / schedule->chunks;
    const struct gw_pipe_costs costs = {
        .forward_us = pass_us, .input_us = pass_us, .weight_us = pass_us};
    if (gw_pipe_simulate(schedule, &costs, &timeline, why))
        return why->code;
    const struct gantt gantt = {.schedule = schedule,
                                .timeline = timeline,
                                .shortest_pass_us = pass_us};
    const struct gantt_panel panel = {
        .title = schedule->name, .schedule = schedule, .predicted = timeline};
    enum gw_err err = GW_OK;
    if (svg)
        err = gantt_svg_write(svg, "Pipeline schedule", &panel, 1, why);
    if (!err && strcmp(common.output, "table") != 0)
        err = list_passes(schedule, timeline, why);
    if (!err && strcmp(common.output, "table") == 0) {
        gantt_figure(stdout, &gantt, &style);
        report_kind(schedule);
    }
    gw_timeline_destroy(&timeline);
    return err;
}

static int run_plan(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_schedule *schedule;
    if (schedule_get(operand_count ? operands[0] : NULL, &source, &schedule,
                     &why))
        return complain(&why);
    enum gw_err err = as_text ? gw_schedule_print(schedule, stdout, &why)
                              : show_schedule(schedule, &why);
    gw_schedule_destroy(&schedule);
    return err ? complain(&why) : 0;
}

const struct command command_plan = {
    .name = "plan",
    .operands = "[FILE.pipe]",
    .help =
        "draw a schedule: the passes of each stage and their earliest times",
    .examples = "pipebench plan --schedule 1f1b --stages 4 --micro 8\n"
                "pipebench plan --schedule interleaved --chunks 2 --svg p.svg\n"
                "pipebench plan --schedule zb-h1 --text > mine.pipe\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 1,
    .computes = true,
    .run = run_plan,
};
