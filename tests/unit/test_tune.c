/* SPDX-License-Identifier: MIT
 *
 * The measurements of collrun tune and the rules made from them: only a clear
 * winner becomes a rule, neighbours with one winner share a rule, and rules
 * meet without a gap between measured sizes.
 */
#include "collrun/tune/tune.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_tune(void);

static struct gw_error why;
static struct tune tune;

static void begin(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/gw-test-tune-%d.json", (int)getpid());
    setenv("GRADWIRE_CALIBRATION", path, 1); /* the file does not exist */
    tune = (struct tune){
        .wire = "tcp",
        .ranks = {4},
        .ranks_count = 1,
        .bytes_min = 8,
        .bytes_max = 2048,
        .factor = 4,
        .by = "size",
        .seed = 1,
        .collectives = {[GW_ALLREDUCE] = true},
    };
}

static void end(void)
{
    free(tune.cases);
}

static void list(void)
{
    free(tune.cases);
    ck_assert_int_eq(tune_list(&tune, &why), GW_OK);
}

START_TEST(sizes_go_up_and_the_last_is_there)
{
    tune.bytes_max = 3000;
    list();
    const uint64_t expected[] = {8, 32, 128, 512, 2048, 3000};
    ck_assert_uint_eq(tune.case_count, 6);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_uint_eq(tune.cases[i].bytes, expected[i]);
        ck_assert_uint_eq(tune.cases[i].count, expected[i] / 4);
    }
    tune.bytes_min = tune.bytes_max = UINT64_MAX / 4;
    list();
    ck_assert_uint_eq(tune.case_count, 1);
}
END_TEST

START_TEST(a_case_lists_what_could_win)
{
    tune.bytes_max = 64 << 20;
    list();
    for (size_t i = 0; i < tune.case_count; i++) {
        struct tune_case *item = &tune.cases[i];
        double least = item->algos[item->predicted].predicted_us;
        struct gw_candidate best;
        ck_assert_uint_gt(
            gw_choose("tcp", GW_ALLREDUCE, 4, item->count, 4, &best, 1), 0);
        ck_assert_ptr_eq(item->algos[item->chosen].algo, best.algo);
        for (unsigned a = 0; a < item->algo_count; a++) {
            ck_assert_double_ge(item->algos[a].predicted_us, least);
            ck_assert_double_le(item->algos[a].predicted_us, 4 * least);
        }
    }
}
END_TEST

START_TEST(all_lists_every_algorithm)
{
    size_t count, serving = 0;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        serving += algos[i]->collective == GW_ALLREDUCE && algos[i]->valid(4);
    tune.all = true;
    list();
    for (size_t i = 0; i < tune.case_count; i++)
        ck_assert_uint_eq(tune.cases[i].algo_count, serving);
}
END_TEST

/* The listed ones, the choice and the predicted best. */
START_TEST(words_list_the_algorithms)
{
    char path[64], words[96];
    snprintf(path, sizeof path, "/tmp/gw-test-tune-%d.plan", (int)getpid());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("allreduce ranks=P chunks=1\nstep for i in 1..P-1: i>0 c0 +\n"
          "step for i in 1..P-1: 0>i c0 =\n",
          file);
    ck_assert_int_eq(fclose(file), 0);
    snprintf(words, sizeof words, "main_replica,%s", path);
    tune.words = words;
    list();
    ck_assert_int_eq(unlink(path), 0);
    for (size_t i = 0; i < tune.case_count; i++) {
        struct tune_case *item = &tune.cases[i];
        unsigned last = item->algo_count - 1;
        ck_assert_uint_ge(item->algo_count, 2);
        ck_assert_uint_le(item->algo_count, 4);
        ck_assert(item->algos[last].added);
        ck_assert_double_gt(item->algos[last].predicted_us, 0);
        ck_assert_str_eq(item->algos[last - 1].algo->name, "main_replica");
        ck_assert(!item->algos[item->predicted].added);
    }
    free(tune.cases);
    tune.words = "rign";
    ck_assert_int_eq(tune_list(&tune, &why), GW_EINVAL);
}
END_TEST

START_TEST(cases_are_by_ranks_then_collective)
{
    tune.ranks[1] = 2;
    tune.ranks_count = 2;
    tune.collectives[GW_BARRIER] = true;
    list();
    ck_assert_uint_eq(tune.case_count, 2 * (5 + 1));
    ck_assert_uint_eq(tune.cases[0].ranks, 4);
    ck_assert_uint_eq(tune.cases[5].collective, GW_BARRIER);
    ck_assert_uint_eq(tune.cases[5].bytes, 0);
    ck_assert_uint_eq(tune.cases[6].ranks, 2);
}
END_TEST

