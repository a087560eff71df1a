/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of `collrun tune`, one per case as soon as it is measured, and below
 * them the summary: the loss by the automatic choice, without and with the
 * rules, and the error of the prediction.
 */
#include "tune.h"

#include "common/command.h"
#include "common/plan/plan_algo.h"

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
    {"tuning_rule", "tuning rule", FIELD_TEXT, 0, false},
    {"algos", NULL, FIELD_INTEGER, 0, true},
    {"runs", NULL, FIELD_INTEGER, 0, true},
};

/* One row per algorithm. */
static const struct field each_fields[] = {
    {"op", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"bytes", "size", FIELD_INTEGER, 0, false},
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"us", NULL, FIELD_REAL, 2, false},
    {"predicted_us", "predicted us", FIELD_REAL, 2, false},
    {"predicted_measured", "predicted/measured", FIELD_REAL, 2, false},
    {"noise_percent", "noise %", FIELD_REAL, 1, false},
    {"runs", NULL, FIELD_INTEGER, 0, true},
};

static void each_row(struct tune *tune, const struct tune_case *item,
                     unsigned a)
{
    const struct tune_algo *algo = &item->algos[a];
    output_row(tune->output, (union value[]){
                                 {.text = gw_collective_name(item->collective)},
                                 {.integer = item->ranks},
                                 {.integer = (int64_t)item->bytes},
                                 {.text = plan_algo_label(algo->algo)},
                                 {.real = algo->median_us},
                                 {.real = algo->predicted_us},
                                 {.real = algo->predicted_us / algo->median_us},
                                 {.real = 100 * tune_noise(item, a)},
                                 {.integer = item->rounds},
                             });
}

