/* SPDX-License-Identifier: MIT
 *
 * Sparse linear models over tables, and the code common to all tasks: items,
 * evaluation in chunks, tables in this process.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_task_lr(void);

enum { SEED = 5, ROWS = 300, FEATURES = 20 };

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

/* Rows of few features, which determine the labels except for some noise. */
static size_t make_rows(char *text, size_t room, uint64_t seed, unsigned spread)
{
    size_t used = 0;
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (int row = 0; row < ROWS; row++) {
        bool label = gw_rng_below(&rng, 2);
        used += (size_t)snprintf(text + used, room - used, "%d", label);
        for (unsigned j = 0; j < FEATURES; j++) {
            double value = gw_rng_unit(&rng) - 0.5 + (j % 2 == label ? 0.3 : 0);
            if (gw_rng_below(&rng, 4) == 0)
                used += (size_t)snprintf(text + used, room - used, " %u:%.4f",
                                         (j + 1) * spread, value);
        }
        used += (size_t)snprintf(text + used, room - used, "\n");
    }
    ck_assert_uint_lt(used + 1, room);
    return used;
}

static void configure_spread(unsigned spread)
{
    static char text[ROWS * FEATURES * 20];
    size_t used = make_rows(text, sizeof text, SEED, spread);
    ck_assert_int_eq(gw_task_defaults("lr", &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, used);
    used = make_rows(text, sizeof text, SEED + 1, spread);
    run.config.test = task_file(&run, 1, text, used);
    run.config.batch = 32;
}

static void configure(void)
{
    configure_spread(1);
}

START_TEST(gradients_are_slopes)
{
    configure();
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    for (unsigned part = 0; part < 3; part++) {
        task_pull(&run, &(struct gw_work_item_id){1, 9, part, 3});
        task_expect_slopes(&run, 300 - 9 * 32, 1e-4);
    }
}
END_TEST

START_TEST(parts_add_up)
{
    configure();
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    for (unsigned parts = 1; parts <= 40; parts += 3)
        task_expect_parts(&run, parts % 10, parts);
}
END_TEST

/* Features far apart are hashed instead of marked, to the same bits. */
START_TEST(far_features_change_nothing)
{
    configure();
    task_begin(&run);
    struct gw_task_score close_score = task_train(&run, 0, 3, 4);
    task_clean(&run);
    configure_spread(1 << 24);
    task_begin(&run);
    task_expect_parts(&run, 2, 3);
    struct gw_task_score far = task_train(&run, 0, 3, 4);
    ck_assert_mem_eq(&close_score, &far, sizeof close_score);
}
END_TEST

START_TEST(every_updater_learns)
{
    static const enum gw_ps_updater updaters[] = {
        GW_PS_SGD, GW_PS_MOMENTUM, GW_PS_ADAGRAD, GW_PS_ADAM, GW_PS_FTRL};
    for (size_t i = 0; i < sizeof updaters / sizeof *updaters; i++) {
        configure();
        ck_assert_int_eq(
            gw_task_choose_updater(&run.config, updaters[i], &run.why), GW_OK);
        task_begin(&run);
        struct gw_task_score before = task_score(&run, GW_TASK_TEST, 0);
        ck_assert_double_eq_tol(before.loss, log(2), 1e-12);
        task_train(&run, 0, 10, 2);
        struct gw_task_score after = task_score(&run, GW_TASK_TEST, 10);
        ck_assert_uint_eq(after.samples, ROWS);
        ck_assert_msg(after.loss < 0.62 && after.quality > 0.68,
                      "%s: loss %g, accuracy %g",
                      gw_ps_updater_name(updaters[i]), after.loss,
                      after.quality);
        task_clean(&run);
    }
}
END_TEST

/* An l1 leaves weights at zero. */
START_TEST(ftrl_is_sparse)
{
    enum { KEYS = FEATURES + 1 };
    uint64_t keys[KEYS];
    float weights[KEYS];
    size_t zeros[2] = {0, 0};
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = i;
    for (int penalised = 0; penalised < 2; penalised++) {
        configure();
        run.config.l1 = penalised ? 0.5f : 0;
        task_begin(&run);
        task_train(&run, 0, 2, 1);
        gw_table_store_pull(run.store, 0, keys, KEYS, weights);
        for (size_t i = 0; i < KEYS; i++)
            zeros[penalised] += fpclassify(weights[i]) == FP_ZERO;
        task_clean(&run);
    }
    ck_assert_uint_eq(zeros[0], 0);
    ck_assert_uint_gt(zeros[1], KEYS / 4);
}
END_TEST

START_TEST(the_seed_decides)
{
    configure();
    task_expect_seed(&run, 2, 3);
}
END_TEST

/* Sums of the train set are those of its batches, at the same weights. */
START_TEST(evaluation_is_the_sum_of_its_parts)
{
    configure();
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    struct gw_sample_sums total = {0};
    for (size_t b = 0; b < gw_task_batches(run.task); b++) {
        task_pull(&run, &(struct gw_work_item_id){3, b, 0, 1});
        struct gw_sample_sums sums = task_compute(&run, false);
        gw_sample_sums_add(&total, &sums);
    }
    struct gw_task_score part_scores = gw_task_compute_score(run.task, &total);
    struct gw_task_score whole = task_score(&run, GW_TASK_TRAIN, 1);
    ck_assert_uint_eq(part_scores.samples, whole.samples);
    ck_assert_double_eq_tol(part_scores.loss, whole.loss, 1e-12);
    ck_assert_double_eq_tol(part_scores.quality, whole.quality, 1e-12);
}
END_TEST

START_TEST(wrong_places_are_refused)
{
    configure();
    task_begin(&run);
    struct gw_work_item_id wrong[] = {
        {0, 10, 0, 1}, {0, UINT64_MAX, 0, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(gw_work_item_prepare(run.item, &wrong[i], &run.why),
                         GW_EINVAL);
    task_pull(&run, &(struct gw_work_item_id){0, 9, 0, 1});
    ck_assert_uint_eq(task_compute(&run, true).rows, 300 - 9 * 32);
}
END_TEST

/* ---- regression ---- */

/* Targets are a sum over every third feature, and some noise: with many rows
 * there are more distinct targets than allowed classes. */
static size_t make_targets(char *text, size_t room, uint64_t seed)
{
    size_t used = 0;
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (int row = 0; row < ROWS; row++) {
        char entries[FEATURES * 20];
        size_t length = 0;
        double target = 2 + 0.1 * (gw_rng_unit(&rng) - 0.5);
        for (unsigned j = 0; j < FEATURES; j++) {
            double value = gw_rng_unit(&rng) - 0.5;
            length +=
                (size_t)snprintf(entries + length, sizeof entries - length,
                                 " %u:%.4f", (j + 1) * 100000, value);
            target += j % 3 == 0 ? value : 0;
        }
        used += (size_t)snprintf(text + used, room - used, "%.6f%s\n", target,
                                 entries);
    }
    ck_assert_uint_lt(used + 1, room);
    return used;
}

static void configure_linear(void)
{
    static char text[ROWS * FEATURES * 22];
    size_t used = make_targets(text, sizeof text, SEED);
    ck_assert_int_eq(gw_task_defaults("linear", &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, used);
    used = make_targets(text, sizeof text, SEED + 1);
    run.config.test = task_file(&run, 1, text, used);
    run.config.batch = 32;
}

/* There may be more of them than classes. */
START_TEST(targets_are_numbers)
{
    enum { TARGETS = GW_CLASSES_MAX + 2, LINE = 24 };
    char *text = malloc((size_t)TARGETS * LINE);
    struct gw_dataset *data, *test;
    size_t used = 0, ignored;
    for (int i = 0; i < TARGETS; i++)
        used += (size_t)snprintf(text + used, LINE, "%d.25 3:1 9:1\n", i);
    const char *path = task_file(&run, 0, text, used);
    free(text);
    ck_assert(!gw_libsvm_load_targets(path, GW_BASE_1, &data, &run.why) &&
              !gw_libsvm_load_targets(path, GW_BASE_1, &test, &run.why));
    ck_assert_uint_eq(data->rows, TARGETS);
    ck_assert_uint_eq(data->class_count, 0);
    for (int i = 0; i < TARGETS; i++)
        ck_assert_double_eq(data->target[i], i + 0.25);
    data->features = 3;
    ck_assert_int_eq(gw_dataset_match(test, data, &ignored, &run.why), GW_OK);
    ck_assert_uint_eq(ignored, TARGETS);
    ck_assert_double_eq(test->target[8], 8.25);
    gw_dataset_destroy(&data);
    gw_dataset_destroy(&test);
}
END_TEST

START_TEST(regression_keeps_every_promise)
{
    configure_linear();
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    task_pull(&run, &(struct gw_work_item_id){1, 9, 1, 3});
    task_expect_slopes(&run, 300 - 9 * 32, 1e-3);
    task_expect_parts(&run, 4, 5);
    task_end(&run);
    task_expect_seed(&run, 2, 3);
}
END_TEST

START_TEST(regression_finds_the_targets)
{
    static const enum gw_ps_updater updaters[] = {
        GW_PS_SGD, GW_PS_MOMENTUM, GW_PS_ADAGRAD, GW_PS_ADAM, GW_PS_FTRL};
    for (size_t i = 0; i < sizeof updaters / sizeof *updaters; i++) {
        configure_linear();
        ck_assert_int_eq(
            gw_task_choose_updater(&run.config, updaters[i], &run.why), GW_OK);
        task_begin(&run);
        struct gw_task_score before = task_score(&run, GW_TASK_TEST, 0);
        ck_assert_double_eq_tol(before.quality, 2.13, 0.05);
        task_train(&run, 0, 60, 2);
        struct gw_task_score after = task_score(&run, GW_TASK_TEST, 60);
        ck_assert_msg(after.quality < 0.25, "%s: rmse %g",
                      gw_ps_updater_name(updaters[i]), after.quality);
        task_clean(&run);
    }
}
END_TEST

static void expect_file_refused(const char *text, enum gw_err code,
                                const char *sentence)
{
    task_clean(&run);
    ck_assert_int_eq(gw_task_defaults("lr", &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, strlen(text));
    task_expect_refused(&run, code, sentence);
}

START_TEST(bad_input_is_refused)
{
    ck_assert_int_eq(gw_task_defaults("knn", &run.config, &run.why), GW_EINVAL);
    expect_file_refused("", GW_EDATA, run.path[0]);
    expect_file_refused("1 1:1\n1 2:1\n", GW_EDATA, "two labels");
    expect_file_refused("1 1:1\n2 2:1\n3 1:1\n", GW_EDATA, "two labels");
    expect_file_refused("1 1:1\n2 x\n", GW_EDATA, ":2:");
    configure();
    run.config.updater = GW_PS_ADD;
    task_expect_refused(&run, GW_EINVAL, "updater add");
    run.config.updater = GW_PS_SGD;
    run.config.rate = NAN;
    task_expect_refused(&run, GW_EINVAL, "rate");
    run.config.rate = 1;
    run.config.group = GW_PS_GROUPS_MAX;
    task_expect_refused(&run, GW_EINVAL, "group");
    run.config.group = 0;
    run.config.test = "/nowhere/to/be.found";
    task_expect_refused(&run, GW_EDATA, run.config.test);
    run.config.train = NULL;
    task_expect_refused(&run, GW_EINVAL, "the training file is missing");
}
END_TEST

/* ---- tables in this process ---- */

START_TEST(pushes_of_a_batch_are_one_update)
{
    const struct gw_ps_table_config table = {.name = "t",
                                             .width = 2,
                                             .updater = GW_PS_ADAGRAD,
                                             .rate = 1,
                                             .epsilon = 1e-8f};
    const uint64_t keys[] = {7, 1000000000000}, other = 9;
    const float first[] = {1, 2, 3, 4}, second[] = {10, 20};
    float is[6];
    struct gw_table_store *store;
    ck_assert_int_eq(gw_table_store_new(&table, 1, &store, &run.why), GW_OK);
    ck_assert_int_eq(gw_table_store_push(store, 0, keys, 2, first, &run.why),
                     GW_OK);
    ck_assert_int_eq(gw_table_store_push(store, 0, keys, 1, second, &run.why),
                     GW_OK);
    gw_table_store_pull(store, 0, keys, 2, is);
    for (int i = 0; i < 4; i++)
        task_expect_close(is[i], 0, 1e-30); /* not before the step */
    gw_table_store_step(store);
    gw_table_store_step(store); /* there is nothing left to apply */
    gw_table_store_pull(store, 0, keys, 2, is);
    gw_table_store_pull(store, 0, &other, 1, is + 4);
    for (int i = 0; i < 6; i++) /* each first step of AdaGrad has the rate */
        task_expect_close(is[i], i < 4 ? -1.0f : 0.0f, 1e-6);
    ck_assert_uint_eq(gw_table_store_rows(store, 0), 2);
    gw_table_store_destroy(&store);
}
END_TEST

START_TEST(tables_that_make_no_sense)
{
    struct gw_ps_table_config table = {.name = "t", .width = 0};
    struct gw_table_store *store;
    ck_assert_int_eq(gw_table_store_new(&table, 1, &store, &run.why),
                     GW_EINVAL);
    ck_assert_ptr_null(store);
    table.width = 1;
    table.updater = GW_PS_CALLBACK;
    ck_assert_int_eq(gw_table_store_new(&table, 1, &store, &run.why),
                     GW_EINVAL);
}
END_TEST

Suite *suite_task_lr(void)
{
    Suite *suite = suite_create("task_lr");
    TCase *c = tcase_create("task_lr");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, gradients_are_slopes);
    tcase_add_test(c, parts_add_up);
    tcase_add_test(c, far_features_change_nothing);
    tcase_add_test(c, every_updater_learns);
    tcase_add_test(c, ftrl_is_sparse);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, evaluation_is_the_sum_of_its_parts);
    tcase_add_test(c, wrong_places_are_refused);
    tcase_add_test(c, targets_are_numbers);
    tcase_add_test(c, regression_keeps_every_promise);
    tcase_add_test(c, regression_finds_the_targets);
    tcase_add_test(c, bad_input_is_refused);
    tcase_add_test(c, pushes_of_a_batch_are_one_update);
    tcase_add_test(c, tables_that_make_no_sense);
    suite_add_tcase(suite, c);
    return suite;
}
