/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun bench: nccl-tests for every collective and algorithm, over any wire.
 * The columns of nccl-tests come first and mean the same; then what it does not
 * tell: the algorithm, the spread, and how near the bound it is. Every row has
 * been checked element by element on every rank.
 *
 * Read on in bench_cases.c (what is measured) and bench_rank.c (how).
 */
#include "bench.h"

#include "collrun.h"
#include "common/output.h"
#include "plan_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bench bench = {
    .ranks = PLAN_RANKS_DEFAULT,
    .wire = "shm",
    .algo = "auto",
    .bytes_min = 1 << 10,
    .bytes_max = 64 << 20,
    .factor = 4,
    .seconds_ns = 200000000,
    .warmup = 5,
};
static const char *type_name = "f32", *op_name = "sum";
static uint64_t slice_bytes;
static unsigned lanes;
static bool no_windows, why_chosen;

/* clang-format off */
static const struct option_spec options[] = {
    {"algo", 'a', OPTION_TEXT, &bench.algo, "NAME",
     "algorithm, all that serve so many ranks, or what the library chooses",
     "auto|all|" PLAN_ALGO_WORDS},
    {"wire", 'w', OPTION_CHOICE, &bench.wire, "WIRE", "transport",
     "shm|ipc|tcp"},
    {"ranks", 'n', OPTION_UNSIGNED, &bench.ranks, "N", "processes", NULL},
    {"begin", 'b', OPTION_BYTES, &bench.bytes_min, "BYTES", "smallest size",
     NULL},
    {"end", 'e', OPTION_BYTES, &bench.bytes_max, "BYTES", "largest size", NULL},
    {"factor", 'f', OPTION_UNSIGNED, &bench.factor, "F",
     "from one size to the next", NULL},
    {"seconds", 's', OPTION_DURATION, &bench.seconds_ns, "TIME",
     "to time each size", NULL},
    {"iters", 'i', OPTION_UNSIGNED, &bench.iterations, "N",
     "time exactly N calls instead", NULL},
    {"warmup", 0, OPTION_UNSIGNED, &bench.warmup, "N",
     "calls before timing, at least", NULL},
    {"check", 'c', OPTION_UNSIGNED, &bench.checks, "N",
     "more checked runs of each size than the one", NULL},
    {"dtype", 'd', OPTION_CHOICE, &type_name, "TYPE", "type of the elements",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"redop", 0, OPTION_CHOICE, &op_name, "OP", "reduction",
     "sum|prod|min|max|avg|land|lor|band|bor"},
    {"root", 'r', OPTION_UNSIGNED, &bench.root, "RANK",
     "root of broadcast, reduce, gather, scatter", NULL},
    {"in-place", 0, OPTION_FLAG, &bench.in_place, NULL,
     "the input lies in the output buffer", NULL},
    {"malloc", 0, OPTION_FLAG, &bench.malloc, NULL,
     "buffers from malloc instead of shared memory", NULL},
    {"no-windows", 0, OPTION_FLAG, &no_windows, NULL,
     "shm: messages only, as on the other wires", NULL},
    {"slice", 0, OPTION_BYTES, &slice_bytes, "BYTES",
     "bytes of a slice (default: the wire's own)", NULL},
    {"lanes", 0, OPTION_UNSIGNED, &lanes, "N",
     "ipc, tcp: sockets a peer (default: the wire's own)", NULL},
    {"why", 0, OPTION_FLAG, &why_chosen, NULL,
     "tell what each algorithm was predicted to take", NULL},
    {0},
};
/* clang-format on */

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

/* What the supervisor has heard of the case that comes next. */
struct table {
    struct bench *bench; /* the first member: the ranks' context */
    struct output *output;
    struct heard {
        unsigned ranks;
        uint64_t wrong;
        struct bench_report rank0;
    } * heard; /* one a case */
    uint64_t wrong, rows;
    char first_wrong[160];
};