/* All coefficients are half as large again: the choice does not change. */
START_TEST(new_prices_predict_the_cases_of_their_ranks)
{
    struct gw_wire_costs costs;
    bool measured;
    tune.ranks[1] = 2;
    tune.ranks_count = 2;
    tune.bytes_max = 64 << 20;
    list();
    size_t half = tune.case_count / 2;
    struct tune_case *before = calloc(tune.case_count, sizeof *before);
    memcpy(before, tune.cases, tune.case_count * sizeof *before);
    tune.end = half;
    gw_costs_among("tcp", 4, &costs, &measured);
    for (unsigned i = 0; i < GW_COEFFICIENTS_MAX; i++)
        costs.coefficients[i] *= 1.5;
    tune_predict(&tune, &costs);
    for (size_t i = 0; i < tune.case_count; i++) {
        double times = i < half ? 1.5 : 1;
        ck_assert_uint_eq(tune.cases[i].predicted, before[i].predicted);
        for (unsigned a = 0; a < before[i].algo_count; a++)
            ck_assert_double_eq_tol(tune.cases[i].algos[a].predicted_us,
                                    times * before[i].algos[a].predicted_us,
                                    1e-9 * before[i].algos[a].predicted_us);
    }
    free(before);
}
END_TEST

/* Where bytes cost nothing, a plan of one turn replaces one with fewer
 * bytes. */
START_TEST(the_cheapest_by_new_prices_is_predicted)
{
    struct gw_wire_costs costs;
    bool measured;
    tune.all = true;
    tune.bytes_min = tune.bytes_max = 64 << 20;
    list();
    struct tune_case *item = tune.cases;
    const char *first = item->algos[item->predicted].algo->name;
    tune.end = 1;
    gw_costs_among("tcp", 4, &costs, &measured);
    memset(costs.coefficients, 0, sizeof costs.coefficients);
    for (unsigned i = 0; gw_coefficient_name(i, NULL); i++)
        if (strcmp(gw_coefficient_name(i, NULL), "turn_us") == 0)
            costs.coefficients[i] = 1;
    tune_predict(&tune, &costs);
    const struct tune_algo *now = &item->algos[item->predicted];
    ck_assert_str_ne(now->algo->name, first);
    ck_assert_double_eq(now->predicted_us, 1);
}
END_TEST

/* ---- judging: three algorithms, A (the prediction), B and C ---- */

enum { A, B, C, ALGOS };

static const struct gw_algo *algo(unsigned place)
{
    static const char *const names[] = {"ring", "swing", "one_shot"};
    return gw_algo_find(GW_ALLREDUCE, names[place]);
}

/* Case i took a, b and c microseconds in each of four rounds. */
static void took(size_t i, double a, double b, double c)
{
    const double us[ALGOS] = {a, b, c};
    struct tune_case *item = &tune.cases[i];
    item->algo_count = ALGOS;
    item->chosen = item->predicted = A;
    item->rounds = 4;
    for (unsigned k = 0; k < ALGOS; k++) {
        item->algos[k] =
            (struct tune_algo){.algo = algo(k), .predicted_us = 10};
        for (unsigned r = 0; r < 4; r++)
            item->algos[k].us[r] = us[k];
    }
    tune_evaluate(&tune, i);
}

START_TEST(an_entry_needs_more_than_the_noise)
{
    list();
    took(0, 10, 9.8, 20);
    ck_assert_uint_eq(tune.cases[0].best, B);
    ck_assert_int_eq(tune.cases[0].tuned_algo, -1);
    ck_assert_double_eq_tol(tune_regret(&tune.cases[0], A), 10 / 9.8 - 1, 1e-9);
    took(0, 10, 9.6, 20);
    ck_assert_int_eq(tune.cases[0].tuned_algo, B);
    took(0, 10, 20, 30);
    ck_assert_uint_eq(tune.cases[0].best, A);
    ck_assert_int_eq(tune.cases[0].tuned_algo, -1);
}
END_TEST

/* Its median is far lower, but it won only two rounds of four. */
START_TEST(an_entry_needs_most_of_the_rounds)
{
    list();
    took(0, 10, 5, 20);
    struct tune_case *item = &tune.cases[0];
    item->algos[B].us[2] = 11;
    tune_evaluate(&tune, 0);
    ck_assert_int_eq(item->tuned_algo, B);
    item->algos[B].us[3] = 11;
    tune_evaluate(&tune, 0);
    ck_assert_uint_eq(item->best, B);
    ck_assert_int_eq(item->tuned_algo, -1);
}
END_TEST

