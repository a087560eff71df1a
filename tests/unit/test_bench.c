/* SPDX-License-Identifier: MIT
 *
 * The cases, sizes and factors of bench, by the definitions of nccl-tests, and
 * rows that wait for every rank.
 */
#include "collrun/bench/bench.h"
#include "collrun/bench/sizes.h"
#include "collrun/plan/plan_source.h"
#include "common/command.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_bench(void);

static struct gw_error why;
static struct bench bench;

static void begin(void)
{
    bench = (struct bench){
        .ranks = 4,
        .wire = "tcp",
        .algo = "auto",
        .type = GW_F32,
        .op = GW_SUM,
        .bytes_min = 1 << 10,
        .bytes_max = 1 << 20,
        .factor = 4,
        .repeats = 1,
    };
}

static void end(void)
{
    free(bench.cases);
}

/* The table of nccl-tests, doc/PERFORMANCE.md. */
START_TEST(bus_factors)
{
    ck_assert_double_eq(size_bus_factor(GW_ALLREDUCE, 4), 1.5);
    ck_assert_double_eq(size_bus_factor(GW_ALLREDUCE, 2), 1);
    ck_assert_double_eq(size_bus_factor(GW_BROADCAST, 8), 1);
    ck_assert_double_eq(size_bus_factor(GW_REDUCE, 8), 1);
    ck_assert_double_eq(size_bus_factor(GW_ALLGATHER, 4), 0.75);
    ck_assert_double_eq(size_bus_factor(GW_REDUCE_SCATTER, 4), 0.75);
    ck_assert_double_eq(size_bus_factor(GW_ALLTOALL, 4), 0.75);
    ck_assert_double_eq(size_bus_factor(GW_GATHER, 2), 0.5);
    ck_assert_double_eq(size_bus_factor(GW_SCATTER, 2), 0.5);
    ck_assert_double_eq(size_bus_factor(GW_ALLREDUCE, 1), 0);
}
END_TEST

/* The size is that of the rounded count: it gives back the count, and is at
 * most the requested size, unless that is less than one element per block. */
START_TEST(sizes_are_rounded_down)
{
    for (unsigned c = 0; c < GW_BARRIER; c++)
        for (unsigned ranks = 1; ranks <= 17; ranks++)
            for (uint64_t bytes = 1; bytes < 3000; bytes += 7) {
                enum gw_collective collective = (enum gw_collective)c;
                size_t count = plan_count(collective, ranks, bytes, 8);
                uint64_t size = size_bytes(collective, ranks, count, 8);
                uint64_t least = size_bytes(collective, ranks, 1, 8);
                ck_assert_uint_ge(count, 1);
                ck_assert_uint_le(size, bytes < least ? least : bytes);
                ck_assert_uint_gt(size + least, bytes);
                ck_assert_uint_eq(plan_count(collective, ranks, size, 8),
                                  count);
            }
}
END_TEST

START_TEST(auto_lists_a_case_a_size)
{
    ck_assert_int_eq(bench_list(&bench, "allreduce", &why), GW_OK);
    ck_assert_uint_eq(bench.case_count, 6); /* 1K 4K 16K 64K 256K 1M */
    for (size_t i = 0; i < 6; i++) {
        const struct bench_case *item = &bench.cases[i];
        struct gw_candidate best;
        ck_assert_uint_eq(item->bytes, (uint64_t)1024 << 2 * i);
        ck_assert_uint_eq(item->count, item->bytes / 4);
        ck_assert_uint_gt(
            gw_choose("tcp", GW_ALLREDUCE, 4, item->count, 4, &best, 1), 0);
        ck_assert_ptr_eq(item->algo, best.algo);
        ck_assert(!item->algo->baseline);
        ck_assert_double_eq(item->predicted_us, best.predicted_us);
        ck_assert_double_gt(item->bound_us, 0);
        ck_assert_double_le(item->bound_us, item->predicted_us * 1.0001);
    }
}
END_TEST

START_TEST(all_lists_every_algorithm_that_serves)
{
    size_t count, serving = 0;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        serving += list[i]->valid(5);
    bench.algo = "all";
    bench.ranks = 5;
    bench.bytes_max = bench.bytes_min;
    bench.factor = 2;
    ck_assert_int_eq(bench_list(&bench, "all", &why), GW_OK);
    ck_assert_uint_eq(bench.case_count, serving);
    for (size_t i = 0; i < bench.case_count; i++)
        ck_assert(!isnan(bench.cases[i].predicted_us));
}
END_TEST

START_TEST(sizes_that_round_to_one_are_listed_once)
{
    bench.bytes_min = 1;
    bench.bytes_max = 32;
    bench.factor = 2;
    ck_assert_int_eq(bench_list(&bench, "allgather", &why), GW_OK);
    ck_assert_uint_eq(bench.case_count, 2); /* 1 to 16 are 4 x 4; 32 */
    ck_assert_uint_eq(bench.cases[0].bytes, 16);
    ck_assert_uint_eq(bench.cases[1].bytes, 32);
}
END_TEST

