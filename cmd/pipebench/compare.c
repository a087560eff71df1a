/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench compare: all schedules with the same costs, in one table: time,
 * bubble, memory, messages; drawn one below the other on one axis.
 */
#include "pipebench.h"

#include "candidates.h"
#include "common/key.h"
#include "common/output.h"
#include "pipebench/gantt/gantt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1000 };

static struct schedule_source source = SCHEDULE_UNSET;
static struct cost_options cost_options;
static const char *svg, *wire = "shm";
static unsigned steps = 3;
static bool draw, run_all;

static const struct option_spec options[] = {
    SCHEDULE_SHAPE_OPTIONS(source),
    COST_OPTIONS(cost_options),
    {"run", 0, OPTION_FLAG, &run_all, NULL,
     "Also run each schedule with work that sleeps for the predicted times.",
     NULL},
    {"steps", 0, OPTION_UNSIGNED, &steps, "N",
     "With --run, steps to measure per schedule; the median counts.", NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport of --run.",
     "shm|ipc|tcp"},
    KEY_OPTION,
    {"gantt", 'g', OPTION_FLAG, &draw, NULL, "Also draw the schedules.", NULL},
    {"svg", 0, OPTION_TEXT, &svg, "FILE.svg",
     "Draw all schedules as an SVG page.", NULL},
    {0},
};

