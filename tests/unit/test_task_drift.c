/* SPDX-License-Identifier: MIT
 *
 * A stream whose true model moves: a learner that continues follows it, and one
 * that stops is soon as wrong as an untrained one.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>

Suite *suite_task_drift(void);

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

static void configure(void)
{
    ck_assert_int_eq(gw_task_defaults("drift", &run.config, &run.why), GW_OK);
    run.config.batch = 20;
    run.config.drift.features = 8;
    run.config.drift.rows = 2000;
    run.config.drift.noise = 0.1;
    run.config.drift.period = 20000;
}

START_TEST(gradients_are_slopes)
{
    configure();
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){7, 3, 1, 3});
    task_expect_slopes(&run, 20, 1e-4);
}
END_TEST

START_TEST(parts_add_up)
{
    configure();
    task_begin(&run);
    for (unsigned parts = 1; parts < 30; parts += 4)
        task_expect_parts(&run, parts, parts);
}
END_TEST

START_TEST(who_learns_follows)
{
    configure();
    task_begin(&run);
    struct gw_task_score before = task_score(&run, GW_TASK_TEST, 0);
    ck_assert_double_gt(before.quality, 1);
    task_train(&run, 0, 1, 2);
    for (uint64_t epoch = 1; epoch < 20; epoch++) {
        struct gw_task_score score = task_train(&run, epoch, epoch + 1, 2);
        ck_assert_msg(score.quality < 0.2 && score.quality > 0.1,
                      "epoch %d: rmse %g", (int)epoch, score.quality);
    }
    /* Its model fits the present, not half a period later. */
    ck_assert_double_lt(task_score(&run, GW_TASK_TRAIN, 20).quality, 0.5);
    ck_assert_double_lt(task_score(&run, GW_TASK_TEST, 20).quality, 0.8);
    ck_assert_double_gt(task_score(&run, GW_TASK_TEST, 25).quality, 2);
}
END_TEST

/* A row is the same for every worker and in every batch. */
START_TEST(rows_belong_to_the_stream)
{
    configure();
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){1, 5, 0, 1});
    double loss = task_compute(&run, false).loss;
    task_end(&run);
    run.config.batch = 100;
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){1, 1, 0, 5});
    ck_assert_double_eq_tol(task_compute(&run, false).loss, loss, 1e-12);
    task_pull(&run, &(struct gw_work_item_id){2, 1, 0, 5});
    ck_assert_double_gt(fabs(task_compute(&run, false).loss - loss), 1e-3);
}
END_TEST

START_TEST(the_seed_decides)
{
    configure();
    task_expect_seed(&run, 1, 3);
}
END_TEST

START_TEST(bad_configs_are_refused)
{
    configure();
    run.config.drift.features = 0;
    task_expect_refused(&run, GW_EINVAL, "0 features");
    configure();
    run.config.drift.rows = 0;
    task_expect_refused(&run, GW_EINVAL, "0 rows");
    configure();
    run.config.drift.period = 0;
    task_expect_refused(&run, GW_EINVAL, "period 0");
    configure();
    run.config.drift.noise = -1;
    task_expect_refused(&run, GW_EINVAL, "noise -1");
    configure();
    run.config.test = "stream.txt";
    task_expect_refused(&run, GW_EINVAL, "makes its own data; give no file");
}
END_TEST

Suite *suite_task_drift(void)
{
    Suite *suite = suite_create("task_drift");
    TCase *c = tcase_create("task_drift");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, gradients_are_slopes);
    tcase_add_test(c, parts_add_up);
    tcase_add_test(c, who_learns_follows);
    tcase_add_test(c, rows_belong_to_the_stream);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, bad_configs_are_refused);
    suite_add_tcase(suite, c);
    return suite;
}