/* A plan of the user is the fastest, and the rule names the next one. */
START_TEST(no_entry_names_an_added_algorithm)
{
    list();
    took(0, 10, 7, 5);
    struct tune_case *item = &tune.cases[0];
    item->algos[C].added = true;
    tune_evaluate(&tune, 0);
    ck_assert_uint_eq(item->best, C);
    ck_assert_int_eq(item->tuned_algo, B);
    ck_assert_double_eq_tol(tune_regret(item, B), 7.0 / 5 - 1, 1e-9);
    struct tune_summary sum;
    ck_assert_int_eq(tune_sum_up(&tune, 0, &sum, &why), GW_OK);
    ck_assert_double_eq_tol(sum.tuned.worst, 7.0 / 5 - 1, 1e-9);
}
END_TEST

/* C is slightly faster, but B won at the previous size. */
START_TEST(the_winner_before_stays)
{
    list();
    took(0, 10, 5, 20);
    took(1, 10, 5.1, 5);
    ck_assert_uint_eq(tune.cases[1].best, C);
    ck_assert_int_eq(tune.cases[1].tuned_algo, B);
    took(1, 10, 6, 5);
    ck_assert_int_eq(tune.cases[1].tuned_algo, C);
    took(1, 5.1, 5.05, 4.9); /* B does not beat A there */
    ck_assert_int_eq(tune.cases[1].tuned_algo, C);
}
END_TEST

START_TEST(neighbours_share_an_entry)
{
    struct gw_tuning_rule entries[8];
    list(); /* 8 32 128 512 2048 */
    took(0, 10, 8, 20);
    took(1, 10, 5, 20);
    took(2, 10, 8, 20);
    took(3, 10, 10, 20);
    took(4, 10, 20, 5);
    ck_assert_uint_eq(tuning_rules_make(&tune, entries), 3);
    ck_assert_ptr_eq(entries[0].algo, algo(B));
    ck_assert_uint_eq(entries[0].from_bytes, 8);
    ck_assert_uint_eq(entries[0].to_bytes, 256);
    ck_assert_uint_eq(entries[0].bytes, 32); /* where the gain is largest */
    ck_assert_double_eq(entries[0].us, 5);
    ck_assert_double_eq(entries[0].instead_us, 10);
    ck_assert_ptr_eq(entries[0].instead, algo(A));
    ck_assert_ptr_null(entries[1].algo);
    ck_assert_uint_eq(entries[1].from_bytes, 257);
    ck_assert_uint_eq(entries[1].to_bytes, 1024);
    ck_assert_ptr_eq(entries[2].algo, algo(C));
    ck_assert_uint_eq(entries[2].from_bytes, 1025);
    ck_assert_uint_eq(entries[2].to_bytes, 2048);
}
END_TEST

/* Rules for other cases are unchanged. */
START_TEST(only_what_was_measured_has_entries)
{
    struct gw_tuning_rule entries[8];
    list();
    took(0, 10, 5, 20);
    took(2, 10, 5, 20);
    ck_assert_uint_eq(tuning_rules_make(&tune, entries), 2);
    ck_assert_uint_eq(entries[0].to_bytes, 16);
    ck_assert_uint_eq(entries[1].from_bytes, 65);
    ck_assert_uint_eq(entries[1].to_bytes, 256);
}
END_TEST

/* For any ranks and steps, ranges have no gap, and each contains its measured
 * size. */
START_TEST(ranges_hold_their_sizes)
{
    tune.collectives[GW_ALLGATHER] = tune.collectives[GW_BARRIER] = true;
    tune.ranks[0] = (unsigned)_i;
    tune.bytes_max = 1 << 20;
    for (tune.factor = 2; tune.factor < 7; tune.factor++) {
        struct gw_tuning_rule entries[256];
        list();
        ck_assert_uint_le(tune.case_count, 256);
        for (size_t i = 0; i < tune.case_count; i++)
            took(i, 10, i % 2 ? 5 : 20, 20); /* all neighbours differ */
        for (size_t i = 0; i < tune.case_count; i++)
            if (tune.cases[i].collective == GW_BARRIER)
                ck_assert_uint_eq(tune.cases[i].bytes, 0);
        size_t count = tuning_rules_make(&tune, entries);
        ck_assert_uint_eq(count, tune.case_count);
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_le(entries[i].from_bytes, tune.cases[i].bytes);
            ck_assert_uint_ge(entries[i].to_bytes, tune.cases[i].bytes);
            if (i > 0 && entries[i].collective == entries[i - 1].collective)
                ck_assert_uint_eq(entries[i].from_bytes,
                                  entries[i - 1].to_bytes + 1);
        }
    }
}
END_TEST

