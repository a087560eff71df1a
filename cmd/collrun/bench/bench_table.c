/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of `collrun bench`: a row is printed as soon as all ranks have
 * reported its case in the last repeat. Times are rank 0's, as in nccl-tests and
 * the MPI benchmarks, and medians over the repeats; wrong elements are summed
 * over all ranks and repeats.
 */
#include "bench.h"

#include "bench_baseline.h"
#include "collrun/run/pattern.h"
#include "common/command.h"
#include "common/plan/plan_algo.h"
#include "common/stats.h"
#include "sizes.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 12,
    BOUND_PERCENT = 17,
    REPEATS = 18,  /* and the fields of several repeats */
    BASELINE = 22, /* and the ratio */
    OPTIMUM = 24,  /* and the percentage */
    FIELD_COUNT = 26,
};

static const struct field fields[FIELD_COUNT] = {
    {"bytes", "size", FIELD_INTEGER, 0, false},
    {"count", NULL, FIELD_INTEGER, 0, false},
    {"dtype", "type", FIELD_TEXT, 0, false},
    {"redop", NULL, FIELD_TEXT, 0, false},
    {"root", NULL, FIELD_INTEGER, 0, false},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"algbw_GBps", "algbw GB/s", FIELD_REAL, 3, false},
    {"busbw_GBps", "busbw GB/s", FIELD_REAL, 3, false},
    {"wrong", "#wrong", FIELD_INTEGER, 0, false},
    {"op", NULL, FIELD_TEXT, 0, false},
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, true},
    {"p50_us", "p50", FIELD_REAL, 2, false},
    {"p99_us", "p99", FIELD_REAL, 2, false},
    {"predicted_us", "predicted", FIELD_REAL, 2, false},
    {"bound_us", "bound", FIELD_REAL, 2, false},
    {"bound_percent", "% of bound", FIELD_REAL, 1, false},
    {"repeats", NULL, FIELD_INTEGER, 0, true},
    {"time_min_us", "min", FIELD_REAL, 2, true},
    {"time_max_us", "max", FIELD_REAL, 2, true},
    {"spread_us", "spread", FIELD_REAL, 2, true},
    {"baseline_us", "baseline", FIELD_REAL, 2, false},
    {"ratio", NULL, FIELD_REAL, 3, false},
    {"optimum_us", "optimum", FIELD_REAL, 2, false},
    {"optimum_percent", "% of optimum", FIELD_REAL, 1, false},
};

struct bench_varies {
    bool op, algo, wire, ranks;
};

/* ---- one row ---- */

/* Over the repeats of a case. */
struct spread {
    double median, least, largest;
    double deviation; /* the median of the distances from the median */
};

/* Of the values at `offset` in the reports. */
static struct spread spread_of(const struct bench_table *t,
                               const struct bench_totals *totals, size_t offset)
{
    double *sorted = t->sorted;
    unsigned count = totals->repeats;
    for (unsigned i = 0; i < count; i++)
        memcpy(&sorted[i], (const char *)&totals->rank0[i] + offset,
               sizeof *sorted);
    stats_sort(sorted, count);
    struct spread spread = {.median = stats_median(sorted, count),
                            .least = sorted[0],
                            .largest = sorted[count - 1],
                            .deviation = (double)NAN};
    for (unsigned i = 0; i < count; i++)
        sorted[i] = fabs(sorted[i] - spread.median);
    stats_sort(sorted, count);
    if (count > 1)
        spread.deviation = stats_median(sorted, count);
    return spread;
}

static double add_ratio(struct bench_table *t, double ratio)
{
    if (t->bench->baseline && ratio > 0) {
        t->ratios += log(ratio);
        t->ratio_count++;
    }
    return ratio;
}

/* A percentage of the bound is for people only: data has both times. */
static bool is_shown(const struct bench_table *t, unsigned field)
{
    const struct bench *b = t->bench;
    return field == BOUND_PERCENT ? t->percent
           : field >= OPTIMUM     ? b->topology != NULL
           : field >= BASELINE    ? b->baseline != NULL
                                  : true;
}

static void put_row(struct bench_table *t, const union value row[FIELD_COUNT])
{
    union value shown[FIELD_COUNT];
    unsigned count = 0;
    for (unsigned f = 0; f < FIELD_COUNT; f++)
        if (is_shown(t, f))
            shown[count++] = row[f];
    output_row(t->output, shown);
    t->rows++;
}

