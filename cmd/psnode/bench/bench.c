/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode bench: the number of rows per second that servers store and return,
 * over any wire. The servers add the pushed rows, and at the end each worker
 * pulls all rows and compares them with the sum of all pushes.
 *
 * Read on in bench.h.
 */
#include "bench.h"

#include "common/output.h"
#include "common/stats.h"
#include "psnode/psnode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bench bench = {
    .wire = "shm",
    .servers = 1,
    .workers = 1,
    .replicas = 1,
    .seconds_ns = 1000000000,
    .warmup = 4,
    .depth = 1,
};
static uint64_t keys = 1000000, floats = 1;
static bool no_key_cache;
static const char *settings_text = "";

static const struct option_spec options[] = {
    {"keys", 'k', OPTION_BYTES, &keys, "N", "Rows per request.", NULL},
    {"floats", 'f', OPTION_BYTES, &floats, "W", "Floats per row.", NULL},
    {"servers", 's', OPTION_UNSIGNED, &bench.servers, "S", "Servers.", NULL},
    {"workers", 'n', OPTION_UNSIGNED, &bench.workers, "K", "Workers.", NULL},
    {"replicas", 'R', OPTION_UNSIGNED, &bench.replicas, "R",
     "Replicas of each row.", NULL},
    {"wire", 'w', OPTION_CHOICE, &bench.wire, "WIRE", "Transport.",
     "shm|ipc|tcp"},
    {"zipf", 0, OPTION_FLAG, &bench.zipf, NULL,
     "Use different keys in each request, few of them popular.", NULL},
    {"unsorted", 0, OPTION_FLAG, &bench.unsorted, NULL,
     "Do not sort the keys of a request.", NULL},
    {"no-key-cache", 0, OPTION_FLAG, &no_key_cache, NULL,
     "Send the key list with every request.", NULL},
    {"depth", 'd', OPTION_UNSIGNED, &bench.depth, "D",
     "Requests in flight per worker.", NULL},
    {"seconds", 0, OPTION_DURATION, &bench.seconds_ns, "TIME",
     "Duration of the measurement.", NULL},
    {"rounds", 0, OPTION_UNSIGNED, &bench.rounds, "N",
     "Make exactly N requests instead.", NULL},
    {"warmup", 0, OPTION_UNSIGNED, &bench.warmup, "N",
     "Requests before the measurement, at least.", NULL},
    {"set", 0, OPTION_LIST, &settings_text, "NAME=VALUE,...",
     "Switches of workers and servers, as for train.", NULL},
    {0},
};

/* ---- rows ---- */