START_TEST(barrier_has_no_sizes)
{
    ck_assert_int_eq(bench_list(&bench, "barrier", &why), GW_OK);
    ck_assert_uint_eq(bench.case_count, 1);
    ck_assert_uint_eq(bench.cases[0].bytes, 0);
}
END_TEST

START_TEST(largest_size_does_not_wrap)
{
    bench.bytes_min = bench.bytes_max = UINT64_C(1) << 48;
    bench.factor = 1 << 20;
    ck_assert_int_eq(bench_list(&bench, "broadcast", &why), GW_OK);
    ck_assert_uint_eq(bench.case_count, 1);
    bench.bytes_min = bench.bytes_max = UINT64_MAX / 2;
    ck_assert_int_eq(bench_list(&bench, "broadcast", &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "bytes is too large"));
}
END_TEST

START_TEST(all_with_a_name_lists_who_has_it)
{
    bench.algo = "ring";
    bench.bytes_max = bench.bytes_min;
    ck_assert_int_eq(bench_list(&bench, "all", &why), GW_OK);
    for (size_t i = 0; i < bench.case_count; i++)
        ck_assert_str_eq(bench.cases[i].algo->name, "ring");
    ck_assert_uint_ge(bench.case_count, 3);
}
END_TEST

static void refused(const char *operand, const char *words)
{
    ck_assert_int_eq(bench_list(&bench, operand, &why), GW_EINVAL);
    ck_assert_msg(strstr(why.text, words) != NULL, "\"%s\" lacks \"%s\"",
                  why.text, words);
}

START_TEST(what_is_refused)
{
    refused("allreduse", "did you mean");
    bench.algo = "rign";
    refused("allreduce", "rign");
    refused("all", "no collective has an algorithm \"rign\"; \"collrun list\"");
    bench.algo = "neighbor";
    bench.ranks = 5;
    refused("allgather", "allgather neighbor does not support 5 ranks");
    bench.algo = "auto";
    bench.op = GW_BAND;
    refused("allreduce", "the reduction band does not support the type f32");
}
END_TEST

/* ---- rows ---- */

static char *caught;

/* Runs `body` with stdout redirected to a file; keeps the output. */
static void catch_stdout(void (*body)(void))
{
    char path[] = "/tmp/gw-test-bench-XXXXXX";
    int file = mkstemp(path), out = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    body();
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    caught = calloc(1, 65536);
    ck_assert_ptr_nonnull(caught);
    ck_assert_int_ge(pread(file, caught, 65535, 0), 0);
    unlink(path);
    close(file);
    close(out);
}

/* Two cases, four ranks; the second case has one wrong element on rank 2, and
 * rank 3 never reports it. */
static void report_some(void)
{
    struct bench_table table;
    bench.case_count = bench.end = 2;
    ck_assert_int_eq(bench_table_begin(&table, &bench, &why), GW_OK);
    for (unsigned rank = 4; rank-- > 0;) {
        struct bench_report report = {
            .index = 0,
            .first_wrong = UINT64_MAX,
            .time_us = 100 + rank,
            .p50_us = 90,
            .p99_us = 200,
        };
        ck_assert_uint_eq(table.rows, 0);
        bench_table_add(&table, rank, &report);
        report.index = 1;
        report.wrong = rank == 2;
        report.first_wrong = 17;
        if (rank < 3)
            bench_table_add(&table, rank, &report);
        report.index = 2; /* no such case */
        bench_table_add(&table, rank, &report);
    }
    ck_assert_uint_eq(table.rows, 1);
    ck_assert_uint_eq(table.wrong, 1);
    ck_assert_str_eq(table.first_wrong,
                     "allreduce ring 4K: rank 2: 1 elements are wrong, the "
                     "first is 17");
    gw_fail(&why, GW_EINTR, "interrupted");
    bench_table_end(&table, &why);
}

START_TEST(rows_wait_for_every_rank)
{
    bench.algo = "ring";
    common.output = "jsonl";
    ck_assert_int_eq(bench_list(&bench, "allreduce", &why), GW_OK);
    catch_stdout(report_some);
    ck_assert_ptr_nonnull(strstr(caught, "\"bytes\":1024,"));
    ck_assert_ptr_nonnull(strstr(caught, "\"time_us\":100"));
    ck_assert_ptr_nonnull(strstr(caught, "\"wrong\":0,"));
    ck_assert_ptr_null(strstr(caught, "\"bytes\":4096,"));
    ck_assert_ptr_null(strstr(caught, "percent"));
    ck_assert_ptr_nonnull(strstr(caught, "\"partial\":true"));
    free(caught);
}
END_TEST

/* ---- repeats ---- */