static void print_row(struct bench_table *t, const struct bench_case *item,
                      const struct bench_totals *totals)
{
    const struct bench *b = t->bench;
    bool reduces = gw_collective_reduces(item->collective);
    bool rooted = gw_collective_rooted(item->collective);
    struct spread time =
        spread_of(t, totals, offsetof(struct bench_report, time_us));
    double algbw = (double)item->bytes / time.median * 1e-3;
    double busbw = algbw * size_bus_factor(item->collective, item->ranks);
    double p50 =
        spread_of(t, totals, offsetof(struct bench_report, p50_us)).median;
    double p99 =
        spread_of(t, totals, offsetof(struct bench_report, p99_us)).median;
    progress("%s", "");
    if (time.median < item->bound_us)
        t->beyond = item->wire;
    put_row(t, (union value[FIELD_COUNT]){
                   {.integer = (int64_t)item->bytes},
                   {.integer = (int64_t)item->count},
                   {.text = gw_dtype_name(b->type)},
                   {.text = reduces ? gw_redop_name(b->op) : "none"},
                   {.integer = rooted ? (int64_t)item->root : -1},
                   {.real = time.median},
                   {.real = algbw},
                   {.real = busbw},
                   {.integer = (int64_t)totals->wrong},
                   {.text = gw_collective_name(item->collective)},
                   {.text = plan_algo_label(item->algo)},
                   {.text = item->wire},
                   {.integer = item->ranks},
                   {.real = p50},
                   {.real = p99},
                   {.real = item->predicted_us},
                   {.real = item->bound_us},
                   {.real = item->bound_us / time.median * 100},
                   {.integer = totals->repeats},
                   {.real = time.least},
                   {.real = time.largest},
                   {.real = time.deviation},
                   {.real = item->baseline_us},
                   {.real = add_ratio(t, time.median / item->baseline_us)},
                   {.real = item->optimum_us},
                   {.real = item->optimum_us / time.median * 100},
               });
}

static void record_wrong(struct bench_table *t, const struct bench_case *item,
                         unsigned rank, const struct bench_report *r)
{
    char size[16], text[96];
    if (r->wrong == 0)
        return;
    gw_format_bytes(item->bytes, size);
    pattern_report(r->wrong, r->first_wrong, text);
    if (t->wrong == 0)
        snprintf(t->first_wrong, sizeof t->first_wrong, "%s %s %s: rank %u: %s",
                 gw_collective_name(item->collective),
                 plan_algo_label(item->algo), size, rank, text);
    t->wrong += r->wrong;
}

void bench_table_progress(const struct bench_table *t, size_t next)
{
    char size[16];
    const struct bench *b = t->bench;
    if (next == b->end)
        return;
    const struct bench_case *item = &b->cases[next];
    gw_format_bytes(item->bytes, size);
    progress("%s %s %s, %s, %u ranks (%zu of %zu)",
             gw_collective_name(item->collective), plan_algo_label(item->algo),
             size, item->wire, item->ranks, t->measured + 1,
             b->case_count * b->repeats);
}

/* ---- the document ---- */

static enum gw_err allocate(struct bench_table *t, const struct bench *b,
                            struct gw_error *why)
{
    size_t count = b->case_count * b->repeats;
    t->totals = calloc(b->case_count, sizeof *t->totals);
    t->reports = calloc(count, sizeof *t->reports);
    t->sorted = calloc(b->repeats, sizeof *t->sorted);
    if (!t->totals || !t->reports || !t->sorted)
        return gw_fail(why, GW_ENOMEM, "%zu cases", count);
    for (size_t i = 0; i < b->case_count; i++)
        t->totals[i].rank0 = &t->reports[i * b->repeats];
    return GW_OK;
}

static void release(struct bench_table *t)
{
    free(t->totals);
    free(t->reports);
    free(t->sorted);
}

/* The fields that distinguish the cases, besides the size. */
static struct bench_varies find_varying(const struct bench *b)
{
    const struct bench_case *first = b->cases;
    struct bench_varies varies = {.op = false};
    for (size_t i = 1; i < b->case_count; i++) {
        const struct bench_case *item = &b->cases[i];
        varies.op |= item->collective != first->collective;
        varies.algo |= item->algo != first->algo;
        varies.wire |= strcmp(item->wire, first->wire) != 0;
        varies.ranks |= item->ranks != first->ranks;
    }
    return varies;
}

/* A narrow terminal keeps the columns by which rows differ as long as it can. A
 * wrong result is an error, too, so that its column may go before them. */
static void set_spare(struct bench_table *t, const struct bench_varies *varies)
{
    snprintf(t->spare, sizeof t->spare,
             "%sredop dtype root %scount p99_us bound_us predicted_us p50_us "
             "repeats %sbound_percent algbw_GBps busbw_GBps%s",
             varies->op ? "" : "op ", varies->wire ? "" : "wire ",
             varies->algo ? "" : "algo ",
             varies->algo || varies->ranks || varies->wire ? " wrong" : "");
    output_spare(t->output, t->spare);
}

