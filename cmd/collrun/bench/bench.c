/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun bench: nccl-tests for every collective and algorithm, over any wire.
 * The columns of nccl-tests come first and mean the same. Others follow: the
 * algorithm, the spread, and the distance from the bound. Every row has been
 * checked element by element on every rank.
 *
 * Read on in bench_runs.c (the runs), bench_cases.c (their cases), bench_rank.c
 * (the measurement) and bench_table.c (the rows); `bench wire` is separate, in
 * bench_wire.c.
 */
#include "bench.h"

#include "bench_baseline.h"
#include "bench_wire.h"
#include "collrun/collrun.h"
#include "collrun/plan/plan_list.h"
#include "collrun/plan/plan_source.h"
#include "collrun/plan/price.h"
#include "common/cluster.h"
#include "common/launched.h"
#include "common/plan/plan_file.h"

#include <stdlib.h>
#include <string.h>

static struct bench bench = {
    .algo = "auto",
    .bytes_min = 1 << 10,
    .bytes_max = 64 << 20,
    .factor = 4,
    .seconds_ns = 200000000,
    .sample_ns = 20000,
    .warmup = 5,
    .repeats = 1,
};
static const char *type_name = "f32", *op_name = "sum", *sizes_text,
                  *ranks_text, *wires_text, *baseline_path, *topo;
static struct bench_baseline baseline;
static struct bench_runs runs;
static uint64_t slice_bytes;
static unsigned lanes;
static bool no_windows, no_pin, why_chosen;
static const struct launched *launched;

/* clang-format off */
static const struct option_spec options[] = {
    {"algo", 'a', OPTION_TEXT, &bench.algo, "NAME,...",
     "Algorithms, plug-ins and plan files; all measures each one that supports "
     "N ranks, auto lets the library choose.",
     "auto|all|" PLAN_ALGO_WORDS},
    {"wire", 'w', OPTION_LIST, &wires_text, "WIRE,...",
     "Transports, each measured in turn. Default: shm.", "shm|ipc|tcp|zmq|verbs"},
    {"ranks", 'n', OPTION_LIST, &ranks_text, "N,...",
     "Processes; each number is measured in turn. Default: 4, or as many as "
     "mpirun or another launcher started.",
     NULL},
    {"repeat", 0, OPTION_COUNT, &bench.repeats, "N",
     "Start the processes N times for each wire and number of ranks, in turns; "
     "rows have the medians.",
     NULL},
    {"begin", 'b', OPTION_BYTES, &bench.bytes_min, "BYTES",
     "Smallest size in bytes.", NULL},
    {"end", 'e', OPTION_BYTES, &bench.bytes_max, "BYTES",
     "Largest size in bytes.", NULL},
    {"factor", 'f', OPTION_UNSIGNED, &bench.factor, "F",
     "Factor from one size to the next.", NULL},
    {"sizes", 0, OPTION_TEXT, &sizes_text, "BYTES,...",
     "Measure exactly these sizes, in this order.", NULL},
    {"seconds", 's', OPTION_DURATION, &bench.seconds_ns, "TIME",
     "Time to measure each size.", NULL},
    {"sample", 0, OPTION_DURATION, &bench.sample_ns, "TIME",
     "Length of a sample for p50 and p99: the calls of a sample are timed "
     "together.", NULL},
    {"iters", 'i', OPTION_UNSIGNED, &bench.iterations, "N",
     "Time exactly N calls per size.", NULL},
    {"warmup", 0, OPTION_UNSIGNED, &bench.warmup, "N",
     "Calls before timing starts, at least.", NULL},
    {"check", 'c', OPTION_UNSIGNED, &bench.checks, "N",
     "Additional checked runs per size. One run is always checked.", NULL},
    {"dtype", 'd', OPTION_CHOICE, &type_name, "TYPE", "Element type.",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"redop", 0, OPTION_CHOICE, &op_name, "OP", "Reduction.",
     "sum|prod|min|max|avg|land|lor|band|bor"},
    {"root", 'r', OPTION_UNSIGNED, &bench.root, "RANK",
     "Root rank of broadcast, reduce, gather and scatter.", NULL},
    {"in-place", 0, OPTION_FLAG, &bench.in_place, NULL,
     "Use the output buffer as the input.", NULL},
    {"malloc", 0, OPTION_FLAG, &bench.malloc, NULL,
     "Allocate buffers with malloc instead of shared memory.", NULL},
    {"no-windows", 0, OPTION_FLAG, &no_windows, NULL,
     "With shm, send messages only, as on the other wires.", NULL},
    {"slice", 0, OPTION_BYTES, &slice_bytes, "BYTES",
     "Bytes per slice. Default: chosen by the wire.", NULL},
    {"lanes", 0, OPTION_UNSIGNED, &lanes, "N",
     "Sockets per peer with ipc and tcp. Default: chosen by the wire.", NULL},
    {"no-pin", 0, OPTION_FLAG, &no_pin, NULL,
     "Let the scheduler choose the CPU of each rank.", NULL},
    {"compare", 0, OPTION_TEXT, &baseline_path, "FILE.jsonl",
     "Print the ratio of each time to that in an earlier output.", NULL},
    {"topo", 't', OPTION_TEXT, &topo, "FILE",
     "Compare each time with the bound of this topology, see collrun bound.",
     NULL},
    {"why", 0, OPTION_FLAG, &why_chosen, NULL,
     "Print the predicted time of each algorithm.", NULL},
    LAUNCHER_OPTIONS,
    {0},
};
/* clang-format on */