START_TEST(the_summary)
{
    struct tune_summary sum;
    list();
    ck_assert_int_eq(tune_sum_up(&tune, 0, &sum, &why), GW_OK);
    ck_assert_uint_eq(sum.cases, 0);
    ck_assert(isnan(sum.regret.worst));
    took(0, 10, 5, 20); /* regret 1 */
    took(1, 10, 9.9, 20);
    took(2, 10, 40, 20);
    ck_assert_int_eq(tune_sum_up(&tune, 0, &sum, &why), GW_OK);
    ck_assert_uint_eq(sum.cases, 3);
    ck_assert_uint_eq(sum.runs, 4);
    ck_assert_double_eq(sum.regret.worst, 1);
    ck_assert_double_eq_tol(sum.regret.median, 10 / 9.9 - 1, 1e-9);
    ck_assert_double_eq_tol(sum.tuned.worst, 10 / 9.9 - 1, 1e-9);
    ck_assert_double_eq(sum.tuned.median, 0);
    /* 10 predicted: off by 0 (3), 1/99, 0.5 (3), 0.75, 1 */
    ck_assert_double_eq_tol(sum.error.median, 0.5, 1e-9);
    ck_assert_double_eq_tol(sum.error.p95, 1, 1e-9);
}
END_TEST

/* Ten algorithms that differ by chance only. The rounds that select the best
 * are not those that judge it, so the mean regret is zero. Judged by the
 * selecting rounds it would win by far. */
START_TEST(luck_is_no_regret)
{
    enum { EQUALS = 10, ITEMS = 200 };
    uint64_t state = 1;
    double sum = 0, lucky = 0;
    struct tune_case item = {
        .algo_count = EQUALS, .rounds = 9, .tuned_algo = -1};
    for (unsigned i = 0; i < ITEMS; i++) {
        for (unsigned a = 0; a < EQUALS; a++) {
            item.algos[a].algo = algo(a % ALGOS);
            for (unsigned k = 0; k < item.rounds; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                item.algos[a].us[k] = 10 + (double)(state >> 60) / 8;
            }
        }
        double best = (double)INFINITY;
        for (unsigned a = 0; a < EQUALS; a++)
            best = fmin(best, tune_median(&item, a, 0, 1));
        lucky += tune_median(&item, 0, 0, 1) / best - 1;
        sum += tune_regret(&item, 0);
    }
    ck_assert_double_gt(lucky / ITEMS, 0.02);
    ck_assert_double_lt(fabs(sum / ITEMS), 0.005);
}
END_TEST

Suite *suite_tune(void)
{
    Suite *suite = suite_create("tune");
    TCase *cases = tcase_create("tune_cases");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, sizes_go_up_and_the_last_is_there);
    tcase_add_test(cases, a_case_lists_what_could_win);
    tcase_add_test(cases, all_lists_every_algorithm);
    tcase_add_test(cases, words_list_the_algorithms);
    tcase_add_test(cases, cases_are_by_ranks_then_collective);
    tcase_add_test(cases, new_prices_predict_the_cases_of_their_ranks);
    tcase_add_test(cases, the_cheapest_by_new_prices_is_predicted);
    suite_add_tcase(suite, cases);
    TCase *verdicts = tcase_create("tune_evaluate");
    tcase_add_checked_fixture(verdicts, begin, end);
    tcase_add_test(verdicts, an_entry_needs_more_than_the_noise);
    tcase_add_test(verdicts, an_entry_needs_most_of_the_rounds);
    tcase_add_test(verdicts, no_entry_names_an_added_algorithm);
    tcase_add_test(verdicts, the_winner_before_stays);
    tcase_add_test(verdicts, neighbours_share_an_entry);
    tcase_add_test(verdicts, only_what_was_measured_has_entries);
    tcase_add_loop_test(verdicts, ranges_hold_their_sizes, 2, 9);
    tcase_add_test(verdicts, the_summary);
    tcase_add_test(verdicts, luck_is_no_regret);
    suite_add_tcase(suite, verdicts);
    return suite;
}
