/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of `collrun bench`: a row is printed as soon as all ranks have
 * reported its case. Times are rank 0's, as in nccl-tests and the MPI
 * benchmarks; wrong elements are summed over all ranks.
 */
#include "bench.h"

#include "collrun/run/pattern.h"
#include "common/command.h"
#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last one is for people only: data has both times. */
static const struct field fields[] = {
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
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static void print_row(struct bench_table *t, const struct bench_case *item,
                      const struct bench_totals *totals)
{
    const struct bench *b = t->bench;
    const struct bench_report *r = &totals->rank0;
    bool reduces = gw_collective_reduces(item->collective);
    bool rooted = gw_collective_rooted(item->collective);
    double algbw = (double)item->bytes / r->time_us * 1e-3;
    progress("%s", "");
    output_row(t->output, (union value[FIELD_COUNT]){
                              {.integer = (int64_t)item->bytes},
                              {.integer = (int64_t)item->count},
                              {.text = gw_dtype_name(b->type)},
                              {.text = reduces ? gw_redop_name(b->op) : "none"},
                              {.integer = rooted ? (int64_t)b->root : -1},
                              {.real = r->time_us},
                              {.real = algbw},
                              {.real = algbw * size_bus_factor(item->collective,
                                                               b->ranks)},
                              {.integer = (int64_t)totals->wrong},
                              {.text = gw_collective_name(item->collective)},
                              {.text = item->algo->name},
                              {.text = b->wire},
                              {.integer = b->ranks},
                              {.real = r->p50_us},
                              {.real = r->p99_us},
                              {.real = item->predicted_us},
                              {.real = item->bound_us},
                              {.real = item->bound_us / r->time_us * 100},
                          });
    t->rows++;
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
                 gw_collective_name(item->collective), item->algo->name, size,
                 rank, text);
    t->wrong += r->wrong;
}

void bench_table_progress(const struct bench_table *t)
{
    char size[16];
    if (t->rows == t->bench->case_count)
        return;
    const struct bench_case *next = &t->bench->cases[t->rows];
    gw_format_bytes(next->bytes, size);
    progress("%s %s %s (%zu of %zu)", gw_collective_name(next->collective),
             next->algo->name, size, t->rows + 1, t->bench->case_count);
}

enum gw_err bench_table_begin(struct bench_table *t, const struct bench *bench,
                              struct gw_error *why)
{
    bool table = strcmp(common.output, "table") == 0;
    *t = (struct bench_table){.bench = bench};
    t->totals = calloc(bench->case_count, sizeof *t->totals);
    if (!t->totals)
        return gw_fail(why, GW_ENOMEM, "%zu cases", bench->case_count);
    enum gw_err err =
        output_begin("collrun bench", common.output, fields,
                     table ? FIELD_COUNT : FIELD_COUNT - 1, &t->output, why);
    if (err)
        free(t->totals);
    else {
        output_spare(t->output,
                     "op redop dtype root wire count p99_us bound_us "
                     "predicted_us p50_us algo bound_percent algbw_GBps");
        output_note_integer(t->output, "seed", (int64_t)bench->seed);
    }
    return err;
}

void bench_table_add(struct bench_table *t, unsigned rank,
                     const struct bench_report *report)
{
    if (report->index >= t->bench->case_count)
        return;
    const struct bench_case *item = &t->bench->cases[report->index];
    struct bench_totals *totals = &t->totals[report->index];
    if (rank == 0)
        totals->rank0 = *report;
    totals->wrong += report->wrong;
    record_wrong(t, item, rank, report);
    if (++totals->ranks < t->bench->ranks)
        return;
    print_row(t, item, totals);
    bench_table_progress(t);
}

void bench_table_end(struct bench_table *t, const struct gw_error *error)
{
    progress("%s", "");
    output_end(&t->output, error, error && error->code == GW_EINTR);
    free(t->totals);
}
