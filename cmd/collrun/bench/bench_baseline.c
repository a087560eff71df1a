/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun bench --compare`: the rows of an earlier document. The partner of a
 * case has the same operation, algorithm, wire, ranks and size, and the same
 * type, reduction and root. Several partners are repetitions: their median
 * counts.
 */
#include "bench_baseline.h"

#include "common/plan/plan_algo.h"
#include "common/stats.h"
#include "common/text/json_get.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- partners ---- */

static bool is_measurement(const json_t *row)
{
    return real_of(row, "time_us") > 0 && json_object_get(row, "algo") &&
           json_object_get(row, "op");
}

static bool same_text(const json_t *row, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(row, name));
    return value && strcmp(value, text) == 0;
}

static bool same_number(const json_t *row, const char *name, int64_t number)
{
    const json_t *value = json_object_get(row, name);
    return json_is_integer(value) && json_integer_value(value) == number;
}

static bool is_partner(const json_t *row, const struct bench *b,
                       const struct bench_case *item)
{
    bool reduces = gw_collective_reduces(item->collective);
    bool rooted = gw_collective_rooted(item->collective);
    return is_measurement(row) &&
           same_text(row, "op", gw_collective_name(item->collective)) &&
           same_text(row, "algo", plan_algo_label(item->algo)) &&
           same_text(row, "wire", item->wire) &&
           same_number(row, "ranks", item->ranks) &&
           same_number(row, "bytes", (int64_t)item->bytes) &&
           same_text(row, "dtype", gw_dtype_name(b->type)) &&
           same_text(row, "redop", reduces ? gw_redop_name(b->op) : "none") &&
           same_number(row, "root", rooted ? (int64_t)item->root : -1);
}

/* ---- sentences ---- */

enum { NAMED_MAX = 3, NAMES_BYTES = 300 };

/* The first few of a list of rows: "allreduce ring 64K, shm, 4 ranks; ...". */
struct named {
    size_t count;
    char text[NAMES_BYTES];
};

static void name_row(struct named *named, const char *op, const char *algo,
                     const char *wire, int64_t ranks, uint64_t bytes)
{
    char size[16];
    size_t used = strlen(named->text);
    if (named->count++ >= NAMED_MAX)
        return;
    gw_format_bytes(bytes, size);
    snprintf(named->text + used, sizeof named->text - used,
             "%s%.30s %.40s %s, %.10s, %" PRId64 " ranks", used ? "; " : "", op,
             algo, size, wire, ranks);
}

static void note_named(struct output *output, const char *name,
                       const struct named *named, const char *sentence,
                       const char *path)
{
    char text[500];
    if (named->count == 0)
        return;
    snprintf(text, sizeof text, "%zu %s %.100s: %s%s", named->count, sentence,
             path, named->text, named->count > NAMED_MAX ? "; ..." : "");
    output_note_text(output, name, text);
}

/* Rows of the other document that this run did not measure. */
static void note_missing(const struct bench_baseline *baseline,
                         struct output *output)
{
    struct named named = {.count = 0};
    for (size_t i = 0; i < baseline->rows.count; i++) {
        const json_t *row = baseline->rows.rows[i];
        if (baseline->used[i] || !is_measurement(row))
            continue;
        const char *wire = json_string_value(json_object_get(row, "wire"));
        name_row(&named, json_string_value(json_object_get(row, "op")),
                 json_string_value(json_object_get(row, "algo")),
                 wire ? wire : "-",
                 json_integer_value(json_object_get(row, "ranks")),
                 (uint64_t)json_integer_value(json_object_get(row, "bytes")));
    }
    note_named(output, "missing", &named, "rows were not measured again from",
               baseline->path);
}

/* Rows of this run without a partner. */
static void note_unpaired(const struct bench_baseline *baseline,
                          const struct bench *b, struct output *output)
{
    struct named named = {.count = 0};
    for (size_t i = 0; i < b->case_count; i++) {
        const struct bench_case *item = &b->cases[i];
        if (!isnan(item->baseline_us))
            continue;
        name_row(&named, gw_collective_name(item->collective),
                 plan_algo_label(item->algo), item->wire, item->ranks,
                 item->bytes);
    }
    note_named(output, "unpaired", &named, "rows have no partner in",
               baseline->path);
}

/* ---- the document ---- */

enum gw_err bench_baseline_read(struct bench_baseline *baseline,
                                const char *path, struct gw_error *why)
{
    size_t measurements = 0;
    *baseline = (struct bench_baseline){.path = path};
    if (rows_read(path, &baseline->rows, why))
        return gw_wrap(why, why->code, "--compare");
    for (size_t i = 0; i < baseline->rows.count; i++)
        measurements += is_measurement(baseline->rows.rows[i]);
    if (measurements == 0)
        return gw_fail(why, GW_EDATA,
                       "--compare %.200s: no rows of collrun bench; write "
                       "them with -o jsonl",
                       path);
    baseline->used = calloc(baseline->rows.count, sizeof *baseline->used);
    baseline->times = calloc(baseline->rows.count, sizeof *baseline->times);
    return baseline->used && baseline->times
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "%zu rows", baseline->rows.count);
}

double bench_baseline_us(struct bench_baseline *baseline, const struct bench *b,
                         const struct bench_case *item)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->rows.count; i++) {
        const json_t *row = baseline->rows.rows[i];
        if (!is_partner(row, b, item))
            continue;
        baseline->used[i] = true;
        baseline->times[count++] = real_of(row, "time_us");
    }
    stats_sort(baseline->times, count);
    return stats_median(baseline->times, count);
}

void bench_baseline_notes(const struct bench_baseline *baseline,
                          const struct bench *bench, struct output *output)
{
    note_unpaired(baseline, bench, output);
    note_missing(baseline, output);
}

void bench_baseline_free(struct bench_baseline *baseline)
{
    rows_free(&baseline->rows);
    free(baseline->used);
    free(baseline->times);
}