static void add_bench_report(void *context, unsigned rank, const void *data,
                             size_t bytes)
{
    struct bench_report report;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    bench_table_add(context, rank, &report);
}

static enum gw_err bench_rank_main(struct gw_comm *comm,
                                   struct reporter *report, void *context,
                                   struct gw_error *why)
{
    const struct bench_table *table = context;
    return bench_rank(comm, report, table->bench, why);
}

/* The common launch options of all benchmarks of this command. */
static struct launch plain_launch(void)
{
    return (struct launch){
        .ranks = bench.ranks,
        .launched = launched,
        .wire = bench.wire,
        .timeout_ns = common.timeout_ns,
        .no_windows = no_windows,
        .no_pin = no_pin,
        .slice_bytes = slice_bytes,
        .lanes = lanes,
    };
}

/* The current run. */
static enum gw_err launch_ranks(struct bench_table *table, struct gw_error *why)
{
    struct launch launch = plain_launch();
    launch.rank_main = bench_rank_main;
    launch.context = table;
    launch.on_report = add_bench_report;
    bench_table_progress(table, bench.begin);
    enum gw_err err = launch_run(&launch, why);
    if (!err && table->wrong > 0)
        return gw_fail(why, GW_EWRONG, "%s", table->first_wrong);
    return err;
}

static enum gw_err launch_runs(struct bench_table *table, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned repeat = 0; repeat < bench.repeats; repeat++)
        while (!err && bench_next_run(&bench))
            err = launch_ranks(table, why);
    return err;
}

/* For the smallest size of the first run; the explanation includes the sizes at which the choice
 * changes. */
static void explain(struct output *output)
{
    const struct bench_case *item = &bench.cases[0];
    const struct price_question question = {
        .wire = item->wire,
        .collective = item->collective,
        .ranks = item->ranks,
        .bytes = item->bytes,
        .count = item->count,
        .elem_bytes = gw_dtype_size(bench.type),
    };
    price_explain(output, &question);
}

static int measure_table(void)
{
    struct bench_table table;
    struct gw_error why = {.code = GW_OK};
    enum gw_err err = bench_table_begin(&table, &bench, &why);
    if (err)
        return complain(&why);
    if (why_chosen)
        explain(table.output);
    err = launch_runs(&table, &why);
    bench_table_end(&table, err ? &why : complaint());
    return err ? complain(&why) : complaint_status();
}

