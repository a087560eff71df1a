/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of `collrun tune`, one a case as soon as it is measured, and below
 * them what all cases say: how much the choice gives away, before and with the
 * rules, and how far the prediction is off.
 */
#include "tune.h"

#include "common/command.h"

#include <stdio.h>

static const struct field fields[] = {
    {"op", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"bytes", "size", FIELD_INTEGER, 0, false},
    {"best", NULL, FIELD_TEXT, 0, false},
    {"best_us", "best us", FIELD_REAL, 2, false},
    {"chosen", NULL, FIELD_TEXT, 0, false},
    {"chosen_us", "chosen us", FIELD_REAL, 2, false},
    {"regret_percent", "regret %", FIELD_REAL, 1, false},
    {"predicted_us", "predicted us", FIELD_REAL, 2, true},
    {"predicted_measured", "predicted/measured", FIELD_REAL, 2, false},
    {"rule", NULL, FIELD_TEXT, 0, false},
    {"algos", NULL, FIELD_INTEGER, 0, true},
    {"runs", NULL, FIELD_INTEGER, 0, true},
};

void tune_table_row(struct tune *tune, const struct tune_case *item)
{
    const struct tune_algo *best = &item->algos[item->best];
    const struct tune_algo *chosen = &item->algos[item->chosen];
    progress("%s", "");
    output_row(
        tune->output,
        (union value[]){
            {.text = gw_collective_name(item->collective)},
            {.integer = item->ranks},
            {.integer = (int64_t)item->bytes},
            {.text = best->algo->name},
            {.real = best->median_us},
            {.text = chosen->algo->name},
            {.real = chosen->median_us},
            {.real = 100 * tune_regret(item, item->chosen)},
            {.real = chosen->predicted_us},
            {.real = chosen->predicted_us / chosen->median_us},
            {.text =
                 item->rule < 0 ? NULL : item->algos[item->rule].algo->name},
            {.integer = item->algo_count},
            {.integer = item->rounds},
        });
}

void tune_table_progress(const struct tune *tune)
{
    char size[16];
    size_t next = tune->begin;
    while (next < tune->end && tune->cases[next].rounds)
        next++;
    if (next == tune->end)
        return;
    const struct tune_case *item = &tune->cases[next];
    gw_format_bytes(item->bytes, size);
    progress("%s of %u ranks, %s (%zu of %zu)",
             gw_collective_name(item->collective), item->ranks, size, next + 1,
             tune->case_count);
}

enum gw_err tune_table_begin(struct tune *tune, struct gw_error *why)
{
    enum gw_err err =
        output_begin("collrun tune", common.output, fields,
                     sizeof fields / sizeof *fields, &tune->output, why);
    if (err)
        return err;
    output_note_text(tune->output, "wire", tune->wire);
    output_note_integer(tune->output, "seed", (int64_t)tune->seed);
    return GW_OK;
}

void tune_table_end(struct tune *tune, const struct tune_summary *summary,
                    size_t rules, bool stored, const struct gw_error *error)
{
    struct output *o = tune->output;
    progress("%s", "");
    if (summary && summary->cases > 0) {
        output_note_integer(o, "cases", (int64_t)summary->cases);
        output_note_real(o, "regret_worst_percent",
                         100 * summary->regret_worst);
        output_note_real(o, "regret_median_percent",
                         100 * summary->regret_median);
        output_note_real(o, "ruled_worst_percent", 100 * summary->ruled_worst);
        output_note_real(o, "ruled_median_percent",
                         100 * summary->ruled_median);
        output_note_real(o, "error_median_percent",
                         100 * summary->error_median);
        output_note_real(o, "error_p95_percent", 100 * summary->error_p95);
        output_note_integer(o, "rules", (int64_t)rules);
        output_note_text(o, "stored", stored ? "yes" : "no");
    }
    output_end(&tune->output, error, error && error->code == GW_EINTR);
}