static const struct field fields[] = {
    {"schedule", NULL, FIELD_TEXT, 0, false},
    {"chunks", NULL, FIELD_INTEGER, 0, true},
    {"time_us", "time us", FIELD_REAL, 1, false},
    {"bubble_predicted", "predicted", FIELD_REAL, 4, false},
    {"bubble_simulated", "bubble", FIELD_REAL, 4, false},
    {"bubble_of_ideal", "of ideal", FIELD_REAL, 4, false},
    {"peak_activations", "peak", FIELD_INTEGER, 0, false},
    {"peak_share", "in stages", FIELD_REAL, 1, false},
    {"messages", NULL, FIELD_INTEGER, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    /* with --run */
    {"measured_us", "measured us", FIELD_REAL, 1, false},
    {"bubble_measured", "measured", FIELD_REAL, 4, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static void candidate_row(struct output *output,
                          const struct candidate *candidate)
{
    const struct gw_timeline *t = candidate->simulated;
    const struct gw_timeline *measured = candidate->measured;
    unsigned chunks = candidate->schedule->chunks;
    output_row(output,
               (union value[FIELD_COUNT]){
                   {.text = candidate->name},
                   {.integer = chunks},
                   {.real = t->time_us},
                   {.real = candidate->priced ? candidate->price.bubble_of_total
                                              : (double)NAN},
                   {.real = t->bubble_of_total},
                   {.real = t->bubble_of_ideal},
                   {.integer = t->peak_activations},
                   {.real = (double)t->peak_activations / chunks},
                   {.integer = (int64_t)t->messages},
                   {.integer = (int64_t)t->bytes},
                   {.real = measured ? measured->time_us : (double)NAN},
                   {.real = measured ? measured->bubble_of_total : (double)NAN},
               });
}

static double time_of(const struct candidate *candidate, bool measured)
{
    return measured ? candidate->measured->time_us
                    : candidate->simulated->time_us;
}

static const char *fastest(const struct candidates *candidates, bool measured)
{
    const struct candidate *best = &candidates->list[0];
    for (unsigned i = 1; i < candidates->count; i++)
        if (time_of(&candidates->list[i], measured) < time_of(best, measured))
            best = &candidates->list[i];
    return best->name;
}

/* Includes those that were run before an error. */
static enum gw_err report_candidates(const struct candidates *candidates,
                                     const struct gw_error *error,
                                     struct gw_error *why)
{
    struct output *output;
    const struct gw_schedule *first = candidates->list[0].schedule;
    if (output_begin("pipebench compare", common.output, fields,
                     run_all ? FIELD_COUNT : FIELD_COUNT - 2, &output, why))
        return why->code;
    output_note_integer(output, "stages", first->stages);
    output_note_integer(output, "micros", first->micros);
    if (run_all)
        output_note_text(output, "wire", wire);
    output_collect(output);
    output_spare(output, "bytes messages bubble_of_ideal peak_share");
    for (unsigned i = 0; i < candidates->count; i++)
        candidate_row(output, &candidates->list[i]);
    output_note_text(output, "fastest", fastest(candidates, false));
    if (run_all && !error)
        output_note_text(output, "fastest_measured", fastest(candidates, true));
    output_end(&output, error, error && error->code == GW_EINTR);
    return GW_OK;
}

/* All on one axis, so that a shorter picture is a faster schedule. */
static void draw_all(const struct candidates *candidates)
{
    FILE *file = strcmp(common.output, "table") == 0 ? stdout : stderr;
    struct gantt_style style = gantt_style_of(file);
    double span_us = 0, shortest_pass_us = (double)INFINITY;
    for (unsigned i = 0; i < candidates->count; i++) {
        span_us = fmax(span_us, candidates->list[i].simulated->time_us);
        shortest_pass_us =
            fmin(shortest_pass_us, candidates->list[i].costs.shortest_pass_us);
    }
    for (unsigned i = 0; i < candidates->count; i++) {
        const struct gantt gantt = {
            .schedule = candidates->list[i].schedule,
            .timeline = candidates->list[i].simulated,
            .span_us = span_us,
            .shortest_pass_us = shortest_pass_us,
        };
        gantt_figure(file, &gantt, &style);
        fputc('\n', file);
    }
}

static enum gw_err draw_page(const struct candidates *candidates,
                             struct gw_error *why)
{
    struct gantt_panel *panels = calloc(candidates->count, sizeof *panels);
    if (!panels)
        return gw_fail(why, GW_ENOMEM, "%u drawings", candidates->count);
    for (unsigned i = 0; i < candidates->count; i++)
        panels[i] = (struct gantt_panel){
            .title = candidates->list[i].name,
            .schedule = candidates->list[i].schedule,
            .predicted = candidates->list[i].simulated,
            .measured = candidates->list[i].measured,
        };
    enum gw_err err = gantt_svg_write(svg, "Pipeline schedules compared",
                                      panels, candidates->count, why);
    free(panels);
    return err;
}

static int run_compare(int operand_count, char **operands)
{
    struct gw_error why;
    struct candidates candidates;
    if (steps < 1 || steps > STEPS_MAX)
        return complain_with(GW_EINVAL, "--steps must be from 1 to %d, not %u",
                             STEPS_MAX, steps);
    if (candidates_gather(&source, (unsigned)operand_count, operands,
                          &cost_options, &candidates, &why))
        return complain(&why);
    enum gw_err err =
        run_all ? candidates_run(&candidates, wire, steps, &why) : GW_OK;
    progress("%s", "");
    if (!err && svg)
        err = draw_page(&candidates, &why);
    if (draw)
        draw_all(&candidates);
    struct gw_error unprinted;
    if (report_candidates(&candidates, err ? &why : NULL, &unprinted) && !err) {
        why = unprinted;
        err = why.code;
    }
    candidates_fini(&candidates);
    return err ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"stages", "Pipeline"},
    {"forward", "Costs"},
    {"run", "Measurement"},
    {"gantt", "Output"},
    {0},
};

const struct command command_compare = {
    .name = "compare",
    .operands = "[FILE.pipe ...]",
    .help = "compare all schedules with the same costs: time, bubble, memory, "
            "bytes",
    .examples = "pipebench compare --stages 4 --micro 16\n"
                "pipebench compare --weight 500us --message 50us --gantt\n"
                "pipebench compare mine.pipe --run --svg all.svg\n",
    .options = options,
    .groups = groups,
    .operands_min = 0,
    .operands_max = 64,
    .computes = true,
    .run = run_compare,
};