static const struct field fields[] = {
    {"worker", NULL, FIELD_TEXT, 0, false},
    {"op", NULL, FIELD_TEXT, 0, false},
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"keys", NULL, FIELD_INTEGER, 0, false},
    {"floats", NULL, FIELD_INTEGER, 0, false},
    {"servers", NULL, FIELD_INTEGER, 0, true},
    {"workers", NULL, FIELD_INTEGER, 0, true},
    {"replicas", NULL, FIELD_INTEGER, 0, true},
    {"requests", NULL, FIELD_INTEGER, 0, false},
    {"mkeys_per_s", "Mkeys/s", FIELD_REAL, 3, false},
    {"GBps", "GB/s", FIELD_REAL, 3, false},
    {"p50_us", "p50 us", FIELD_REAL, 2, false},
    {"p99_us", "p99 us", FIELD_REAL, 2, false},
    {"key_lists_sent", NULL, FIELD_INTEGER, 0, true},
    {"retries", NULL, FIELD_INTEGER, 0, true},
    {"messages_sent", "messages", FIELD_INTEGER, 0, false},
    {"messages_saved", "saved", FIELD_INTEGER, 0, false},
    {"aggregator_sent", "by aggregator", FIELD_INTEGER, 0, true},
    {"aggregator_saved", "saved by it", FIELD_INTEGER, 0, true},
    {"bytes_in_place", "in place", FIELD_INTEGER, 0, false},
    {"bytes_gathered", "gathered", FIELD_INTEGER, 0, true},
    {"wrong", "#wrong", FIELD_INTEGER, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct sum {
    uint64_t requests, wrong, key_lists;
    /* Of the timed requests. */
    uint64_t retries, messages, saved, by_aggregator, saved_by_it, in_place,
        gathered;
    double requests_per_s;
    double *samples_us;
    size_t sample_count;
};

static void print_row(struct output *output, const char *name, struct sum *sum)
{
    double mkeys = sum->requests_per_s * bench.keys * 1e-6;
    double both = bench.op == BENCH_PUSHPULL ? 2 : 1;
    double gbps = mkeys * bench.floats * sizeof(float) * 1e-3 * both;
    stats_sort(sum->samples_us, sum->sample_count);
    output_row(
        output,
        (union value[FIELD_COUNT]){
            {.text = name},
            {.text = bench.op_name},
            {.text = bench.wire},
            {.integer = bench.keys},
            {.integer = bench.floats},
            {.integer = bench.servers},
            {.integer = bench.workers},
            {.integer = bench.replicas},
            {.integer = (int64_t)sum->requests},
            {.real = mkeys},
            {.real = gbps},
            {.real = stats_quantile(sum->samples_us, sum->sample_count, 0.5)},
            {.real = stats_quantile(sum->samples_us, sum->sample_count, 0.99)},
            {.integer = (int64_t)sum->key_lists},
            {.integer = (int64_t)sum->retries},
            {.integer = (int64_t)sum->messages},
            {.integer = (int64_t)sum->saved},
            {.integer = (int64_t)sum->by_aggregator},
            {.integer = (int64_t)sum->saved_by_it},
            {.integer = (int64_t)sum->in_place},
            {.integer = (int64_t)sum->gathered},
            {.integer = (int64_t)sum->wrong},
        });
}

static struct sum sum_of(struct bench_report *report)
{
    return (struct sum){.requests = report->requests,
                        .wrong = report->wrong,
                        .key_lists = report->counts.key_lists_sent,
                        .retries = report->retries,
                        .messages = report->messages_sent,
                        .saved = report->messages_saved,
                        .by_aggregator = report->aggregator_sent,
                        .saved_by_it = report->aggregator_saved,
                        .in_place = report->bytes_in_place,
                        .gathered = report->bytes_gathered,
                        .requests_per_s =
                            (double)report->requests / (double)report->ns * 1e9,
                        .samples_us = report->samples_us,
                        .sample_count = report->sample_count};
}

/* The rows of all workers; each worker counts in the quantiles by its kept
 * samples. */
static enum gw_err print_rows(struct output *output,
                              struct bench_shared *shared, struct gw_error *why)
{
    struct sum all = {.samples_us = calloc(bench.workers,
                                           sizeof(double) * BENCH_SAMPLES_MAX)};
    if (!all.samples_us)
        return gw_fail(why, GW_ENOMEM, "no memory for the times");
    for (unsigned k = 0; k < bench.workers; k++) {
        char name[16];
        struct sum one = sum_of(&shared->workers[k]);
        memcpy(all.samples_us + all.sample_count, one.samples_us,
               one.sample_count * sizeof(double));
        all.sample_count += one.sample_count;
        all.requests += one.requests;
        all.wrong += one.wrong;
        all.key_lists += one.key_lists;
        all.retries += one.retries;
        all.messages += one.messages;
        all.saved += one.saved;
        all.by_aggregator += one.by_aggregator;
        all.saved_by_it += one.saved_by_it;
        all.in_place += one.in_place;
        all.gathered += one.gathered;
        all.requests_per_s += one.requests_per_s;
        snprintf(name, sizeof name, "%u", k);
        print_row(output, name, &one);
    }
    print_row(output, "all", &all);
    free(all.samples_us);
    return all.wrong ? gw_fail(why, GW_EWRONG,
                               "%llu floats differ from the sum of all pushes",
                               (unsigned long long)all.wrong)
                     : GW_OK;
}

/* ---- options ---- */

static enum gw_err between(const char *name, uint64_t value, uint64_t least,
                           uint64_t most, struct gw_error *why)
{
    if (value >= least && value <= most)
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "--%s must be from %llu to %llu, not %llu",
                   name, (unsigned long long)least, (unsigned long long)most,
                   (unsigned long long)value);
}