void tune_table_row(struct tune *tune, const struct tune_case *item)
{
    const struct tune_algo *best = &item->algos[item->best];
    const struct tune_algo *chosen = &item->algos[item->chosen];
    progress("%s", "");
    for (unsigned a = 0; *tune->by == 'a' && a < item->algo_count; a++)
        each_row(tune, item, a);
    if (*tune->by != 's')
        return;
    output_row(tune->output,
               (union value[]){
                   {.text = gw_collective_name(item->collective)},
                   {.integer = item->ranks},
                   {.integer = (int64_t)item->bytes},
                   {.text = plan_algo_label(best->algo)},
                   {.real = best->median_us},
                   {.text = chosen->algo->name},
                   {.real = chosen->median_us},
                   {.real = 100 * tune_regret(item, item->chosen)},
                   {.real = chosen->predicted_us},
                   {.real = chosen->predicted_us / chosen->median_us},
                   {.text = item->tuned_algo < 0
                                ? NULL
                                : item->algos[item->tuned_algo].algo->name},
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

/* One row per number of ranks. */
static const struct field ranks_fields[] = {
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"cases", NULL, FIELD_INTEGER, 0, false},
    {"regret_median_percent", "regret %", FIELD_REAL, 1, false},
    {"regret_p95_percent", "p95", FIELD_REAL, 1, true},
    {"regret_worst_percent", "worst", FIELD_REAL, 1, false},
    {"regret_worst_at", "at", FIELD_TEXT, 0, false},
    {"tuned_median_percent", "tuned %", FIELD_REAL, 1, false},
    {"tuned_p95_percent", "p95", FIELD_REAL, 1, true},
    {"tuned_worst_percent", "worst", FIELD_REAL, 1, false},
    {"tuned_worst_at", "at", FIELD_TEXT, 0, true},
    {"noise_median_percent", "noise %", FIELD_REAL, 1, false},
    {"noise_p95_percent", "p95", FIELD_REAL, 1, true},
    {"error_median_percent", "error %", FIELD_REAL, 1, false},
    {"error_p95_percent", "p95", FIELD_REAL, 1, false},
    {"error_worst_percent", "worst", FIELD_REAL, 1, false},
    {"error_worst_at", "at", FIELD_TEXT, 0, false},
    {"runs", NULL, FIELD_INTEGER, 0, true},
};
#define FIELD_COUNT(fields) (unsigned)(sizeof(fields) / sizeof *(fields))

enum { CELL_BYTES = 64 };

/* "allreduce ring 32K" */
static const char *cell_of(const struct tune_spread *spread,
                           char text[CELL_BYTES])
{
    char size[16];
    const struct tune_case *item = spread->worst_case;
    if (!item)
        return NULL;
    gw_format_bytes(item->bytes, size);
    snprintf(text, CELL_BYTES, "%s %s %s", gw_collective_name(item->collective),
             plan_algo_label(item->algos[spread->worst_algo].algo), size);
    return text;
}

static void ranks_row(struct tune *tune, unsigned ranks,
                      const struct tune_summary *sum)
{
    char regret[CELL_BYTES], tuned[CELL_BYTES], error[CELL_BYTES];
    output_row(tune->output, (union value[]){
                                 {.text = tune->wire},
                                 {.integer = ranks},
                                 {.integer = (int64_t)sum->cases},
                                 {.real = 100 * sum->regret.median},
                                 {.real = 100 * sum->regret.p95},
                                 {.real = 100 * sum->regret.worst},
                                 {.text = cell_of(&sum->regret, regret)},
                                 {.real = 100 * sum->tuned.median},
                                 {.real = 100 * sum->tuned.p95},
                                 {.real = 100 * sum->tuned.worst},
                                 {.text = cell_of(&sum->tuned, tuned)},
                                 {.real = 100 * sum->noise.median},
                                 {.real = 100 * sum->noise.p95},
                                 {.real = 100 * sum->error.median},
                                 {.real = 100 * sum->error.p95},
                                 {.real = 100 * sum->error.worst},
                                 {.text = cell_of(&sum->error, error)},
                                 {.integer = sum->runs},
                             });
}

/* "among_4": "regret 0.2 % (median) to 4.1 % (allreduce ring 32K), ..." */
static void ranks_note(struct tune *tune, unsigned r,
                       const struct tune_summary *sum)
{
    static char names[TUNE_RANKS_MAX][24]; /* kept by the output */
    char text[320], regret[CELL_BYTES], error[CELL_BYTES];
    snprintf(names[r], sizeof names[r], "among_%u", tune->ranks[r]);
    snprintf(
        text, sizeof text,
        "regret %.1f %% (median), %.1f %% (worst, %s), with rules %.1f and "
        "%.1f %%; noise %.1f %%; prediction error %.0f %% (median), %.0f %% "
        "(95th percentile), %.0f %% (worst, %s)",
        100 * sum->regret.median, 100 * sum->regret.worst,
        cell_of(&sum->regret, regret), 100 * sum->tuned.median,
        100 * sum->tuned.worst, 100 * sum->noise.median,
        100 * sum->error.median, 100 * sum->error.p95, 100 * sum->error.worst,
        cell_of(&sum->error, error));
    output_note_text(tune->output, names[r], text);
}

enum gw_err tune_table_ranks(struct tune *tune, struct gw_error *why)
{
    for (unsigned r = 0; r < tune->ranks_count; r++) {
        struct tune_summary sum;
        if (tune_sum_up(tune, tune->ranks[r], &sum, why))
            return why->code;
        if (sum.cases == 0)
            continue;
        if (*tune->by == 'r')
            ranks_row(tune, tune->ranks[r], &sum);
        else
            ranks_note(tune, r, &sum);
    }
    return GW_OK;
}

static enum gw_err begin_rows(struct tune *tune, const struct field *list,
                              unsigned count, struct gw_error *why)
{
    enum gw_err err = output_begin("collrun tune", common.output, list, count,
                                   &tune->output, why);
    if (!err)
        output_spare(tune->output,
                     "predicted_measured tuning_rule tuned_worst_percent "
                     "error_worst_at error_p95_percent noise_percent cases");
    return err;
}

/* Any of a case's algorithms may be the best. */
static void reserve_texts(const struct tune *tune)
{
    static const char *const columns[] = {"algo", "best", "chosen"};
    for (size_t i = 0; i < tune->case_count; i++) {
        const struct tune_case *item = &tune->cases[i];
        output_reserve(tune->output, "op",
                       gw_collective_name(item->collective));
        for (unsigned a = 0; a < item->algo_count; a++)
            for (unsigned c = 0; c < FIELD_COUNT(columns); c++)
                output_reserve(tune->output, columns[c],
                               plan_algo_label(item->algos[a].algo));
    }
}

enum gw_err tune_table_begin(struct tune *tune, struct gw_error *why)
{
    enum gw_err err =
        *tune->by == 'r'
            ? begin_rows(tune, ranks_fields, FIELD_COUNT(ranks_fields), why)
        : *tune->by == 'a'
            ? begin_rows(tune, each_fields, FIELD_COUNT(each_fields), why)
            : begin_rows(tune, fields, FIELD_COUNT(fields), why);
    if (err)
        return err;
    reserve_texts(tune);
    if (*tune->by != 'r')
        output_note_text(tune->output, "wire", tune->wire);
    output_note_integer(tune->output, "seed", (int64_t)tune->seed);
    return GW_OK;
}

/* The document keeps pointers to the names of notes, so they must be constants.
 */
static void put_spread(struct output *o, const struct tune_spread *spread,
                       const char *worst, const char *p95, const char *median)
{
    output_note_real(o, worst, 100 * spread->worst);
    output_note_real(o, p95, 100 * spread->p95);
    output_note_real(o, median, 100 * spread->median);
}

void tune_table_end(struct tune *tune, const struct tune_summary *summary,
                    size_t tuning_rule_count, bool stored,
                    const struct gw_error *error)
{
    struct output *o = tune->output;
    progress("%s", "");
    if (summary && summary->cases > 0) {
        output_note_integer(o, "cases", (int64_t)summary->cases);
        put_spread(o, &summary->regret, "regret_worst_percent",
                   "regret_p95_percent", "regret_median_percent");
        put_spread(o, &summary->tuned, "tuned_worst_percent",
                   "tuned_p95_percent", "tuned_median_percent");
        put_spread(o, &summary->noise, "noise_worst_percent",
                   "noise_p95_percent", "noise_median_percent");
        put_spread(o, &summary->error, "error_worst_percent",
                   "error_p95_percent", "error_median_percent");
        output_note_integer(o, "tuning_rules", (int64_t)tuning_rule_count);
        output_note_text(o, "stored", stored ? "yes" : "no");
    }
    output_end(&tune->output, error, error && error->code == GW_EINTR);
}