/* The processes of two runs start three times; the last start is interrupted
 * before the second run. */
static void report_repeats(void)
{
    static const double times[] = {10, 40, 20};
    struct bench_table table;
    ck_assert_int_eq(bench_table_begin(&table, &bench, &why), GW_OK);
    for (unsigned repeat = 0; repeat < 3; repeat++)
        for (unsigned run = 0; run < 2; run++) {
            ck_assert(bench_next_run(&bench));
            ck_assert_uint_eq(bench.ranks, run ? 3 : 2);
            ck_assert_uint_eq(bench.begin, run);
            ck_assert_uint_eq(bench.end, run + 1);
            for (unsigned rank = 0; rank < bench.ranks; rank++) {
                const struct bench_report report = {.index = run,
                                                    .time_us = times[repeat],
                                                    .p50_us = times[repeat] / 2,
                                                    .p99_us = rank};
                if (repeat < 2 || run == 0)
                    bench_table_add(&table, rank, &report);
            }
            ck_assert_uint_eq(table.rows, repeat == 2);
            if (run == 1)
                ck_assert(!bench_next_run(&bench));
        }
    gw_fail(&why, GW_EINTR, "interrupted");
    bench_table_end(&table, &why);
}

START_TEST(rows_have_medians_of_repeats)
{
    const struct bench_runs runs = {
        .ranks = {2, 3}, .ranks_count = 2, .wires = {"tcp"}, .wires_count = 1};
    bench.bytes_max = bench.bytes_min;
    bench.algo = "ring";
    bench.repeats = 3;
    common.output = "jsonl";
    ck_assert_int_eq(bench_runs_list(&runs, &bench, "allreduce", &why), GW_OK);
    catch_stdout(report_repeats);
    ck_assert_ptr_nonnull(strstr(caught, "\"time_us\":20,"));
    ck_assert_ptr_nonnull(strstr(caught, "\"ranks\":2,\"p50_us\":10,"));
    ck_assert_ptr_nonnull(strstr(caught, "\"repeats\":3,\"time_min_us\":10,"
                                         "\"time_max_us\":40,"
                                         "\"spread_us\":10,"));
    ck_assert_ptr_nonnull(strstr(caught, "\"repeats\":2,\"time_min_us\":10,"
                                         "\"time_max_us\":40,"
                                         "\"spread_us\":15,"));
    ck_assert_ptr_nonnull(strstr(caught, "\"ranks\":3,\"p50_us\":12.5,"));
    free(caught);
}
END_TEST

START_TEST(lists_of_runs)
{
    struct bench_runs runs;
    ck_assert_int_eq(bench_runs_parse(&runs, "4,2,4", "tcp,shm,tcp", &why),
                     GW_OK);
    ck_assert_uint_eq(runs.ranks_count, 2);
    ck_assert_uint_eq(runs.ranks[1], 2);
    ck_assert_uint_eq(runs.wires_count, 2);
    ck_assert_str_eq(runs.wires[0], "tcp");
    ck_assert_int_eq(
        bench_runs_parse(&runs, NULL, "shm,ipc,tcp,zmq,verbs", &why), GW_OK);
    ck_assert_uint_eq(runs.wires_count, BENCH_WIRES);
    ck_assert_str_eq(runs.wires[BENCH_WIRES - 1], "verbs");
    ck_assert_int_eq(bench_runs_parse(&runs, NULL, NULL, &why), GW_OK);
    ck_assert_uint_eq(runs.ranks_count + runs.wires_count, 0);
    ck_assert_int_eq(bench_runs_parse(&runs, "2", "shm,", &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "not \"shm,\""));
    ck_assert_int_eq(bench_runs_parse(&runs, "0", NULL, &why), GW_EINVAL);
}
END_TEST

Suite *suite_bench(void)
{
    Suite *suite = suite_create("bench");
    TCase *sizes = tcase_create("sizes");
    tcase_add_test(sizes, bus_factors);
    tcase_add_test(sizes, sizes_are_rounded_down);
    suite_add_tcase(suite, sizes);
    TCase *cases = tcase_create("cases");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, auto_lists_a_case_a_size);
    tcase_add_test(cases, all_lists_every_algorithm_that_serves);
    tcase_add_test(cases, sizes_that_round_to_one_are_listed_once);
    tcase_add_test(cases, barrier_has_no_sizes);
    tcase_add_test(cases, largest_size_does_not_wrap);
    tcase_add_test(cases, all_with_a_name_lists_who_has_it);
    tcase_add_test(cases, what_is_refused);
    suite_add_tcase(suite, cases);
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, begin, end);
    tcase_add_test(rows, rows_wait_for_every_rank);
    tcase_add_test(rows, rows_have_medians_of_repeats);
    tcase_add_test(rows, lists_of_runs);
    suite_add_tcase(suite, rows);
    return suite;
}
