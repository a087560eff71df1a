/* SPDX-License-Identifier: MIT
 *
 * Threads that write the rows of one item without locks (learn/unlocked.h): all
 * samples are computed once, every update of a row is counted, and lost updates
 * show. Where none is lost, the gradients are those of one thread.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_unlocked(void);

enum { RATINGS = 20000, RANK = 3, THREADS = 3, BATCHES_MAX = 3000 };

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

/* Few rows, which all threads update. */
static void configure(void)
{
    ck_assert_int_eq(gw_task_defaults("mf", &run.config, &run.why), GW_OK);
    run.config.batch = RATINGS;
    run.config.mf.users = 2;
    run.config.mf.items = 2;
    run.config.mf.rank = RANK;
    run.config.mf.ratings = RATINGS;
}

static struct gw_sample_sums compute_with(unsigned threads)
{
    ck_assert_int_eq(gw_work_item_set_threads(run.item, threads, &run.why),
                     GW_OK);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    return task_compute(&run, true);
}

/* ---- counters ---- */

START_TEST(one_thread_shares_nothing)
{
    float before[2 * (RANK + 1)];
    configure();
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    task_compute(&run, true);
    memcpy(before, run.gradients[0], sizeof before);
    struct gw_sample_sums sums = compute_with(1);
    ck_assert_uint_eq(sums.row_writes, 0);
    ck_assert_uint_eq(sums.row_writes_lost, 0);
    ck_assert(memcmp(before, run.gradients[0], sizeof before) == 0);
}
END_TEST

/* The largest difference of a gradient, relative to the largest gradient. */
static double difference(const float *a, const float *b, size_t count)
{
    double most = 0, apart = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)a[i]));
        apart = fmax(apart, fabs((double)a[i] - (double)b[i]));
    }
    return apart / most;
}

START_TEST(what_is_lost_is_counted)
{
    enum { FLOATS = 2 * (RANK + 1) };
    float alone[FLOATS];
    uint64_t lost = 0, whole = 0;
    configure();
    task_begin(&run);
    struct gw_sample_sums one = compute_with(1);
    memcpy(alone, run.gradients[0], sizeof alone);
    ck_assert_int_eq(gw_work_item_set_threads(run.item, THREADS, &run.why),
                     GW_OK);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    for (unsigned i = 0; i < BATCHES_MAX && lost == 0; i++) {
        struct gw_sample_sums sums = task_compute(&run, true);
        ck_assert_uint_eq(sums.samples, RATINGS);
        ck_assert_uint_eq(sums.row_writes, 2 * RATINGS);
        ck_assert_uint_le(sums.row_writes_lost, 2 * RATINGS);
        ck_assert_double_eq_tol(sums.loss, one.loss, 1e-6 * one.loss);
        if (sums.row_writes_lost == 0)
            ck_assert_double_lt(difference(alone, run.gradients[0], FLOATS),
                                1e-3);
        whole += sums.row_writes_lost == 0;
        lost += sums.row_writes_lost;
    }
    ck_assert_msg(lost > 0, "nothing was lost in %llu items of %d threads",
                  (unsigned long long)whole, THREADS);
}
END_TEST

/* ---- the models ---- */

/* Ten features in each row, and the bias. */
START_TEST(rows_of_features_are_counted)
{
    static const char row[] = "1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1\n"
                              "0 1:2 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1\n";
    enum { PAIRS = 500 };
    size_t bytes = sizeof row - 1;
    char *text = malloc(PAIRS * bytes);
    for (unsigned i = 0; i < PAIRS; i++)
        memcpy(text + i * bytes, row, bytes);
    ck_assert_int_eq(gw_task_defaults("lr", &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, PAIRS * bytes);
    run.config.batch = 2 * PAIRS;
    free(text);
    task_begin(&run);
    struct gw_sample_sums one = compute_with(1), many = compute_with(THREADS);
    ck_assert_uint_eq(many.samples, 2 * PAIRS);
    ck_assert_uint_eq(many.right, one.right);
    ck_assert_double_eq_tol(many.loss, one.loss, 1e-9 * one.loss);
    ck_assert_uint_eq(many.row_writes, 2 * PAIRS * (1 + 10));
    task_score(&run, GW_TASK_TRAIN, 0); /* no writes */
}
END_TEST

/* A pair writes one row of "in", and one of "out" per target. */
START_TEST(pairs_of_words_are_counted)
{
    char text[6 * 1000];
    for (unsigned i = 0; i < 1000; i++)
        memcpy(text + i * 6, i % 3 ? "apple " : "pears ", 6);
    ck_assert_int_eq(gw_task_defaults("word2vec", &run.config, &run.why),
                     GW_OK);
    run.config.train = task_file(&run, 0, text, sizeof text);
    run.config.batch = 1000;
    run.config.words.subsample = 0;
    run.config.words.negatives = 2;
    task_begin(&run);
    struct gw_sample_sums one = compute_with(1), many = compute_with(THREADS);
    ck_assert_uint_eq(many.samples, one.samples);
    ck_assert_uint_ge(many.row_writes, 2 * many.samples);
    ck_assert_uint_le(many.row_writes, 4 * many.samples);
}
END_TEST

START_TEST(where_it_cannot_act_it_is_refused)
{
    ck_assert(gw_task_shares_rows(GW_TASK_LR));
    ck_assert(gw_task_shares_rows(GW_TASK_WORD2VEC));
    ck_assert(!gw_task_shares_rows(GW_TASK_CARTPOLE));
    ck_assert_int_eq(gw_task_defaults("drift", &run.config, &run.why), GW_OK);
    task_begin(&run);
    ck_assert_int_eq(gw_work_item_set_threads(run.item, 2, &run.why),
                     GW_ENOTSUP);
    ck_assert_ptr_nonnull(
        strstr(run.why.text, "drift does not support several threads"));
    task_end(&run);
    configure();
    task_begin(&run);
    ck_assert_int_eq(gw_work_item_set_threads(run.item, 0, &run.why),
                     GW_EINVAL);
    ck_assert_int_eq(gw_work_item_set_threads(run.item, 65, &run.why),
                     GW_EINVAL);
    ck_assert_uint_eq(compute_with(1).samples, RATINGS);
}
END_TEST

Suite *suite_unlocked(void)
{
    Suite *suite = suite_create("unlocked");
    TCase *c = tcase_create("unlocked");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, one_thread_shares_nothing);
    tcase_add_test(c, what_is_lost_is_counted);
    tcase_add_test(c, rows_of_features_are_counted);
    tcase_add_test(c, pairs_of_words_are_counted);
    tcase_add_test(c, where_it_cannot_act_it_is_refused);
    suite_add_tcase(suite, c);
    return suite;
}
