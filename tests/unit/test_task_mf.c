/* SPDX-License-Identifier: MIT
 *
 * Matrix factorisation finds the true factors of generated ratings, except for
 * their noise.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *suite_task_mf(void);

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

static void configure(void)
{
    ck_assert_int_eq(gw_task_defaults("mf", &run.config, &run.why), GW_OK);
    run.config.seed = 3;
    run.config.batch = 200;
    run.config.mf.users = 60;
    run.config.mf.items = 40;
    run.config.mf.rank = 3;
    run.config.mf.ratings = 3000;
    run.config.mf.noise = 0.1;
}

/* Without l2, which is not part of the reported loss. */
START_TEST(gradients_are_slopes)
{
    configure();
    run.config.l2 = 0;
    run.config.batch = 25;
    task_begin(&run);
    task_train(&run, 0, 2, 1);
    task_pull(&run, &(struct gw_work_item_id){2, 3, 0, 2});
    task_expect_slopes(&run, 1, 1e-3);
}
END_TEST

START_TEST(l2_pulls_to_zero)
{
    float without[2000];
    configure();
    run.config.batch = 1;
    run.config.l2 = 0;
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    task_compute(&run, true);
    for (int k = 0; k < 4; k++)
        without[k] = run.gradients[0][k];
    task_end(&run);
    run.config.l2 = 0.5f;
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    task_compute(&run, true);
    for (int k = 0; k < 4; k++)
        task_expect_close(run.gradients[0][k],
                          without[k] + 0.5f * run.rows[0][k], 1e-6);
}
END_TEST

START_TEST(parts_add_up)
{
    configure();
    task_begin(&run);
    for (unsigned parts = 2; parts < 12; parts += 3)
        task_expect_parts(&run, parts, parts);
    run.config.batch = 3;
    task_end(&run);
    task_begin(&run);
    task_expect_parts(&run, 999, 7); /* some parts are empty */
}
END_TEST

/* 3000 ratings determine 400 numbers: the error on other ratings is slightly
 * above the noise, and far below that of the mean. */
START_TEST(it_finds_the_truth)
{
    configure();
    task_begin(&run);
    struct gw_task_score before = task_score(&run, GW_TASK_TEST, 0);
    ck_assert_double_gt(before.quality, 1);
    task_train(&run, 0, 60, 4);
    struct gw_task_score train = task_score(&run, GW_TASK_TRAIN, 60);
    struct gw_task_score test = task_score(&run, GW_TASK_TEST, 60);
    ck_assert_uint_eq(train.samples, 3000);
    ck_assert_uint_eq(test.samples, 300);
    ck_assert_msg(train.quality < 0.11 && test.quality < 0.13,
                  "rmse %g and %g on others", train.quality, test.quality);
    ck_assert_double_gt(test.quality, 0.08);
    ck_assert_double_eq_tol(test.loss, test.quality * test.quality / 2, 1e-12);
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
    run.config.mf.rank = 0;
    task_expect_refused(&run, GW_EINVAL, "rank 0");
    configure();
    run.config.mf.users = 0;
    task_expect_refused(&run, GW_EINVAL, "0 users");
    configure();
    run.config.mf.ratings = 0;
    task_expect_refused(&run, GW_EINVAL, "0 ratings");
    configure();
    run.config.mf.noise = (double)NAN;
    task_expect_refused(&run, GW_EINVAL, "noise");
    configure();
    run.config.train = "/no/such/ratings.csv";
    task_expect_refused(&run, GW_EDATA, "No such file");
    configure();
    run.config.test = "ratings.csv";
    task_expect_refused(&run, GW_EINVAL, "a test set needs");
    configure();
    run.config.updater = GW_PS_FTRL;
    task_expect_refused(&run, GW_EINVAL, "ftrl");
}
END_TEST

/* ---- from a file ---- */