static enum gw_err check_bench_options(struct gw_error *why)
{
    if (between("keys", keys, 1, 1 << 26, why) ||
        between("floats", floats, 1, GW_PS_WIDTH_MAX, why) ||
        between("keys times --floats", keys * floats, 1, 1 << 28, why) ||
        between("servers", bench.servers, 1, BENCH_SERVERS_MAX, why) ||
        between("workers", bench.workers, 1, BENCH_WORKERS_MAX, why) ||
        between("replicas", bench.replicas, 1, GW_PS_REPLICAS_MAX, why) ||
        between("depth", bench.depth, 1, 64, why))
        return GW_EINVAL;
    if (bench.replicas > bench.servers)
        return gw_fail(why, GW_EINVAL,
                       "--replicas %u: only %u servers; use at most that many",
                       bench.replicas, bench.servers);
    bench.keys = (unsigned)keys;
    bench.floats = (unsigned)floats;
    bench.seed = common.seed;
    if (settings_parse(NULL, settings_text, &bench.settings, why))
        return GW_EINVAL;
    if (settings_check_hogwild(&bench.settings, why) ||
        settings_check_aggregate(&bench.settings, bench.workers, why))
        return GW_EINVAL;
    if (bench.settings.server.hogwild && bench.replicas > 1)
        return gw_fail(why, GW_EINVAL,
                       "hogwild needs --replicas 1, not %u, because replicas "
                       "must apply updates in the same order",
                       bench.replicas);
    if (no_key_cache)
        bench.settings.worker.no_key_cache = true;
    return GW_OK;
}

static enum gw_err choose_op(const char *name, struct gw_error *why)
{
    static const char *const names[] = {"push", "pull", "pushpull"};
    for (unsigned op = 0; op < sizeof names / sizeof *names; op++)
        if (strcmp(name, names[op]) == 0) {
            bench.op = (enum bench_op)op;
            bench.op_name = names[op];
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "bench: unknown operation \"%.40s\"; use push, pull or "
                   "pushpull",
                   name);
}

static int run_bench(int operand_count, char **operands)
{
    struct gw_error why = {.code = GW_OK};
    struct bench_shared *shared = NULL;
    struct output *output;
    (void)operand_count;
    enum gw_err code = choose_op(operands[0], &why);
    if (!code)
        code = check_bench_options(&why);
    if (!code)
        code = output_begin("psnode bench", common.output, fields, FIELD_COUNT,
                            &output, &why);
    if (code)
        return complain(&why);
    output_collect(output);
    output_spare(output, "bytes_in_place messages_saved messages_sent op wire "
                         "floats keys p99_us");
    output_note_integer(output, "seed", (int64_t)bench.seed);
    progress("%s of %u keys of %u floats over %s", bench.op_name, bench.keys,
             bench.floats, bench.wire);
    code = bench_run(&bench, &shared, &why);
    progress("%s", "");
    if (!code)
        code = print_rows(output, shared, &why);
    bench_forget(&shared);
    output_end(&output, code ? &why : NULL, code == GW_EINTR);
    return code ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"keys", "Requests"},
    {"servers", "Cluster"},
    {"zipf", "Keys"},
    {"depth", "Measurement"},
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .operands = "push|pull|pushpull",
    .help = "measure how fast servers handle rows, and check the result",
    .examples = "psnode bench push --keys 1M --wire ipc\n"
                "psnode bench pull -k 1000 -f 10000 -n 2 -s 2\n"
                "psnode bench pushpull -k 100 -f 16 --zipf -o jsonl\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_bench,
};