/* "1K,128K,16M" */
static enum gw_err read_sizes(struct gw_error *why)
{
    char word[32];
    const char *rest = sizes_text;
    while (rest) {
        size_t length = strcspn(rest, ",");
        if (bench.size_count == BENCH_SIZES_MAX)
            return gw_fail(why, GW_EINVAL,
                           "--sizes: too many sizes; use at most %d",
                           BENCH_SIZES_MAX);
        if (length >= sizeof word)
            return gw_fail(why, GW_EINVAL,
                           "--sizes: \"%.40s\" is not a size; use for example "
                           "64, 1K or 4M",
                           rest);
        memcpy(word, rest, length);
        word[length] = '\0';
        uint64_t *size = &bench.sizes[bench.size_count++];
        if (gw_parse_bytes(word, size, why))
            return gw_wrap(why, GW_EINVAL, "--sizes");
        if (*size == 0)
            return gw_fail(why, GW_EINVAL,
                           "--sizes: each size must be at least 1");
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return GW_OK;
}

static enum gw_err check_bench_options(struct gw_error *why)
{
    bool one_size = bench.bytes_min == bench.bytes_max;
    if (bench.repeats > BENCH_REPEATS_MAX)
        return gw_fail(why, GW_EINVAL, "--repeat must be at most %d, not %u",
                       BENCH_REPEATS_MAX, bench.repeats);
    if (bench.bytes_min == 0 || bench.bytes_min > bench.bytes_max)
        return gw_fail(why, GW_EINVAL,
                       "--begin must be at least 1 and at most --end");
    if (bench.factor < 2 && !one_size)
        return gw_fail(why, GW_EINVAL, "--factor must be at least 2");
    if (one_size)
        bench.factor = 2;
    if (read_sizes(why))
        return why->code;
    if (gw_dtype_parse(type_name, &bench.type, why))
        return why->code;
    return gw_redop_parse(op_name, &bench.op, why);
}

static int measure_wire(void)
{
    struct gw_error why = {.code = GW_OK};
    if (bench.size_count > 0)
        return complain_with(GW_EINVAL,
                             "wire: --sizes is not supported; use --begin and "
                             "--end");
    if (ranks_text || strcmp(bench.algo, "auto") != 0)
        return complain_with(GW_EINVAL,
                             "wire: --ranks and --algo are not supported, "
                             "because a wire is measured between two processes "
                             "without a collective");
    if (launched)
        return complain_with(GW_EINVAL,
                             "wire measures two ranks of its own; add --alone");
    if (bench.repeats > 1 || baseline_path)
        return complain_with(GW_EINVAL,
                             "wire: --repeat and --compare are not supported");
    const struct launch plain = plain_launch();
    return bench_wire(&bench, &runs, &plain, &why) ? complain(&why) : 0;
}

/* Without -n, a file may set the number of ranks. */
static void set_ranks_from_file(const char *operand)
{
    unsigned ranks = 0;
    if (plan_names_file(operand))
        ranks = plan_file_ranks(operand);
    else
        ranks = plan_list_ranks(bench.algo);
    if (runs.ranks_count == 0 && ranks > 0)
        runs.ranks[runs.ranks_count++] = ranks;
}

/* Sets the wire and the number of ranks that are not given. A launcher starts
 * the processes once, so one run is all that it can have. */
static enum gw_err find_launcher(struct gw_error *why)
{
    unsigned ranks = runs.ranks_count == 1 ? runs.ranks[0] : RANKS_UNSET;
    const char *wire = runs.wires_count == 1 ? runs.wires[0] : NULL;
    enum gw_err err =
        launched_begin(&ranks, PLAN_RANKS_DEFAULT, &wire, &launched, why);
    if (err)
        return err;
    if (launched &&
        (runs.ranks_count > 1 || runs.wires_count > 1 || bench.repeats > 1))
        return gw_fail(why, GW_EINVAL,
                       "%s has started the processes; lists of --ranks and "
                       "--wire, and --repeat, need --alone",
                       launched->engine);
    if (runs.ranks_count <= 1)
        runs.ranks[0] = ranks;
    if (runs.wires_count <= 1)
        runs.wires[0] = wire;
    runs.ranks_count += runs.ranks_count == 0;
    runs.wires_count += runs.wires_count == 0;
    return GW_OK;
}

static enum gw_err list_cases(const char *operand, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (baseline_path) {
        err = bench_baseline_read(&baseline, baseline_path, why);
        bench.baseline = &baseline;
    }
    if (!err && topo)
        err = cluster_get(topo, 0, &bench.topology, why);
    if (!err)
        err = bench_runs_list(&runs, &bench, operand, why);
    if (!err && why_chosen && strcmp(operand, "all") == 0)
        err = gw_fail(why, GW_EINVAL,
                      "--why explains one collective; name one instead of all");
    return err;
}

static int run_bench(int operand_count, char **operands)
{
    struct gw_error why;
    bench.seed = common.seed;
    enum gw_err err = bench_runs_parse(&runs, ranks_text, wires_text, &why);
    if (!err && operand_count > 0) /* optional with --explain-env */
        set_ranks_from_file(operands[0]);
    if (!err)
        err = find_launcher(&why);
    if (err == GW_PENDING)
        return 0;
    if (!err)
        err = check_bench_options(&why);
    if (!err && strcmp(operands[0], "wire") == 0)
        return measure_wire();
    if (!err)
        err = list_cases(operands[0], &why);
    int status = err ? complain(&why) : measure_table();
    free(bench.cases);
    bench_baseline_free(&baseline);
    gw_topology_destroy(&bench.topology);
    return status;
}

static const struct option_group groups[] = {
    {"algo", "Algorithm, wire and ranks"},
    {"begin", "Sizes"},
    {"seconds", "Samples"},
    {"dtype", "Details of the call"},
    {"alone", "Launchers and hosts"},
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .operands = "OP|all|FILE.plan|wire",
    .help = "time a collective or a wire, and check every result",
    .examples = "collrun bench allreduce -n 4 -b 1K -e 64M -f 4\n"
                "collrun bench allreduce --algo all,mine.plan -b 1M -e 1M\n"
                "collrun bench allreduce -n 2,4 --wire shm,tcp --repeat 5\n"
                "collrun bench allreduce -n 4 --compare before.jsonl\n"
                "collrun bench mine.plan --wire tcp -b 1M -e 1M\n"
                "collrun bench wire --wire tcp -b 64K -e 1M\n"
                "collrun bench all -n 2 -b 64K -e 64K -o jsonl\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_bench,
};