static void reserve_room(struct bench_table *t, const struct bench *b)
{
    for (size_t i = 0; i < b->case_count; i++) {
        const struct bench_case *item = &b->cases[i];
        char bytes[24], count[24];
        snprintf(bytes, sizeof bytes, "%" PRIu64, item->bytes);
        snprintf(count, sizeof count, "%zu", item->count);
        output_reserve(t->output, "bytes", bytes);
        output_reserve(t->output, "count", count);
        output_reserve(t->output, "op", gw_collective_name(item->collective));
        output_reserve(t->output, "algo", plan_algo_label(item->algo));
    }
}

/* Fields that are the same in all rows of a table are hidden in it. */
static enum gw_err begin_output(struct bench_table *t, const struct bench *b,
                                const struct bench_varies *varies,
                                struct gw_error *why)
{
    struct field shown[FIELD_COUNT];
    unsigned count = 0;
    for (unsigned f = 0; f < FIELD_COUNT; f++) {
        if (!is_shown(t, f))
            continue;
        shown[count] = fields[f];
        if (f >= REPEATS && f < BASELINE)
            shown[count].hidden = b->repeats == 1;
        if (f == RANKS)
            shown[count].hidden = !varies->ranks;
        count++;
    }
    return output_begin("collrun bench", common.output, shown, count,
                        &t->output, why);
}

enum gw_err bench_table_begin(struct bench_table *t, const struct bench *bench,
                              struct gw_error *why)
{
    *t = (struct bench_table){.bench = bench,
                              .percent = strcmp(common.output, "table") == 0};
    const struct bench_varies varies = find_varying(bench);
    enum gw_err err = allocate(t, bench, why);
    if (!err)
        err = begin_output(t, bench, &varies, why);
    if (err) {
        release(t);
        return err;
    }
    set_spare(t, &varies);
    reserve_room(t, bench);
    output_note_integer(t->output, "seed", (int64_t)bench->seed);
    if (strcmp(bench->algo, "auto") == 0 &&
        !plan_algo_is_added(bench->cases[0].algo))
        output_note_text(t->output, "choice", "auto");
    if (bench->baseline)
        output_note_text(t->output, "baseline", bench->baseline->path);
    return GW_OK;
}

void bench_table_add(struct bench_table *t, unsigned rank,
                     const struct bench_report *report)
{
    if (report->index >= t->bench->case_count)
        return;
    const struct bench_case *item = &t->bench->cases[report->index];
    struct bench_totals *totals = &t->totals[report->index];
    if (totals->repeats == t->bench->repeats)
        return;
    if (rank == 0)
        totals->rank0[totals->repeats] = *report;
    totals->wrong += report->wrong;
    record_wrong(t, item, rank, report);
    if (++totals->ranks < item->ranks)
        return;
    totals->ranks = 0;
    t->measured++;
    if (++totals->repeats == t->bench->repeats)
        print_row(t, item, totals);
    bench_table_progress(t, report->index + 1);
}

/* Of a run that ended early, the cases without all repeats. */
static void print_rest(struct bench_table *t)
{
    const struct bench *b = t->bench;
    for (size_t i = 0; i < b->case_count; i++)
        if (t->totals[i].repeats > 0 && t->totals[i].repeats < b->repeats)
            print_row(t, &b->cases[i], &t->totals[i]);
}

/* The geometric mean: half the time and twice the time cancel out. */
static void note_ratios(struct bench_table *t)
{
    if (t->ratio_count > 0)
        output_note_real(t->output, "ratio_mean",
                         exp(t->ratios / (double)t->ratio_count));
    bench_baseline_notes(t->bench->baseline, t->bench, t->output);
}

/* The reason for more than 100 percent: the bound is that of the costs. */
static void explain_beyond(const struct bench_table *t)
{
    struct gw_wire_costs costs;
    char text[160];
    bool measured;
    if (!t->percent || !t->beyond)
        return;
    gw_costs(t->beyond, &costs, &measured);
    snprintf(text, sizeof text,
             "over 100 %%: this machine is faster than %s of %s; "
             "\"collrun calibrate\" measures them",
             measured ? "the recorded costs" : "the built-in costs", t->beyond);
    output_note_text(t->output, "bound", text);
}

void bench_table_end(struct bench_table *t, const struct gw_error *error)
{
    progress("%s", "");
    print_rest(t);
    if (t->bench->baseline)
        note_ratios(t);
    explain_beyond(t);
    output_end(&t->output, error, error && error->code == GW_EINTR);
    release(t);
}
