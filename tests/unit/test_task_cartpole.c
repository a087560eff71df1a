/* SPDX-License-Identifier: MIT
 *
 * Reinforcement learning as a task: it learns, and a batch's gradient has the
 * same bits for any number of shares and any order of the sum.
 */
#include "task_run.h"

#include <check.h>
#include <string.h>

Suite *suite_task_cartpole(void);

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

static void configure(void)
{
    ck_assert_int_eq(gw_task_defaults("cartpole", &run.config, &run.why),
                     GW_OK);
}

START_TEST(it_learns)
{
    configure();
    task_begin(&run);
    double before = task_score(&run, GW_TASK_TEST, 0).quality;
    ck_assert_double_gt(before, 8);
    ck_assert_double_lt(before, 80);
    task_train(&run, 0, 3, 2);
    ck_assert_double_gt(task_score(&run, GW_TASK_TEST, 3).quality, 150);
    ck_assert_double_gt(task_score(&run, GW_TASK_TRAIN, 3).quality, 150);
}
END_TEST

/* The parts of batch 3, the last ones first. */
static void add_parts(unsigned parts, float *sum, size_t floats)
{
    memset(sum, 0, floats * sizeof *sum);
    for (unsigned part = parts; part-- > 0;) {
        task_pull(&run, &(struct gw_work_item_id){0, 3, part, parts});
        task_compute(&run, true);
        for (size_t k = 0; k < floats; k++)
            sum[k] += run.gradients[0][k];
    }
}

START_TEST(parts_add_up_without_error)
{
    enum { FLOATS = 33 * 7 };
    static float whole[FLOATS], shared[FLOATS];
    configure();
    task_begin(&run);
    ck_assert_uint_eq(run.tables[0].width * run.tables[0].dense, FLOATS);
    add_parts(1, whole, FLOATS);
    for (unsigned parts = 2; parts <= 16; parts++) {
        add_parts(parts, shared, FLOATS);
        ck_assert_msg(memcmp(whole, shared, sizeof whole) == 0,
                      "%u parts add up to other bits", parts);
    }
}
END_TEST

/* So training in any number of parts ends with the same bits. */
START_TEST(parts_do_not_matter)
{
    uint64_t digests[3];
    for (unsigned i = 0; i < 3; i++) {
        configure();
        run.config.cartpole.episodes = 96;
        task_begin(&run);
        task_train(&run, 0, 2, 1 + 2 * i);
        digests[i] = gw_table_store_digest(run.store);
        task_end(&run);
    }
    ck_assert_uint_eq(digests[0], digests[1]);
    ck_assert_uint_eq(digests[0], digests[2]);
}
END_TEST

START_TEST(sums_define_the_loss)
{
    configure();
    run.config.cartpole.limit = 1; /* so that means and sums are the same */
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    struct gw_sample_sums sums = task_compute(&run, false);
    ck_assert_uint_eq(sums.right, sums.samples);
    ck_assert_double_eq_tol(
        sums.loss,
        sums.policy_loss + 0.5 * sums.value_loss - 0.001 * sums.entropy, 1e-9);
}
END_TEST

START_TEST(the_seed_decides)
{
    configure();
    run.config.cartpole.episodes = 64;
    task_expect_seed(&run, 1, 3);
}
END_TEST

START_TEST(bad_configs_are_refused)
{
    configure();
    run.config.cartpole.hidden = 0;
    task_expect_refused(&run, GW_EINVAL, "0 hidden units");
    configure();
    run.config.cartpole.episodes = 0;
    task_expect_refused(&run, GW_EINVAL, "0 episodes");
    configure();
    run.config.cartpole.unroll = 0;
    task_expect_refused(&run, GW_EINVAL, "an unroll of 0 steps");
    configure();
    run.config.cartpole.discount = 1;
    task_expect_refused(&run, GW_EINVAL, "discount");
    configure();
    run.config.batch = 1 << 17;
    task_expect_refused(&run, GW_EINVAL, "at most 65536");
    configure();
    run.config.test = "poles.txt";
    task_expect_refused(&run, GW_EINVAL, "makes its own data; give no file");
}
END_TEST

Suite *suite_task_cartpole(void)
{
    Suite *suite = suite_create("task_cartpole");
    TCase *c = tcase_create("task_cartpole");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, it_learns);
    tcase_add_test(c, parts_add_up_without_error);
    tcase_add_test(c, parts_do_not_matter);
    tcase_add_test(c, sums_define_the_loss);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, bad_configs_are_refused);
    suite_add_tcase(suite, c);
    return suite;
}