static void print_row(struct table *t, const struct bench_case *item,
                      const struct heard *heard)
{
    const struct bench *b = t->bench;
    const struct bench_report *r = &heard->rank0;
    bool reduces = gw_collective_reduces(item->collective);
    bool rooted = gw_collective_rooted(item->collective);
    double algbw = (double)item->bytes / r->time_us * 1e-3;
    progress("%s", "");
    output_row(
        t->output,
        (union value[FIELD_COUNT]){
            {.integer = (int64_t)item->bytes},
            {.integer = (int64_t)item->count},
            {.text = gw_dtype_name(b->type)},
            {.text = reduces ? gw_redop_name(b->op) : "none"},
            {.integer = rooted ? (int64_t)b->root : -1},
            {.real = r->time_us},
            {.real = algbw},
            {.real = algbw * bench_bus_factor(item->collective, b->ranks)},
            {.integer = (int64_t)heard->wrong},
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

static void note_wrong(struct table *t, const struct bench_case *item,
                       unsigned rank, const struct bench_report *r)
{
    char size[16];
    if (r->wrong == 0)
        return;
    gw_format_bytes(item->bytes, size);
    if (t->wrong == 0)
        snprintf(t->first_wrong, sizeof t->first_wrong,
                 "%s %s %s: rank %u has %llu wrong elements, the first is %lld",
                 gw_collective_name(item->collective), item->algo->name, size,
                 rank, (unsigned long long)r->wrong, (long long)r->first_wrong);
    t->wrong += r->wrong;
}

static void tell_progress(const struct table *t)
{
    char size[16];
    if (t->rows == t->bench->case_count)
        return;
    const struct bench_case *next = &t->bench->cases[t->rows];
    gw_format_bytes(next->bytes, size);
    progress("%s %s %s (%llu of %zu)", gw_collective_name(next->collective),
             next->algo->name, size, (unsigned long long)t->rows + 1,
             t->bench->case_count);
}

static void on_report(void *context, unsigned rank, const void *data,
                      size_t bytes)
{
    struct table *t = context;
    struct bench_report report;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    if (report.index >= t->bench->case_count)
        return;
    const struct bench_case *item = &t->bench->cases[report.index];
    struct heard *heard = &t->heard[report.index];
    if (rank == 0)
        heard->rank0 = report;
    heard->wrong += report.wrong;
    note_wrong(t, item, rank, &report);
    if (++heard->ranks == t->bench->ranks) {
        print_row(t, item, heard);
        tell_progress(t);
    }
}

static enum gw_err rank_main(struct gw_comm *comm, struct reporter *report,
                             void *context, struct gw_error *why)
{
    struct table *t = context;
    return bench_rank(comm, report, t->bench, why);
}

static enum gw_err launch(struct table *t, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = bench.ranks,
        .wire = bench.wire,
        .timeout_ns = common.timeout_ns,
        .no_windows = no_windows,
        .slice_bytes = slice_bytes,
        .lanes = lanes,
        .rank_main = rank_main,
        .context = t,
        .on_report = on_report,
    };
    tell_progress(t);
    enum gw_err err = launch_run(&launch, why);
    progress("%s", "");
    if (!err && t->wrong > 0)
        return gw_fail(why, GW_EWRONG, "%s", t->first_wrong);
    return err;
}

/* One late note a size: what was predicted, cheapest first. */
static void tell_why(struct output *output, const struct bench_case *item)
{
    enum { TOLD_MAX = 4 };
    struct gw_candidate best[TOLD_MAX];
    char name[64], text[256] = "", size[16];
    size_t count =
        gw_choose(bench.wire, item->collective, bench.ranks, item->count,
                  gw_dtype_size(bench.type), best, TOLD_MAX);
    for (size_t i = 0; i < count && i < TOLD_MAX; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %.2f us",
                 i ? ", then " : "", best[i].algo->name, best[i].predicted_us);
    }
    gw_format_bytes(item->bytes, size);
    snprintf(name, sizeof name, "why %s %s",
             gw_collective_name(item->collective), size);
    output_note_text(output, name, text);
}

static void tell_all_why(struct output *output)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs(bench.wire, &costs, &measured);
    output_note_text(output, "costs", measured ? "measured" : "built in");
    for (size_t i = 0; i < bench.case_count; i++)
        if (i == 0 || bench.cases[i].bytes != bench.cases[i - 1].bytes ||
            bench.cases[i].collective != bench.cases[i - 1].collective)
            tell_why(output, &bench.cases[i]);
}

static int measure(void)
{
    struct table t = {.bench = &bench};
    struct gw_error why = {.code = GW_OK};
    bool table = strcmp(common.output, "table") == 0;
    t.heard = calloc(bench.case_count, sizeof *t.heard);
    if (!t.heard)
        return complain_with(GW_ENOMEM, "%zu cases", bench.case_count);
    enum gw_err err =
        output_begin("collrun bench", common.output, fields,
                     table ? FIELD_COUNT : FIELD_COUNT - 1, &t.output, &why);
    if (!err) {
        output_note_integer(t.output, "seed", (int64_t)bench.seed);
        err = launch(&t, &why);
        if (why_chosen)
            tell_all_why(t.output);
        output_end(&t.output, err ? &why : NULL, err == GW_EINTR);
    }
    free(t.heard);
    return err ? complain(&why) : 0;
}

static enum gw_err check_options(struct gw_error *why)
{
    bool one_size = bench.bytes_min == bench.bytes_max;
    if (bench.ranks == 0)
        return gw_fail(why, GW_EINVAL, "--ranks: at least one");
    if (bench.root >= bench.ranks)
        return gw_fail(why, GW_EINVAL, "--root: %u is not among %u ranks",
                       bench.root, bench.ranks);
    if (bench.bytes_min == 0 || bench.bytes_min > bench.bytes_max)
        return gw_fail(why, GW_EINVAL,
                       "--begin is at least 1 and at most --end");
    if (bench.factor < 2 && !one_size)
        return gw_fail(why, GW_EINVAL, "--factor: at least 2");
    if (gw_dtype_parse(type_name, &bench.type, why))
        return why->code;
    return gw_redop_parse(op_name, &bench.op, why);
}

static int run(int operand_count, char **operands)
{
    struct gw_error why;
    (void)operand_count;
    bench.seed = common.seed;
    enum gw_err err = check_options(&why);
    if (!err)
        err = bench_list(&bench, operands[0], &why);
    int status = err ? complain(&why) : measure();
    free(bench.cases);
    return status;
}

const struct command command_bench = {
    .name = "bench",
    .operands = "OP|all",
    .help = "time a collective, and check every result",
    .examples = "collrun bench allreduce -n 4 -b 1K -e 64M -f 4\n"
                "collrun bench allreduce --algo all --wire tcp -b 1M -e 1M\n"
                "collrun bench all -n 2 -b 64K -e 64K -o jsonl\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