/* User u likes item i if both are odd or both even; ids are far apart. */
static void configure_file(const char *model, const char *between,
                           const char *behind)
{
    static char text[200000];
    size_t used = (size_t)sprintf(text, "user,item,value\n");
    struct gw_rng rng;
    gw_rng_seed(&rng, 4);
    for (int i = 0; i < 2000; i++) {
        unsigned user = (unsigned)gw_rng_below(&rng, 30);
        unsigned item = (unsigned)gw_rng_below(&rng, 20);
        bool likes = user % 2 == item % 2;
        bool odd = gw_rng_below(&rng, 20) == 0;
        used += (size_t)sprintf(text + used, "%u%s%u%s%d%s\n", user * 1000003U,
                                between, item * 77777U + 5, between,
                                likes != odd, behind);
    }
    ck_assert_int_eq(gw_task_defaults(model, &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, used);
    run.config.batch = 50;
    run.config.mf.rank = 3;
}

START_TEST(ratings_come_from_a_file)
{
    static const char *const forms[][2] = {
        {",", ".5,964982703"}, {"\t", ".5\r"}, {"::", ".5::964982703"}};
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        configure_file("mf", forms[i][0], forms[i][1]);
        task_begin(&run);
        ck_assert_uint_gt(gw_task_rows(run.task), 1700);
        ck_assert_uint_lt(gw_task_rows(run.task), 1900);
        task_train(&run, 0, 30, 2);
        struct gw_task_score score = task_score(&run, GW_TASK_TEST, 30);
        ck_assert_uint_eq(gw_task_rows(run.task) + score.samples, 2000);
        ck_assert_double_lt(score.quality, 0.3);
        digests[i] = gw_table_store_digest(run.store);
        ck_assert_uint_eq(digests[i], digests[0]);
        task_clean(&run);
    }
}
END_TEST

START_TEST(clicks_are_a_logistic_model)
{
    configure_file("ctr", " ", "");
    run.config.l2 = 0;
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    task_pull(&run, &(struct gw_work_item_id){1, 3, 0, 2});
    task_expect_slopes(&run, 1, 1e-3);
    task_expect_parts(&run, 2, 5);
    task_end(&run);
    task_expect_seed(&run, 1, 3);
    for (unsigned u = 0; u < GW_PS_UPDATERS; u++) {
        if (gw_task_choose_updater(&run.config, (enum gw_ps_updater)u,
                                   &run.why) ||
            u == GW_PS_CALLBACK)
            continue;
        task_begin(&run);
        task_train(&run, 0, 30, 2);
        struct gw_task_score score = task_score(&run, GW_TASK_TEST, 30);
        ck_assert_msg(score.quality > 0.88 && score.loss < 0.4,
                      "%s: accuracy %g, loss %g",
                      gw_ps_updater_name((enum gw_ps_updater)u), score.quality,
                      score.loss);
        task_end(&run);
    }
}
END_TEST

static void expect_file_refused(const char *model, const char *text,
                                const char *sentence)
{
    ck_assert_int_eq(gw_task_defaults(model, &run.config, &run.why), GW_OK);
    run.config.train = task_file(&run, 0, text, strlen(text));
    task_expect_refused(&run, GW_EDATA, sentence);
}

START_TEST(bad_files_are_refused)
{
    expect_file_refused("mf", "", "the file has no rating");
    expect_file_refused("mf", "user item\n# none\n", "the file has no rating");
    expect_file_refused("mf", "1 2 3\n1 2\n", ":2: expected a user");
    expect_file_refused("mf", "1 2 3\nuser item 4\n", ":2: expected a user");
    expect_file_refused("mf", "1 -2 3\n", ":1: expected a user");
    expect_file_refused("mf", "1 2 3x\n", ":1: expected a user");
    expect_file_refused("mf", "1 2 1e99\n", ":1: expected a user");
    expect_file_refused("mf", "99999999999999999999 2 1\n", ":1: expected");
    expect_file_refused("ctr", "1 2 1\n2 2 0\n1 1 0.5\n", "not 0.5");
    run.config.train = NULL;
    task_expect_refused(&run, GW_EINVAL, "the training file is missing");
}
END_TEST

Suite *suite_task_mf(void)
{
    Suite *suite = suite_create("task_mf");
    TCase *c = tcase_create("task_mf");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, gradients_are_slopes);
    tcase_add_test(c, l2_pulls_to_zero);
    tcase_add_test(c, parts_add_up);
    tcase_add_test(c, it_finds_the_truth);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, bad_configs_are_refused);
    tcase_add_test(c, ratings_come_from_a_file);
    tcase_add_test(c, clicks_are_a_logistic_model);
    tcase_add_test(c, bad_files_are_refused);
    suite_add_tcase(suite, c);
    return suite;
}
