/* SPDX-License-Identifier: MIT
 *
 * A network over tables: its gradients are slopes, its weights have the same
 * bits for any number of parts, and of an embedding only the features of the
 * rows are pulled.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_task_net(void);

enum { SEED = 11, ROWS = 120, FEATURES = 12, CLASSES = 3 };

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

/* A row of class c has large values in the c-th of three groups of features. */
static size_t make_rows(char *text, size_t room, unsigned spread)
{
    size_t used = 0;
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (int row = 0; row < ROWS; row++) {
        unsigned label = (unsigned)gw_rng_below(&rng, CLASSES);
        used += (size_t)snprintf(text + used, room - used, "%u", label);
        for (unsigned j = 0; j < FEATURES; j++) {
            double value = 8 * gw_rng_unit(&rng) + (j / 4 == label ? 8 : 0);
            if (gw_rng_below(&rng, 3) > 0)
                used += (size_t)snprintf(text + used, room - used, " %u:%.2f",
                                         j * spread + 1, value);
        }
        used += (size_t)snprintf(text + used, room - used, "\n");
    }
    ck_assert_uint_lt(used + 1, room);
    return used;
}

static void configure(const char *network, unsigned spread)
{
    static char text[ROWS * FEATURES * 20];
    ck_assert_int_eq(gw_task_defaults("net", &run.config, &run.why), GW_OK);
    size_t used = make_rows(text, sizeof text, spread);
    run.config.train = run.config.test = task_file(&run, 0, text, used);
    run.config.network = task_file(&run, 1, network, strlen(network));
    run.config.batch = 32;
}

static const char dense[] =
    "network t\ninput 12\ndense 8\ntanh\ndense 3\nsoftmax\n";
static const char embedded[] =
    "network t\ninput 20000\nembedding 6\ntanh\ndense 3\nsoftmax\n";

static const char images[] =
    "network t\ninput 1x3x4\nconv 4 3x3\ntanh\nname a\nconv 4 3x3\nadd a\n"
    "maxpool 3x2\nflatten\ndense 3\nsoftmax\n";
static const struct {
    const char *text;
    unsigned spread;
} networks[] = {{dense, 1}, {embedded, 1000}, {images, 1}};

START_TEST(gradients_are_slopes)
{
    configure(networks[_i].text, networks[_i].spread);
    task_begin(&run);
    task_train(&run, 0, 1, 1);
    task_pull(&run, &(struct gw_work_item_id){1, 3, 1, 2});
    task_expect_keys(&run);
    task_expect_slopes(&run, ROWS % 32, 1e-3);
}
END_TEST

/* For the learnt rows, and for all other terms of the gradient. */
START_TEST(parts_do_not_matter)
{
    static const unsigned parts[] = {1, 3, 8, 40};
    uint64_t digests[4];
    for (unsigned i = 0; i < 4; i++) {
        configure(networks[_i].text, networks[_i].spread);
        run.config.l2 = _i == 1 ? 0 : 0.01f;
        task_begin(&run);
        task_train(&run, 0, 2, parts[i]);
        digests[i] = gw_table_store_digest(run.store);
        task_end(&run);
        ck_assert_uint_eq(digests[i], digests[0]);
    }
}
END_TEST

START_TEST(it_learns)
{
    static const enum gw_ps_updater updaters[] = {GW_PS_SGD, GW_PS_MOMENTUM,
                                                  GW_PS_ADAGRAD, GW_PS_ADAM};
    for (size_t i = 0; i < sizeof updaters / sizeof *updaters; i++) {
        configure(networks[_i].text, networks[_i].spread);
        ck_assert_int_eq(
            gw_task_choose_updater(&run.config, updaters[i], &run.why), GW_OK);
        task_begin(&run);
        task_train(&run, 0, 40, 2);
        struct gw_task_score after = task_score(&run, GW_TASK_TEST, 40);
        ck_assert_msg(after.quality > 0.85, "%s: accuracy %g",
                      gw_ps_updater_name(updaters[i]), after.quality);
        task_clean(&run);
    }
}
END_TEST

START_TEST(the_seed_decides)
{
    configure(dense, 1);
    task_expect_seed(&run, 1, 3);
}
END_TEST

/* Two tables; the sparse one's keys are the features of the rows. */
START_TEST(an_embedding_is_sparse)
{
    size_t keys;
    configure(embedded, 1000);
    task_begin(&run);
    ck_assert_uint_eq(run.table_count, 2);
    ck_assert_uint_eq(run.tables[0].dense, (6 * 3 + 3) / 32 + 1);
    ck_assert_uint_eq(run.tables[1].dense, 0);
    ck_assert_uint_eq(run.tables[1].width, 6);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    const uint64_t *key = gw_work_item_keys(run.item, 1, &keys);
    ck_assert_uint_eq(keys, FEATURES);
    for (unsigned j = 0; j < FEATURES; j++)
        ck_assert_uint_eq(key[j], j * 1000);
}
END_TEST

/* A NaN among the weights shows in the loss and in the push. */
START_TEST(a_nan_stays)
{
    configure(dense, 1);
    task_begin(&run);
    task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 1});
    run.rows[0][12 * 8] = NAN;
    ck_assert(isnan(task_compute(&run, true).loss));
    ck_assert(isnan(run.gradients[0][0]));
}
END_TEST

START_TEST(bad_input_is_refused)
{
    configure("network t\ninput 11\ndense 3\nsoftmax\n", 1);
    task_expect_refused(&run, GW_EDATA, "12 features and 3 classes");
    configure("network t\ninput 12\ndense 2\nsoftmax\n", 1);
    task_expect_refused(&run, GW_EDATA, "needs 12 and 2");
    configure("network t\ninput 12\ndense 3\n", 1);
    task_expect_refused(&run, GW_EDATA, "end with softmax");
    configure(dense, 1);
    run.config.batch = 1 << 17;
    run.config.network = NULL;
    task_expect_refused(&run, GW_EINVAL, "a network and a training file");
    configure(dense, 1);
    run.config.batch = 1 << 17;
    task_expect_refused(&run, GW_EINVAL, "at most 65536");
    run.config.updater = GW_PS_FTRL;
    task_expect_refused(&run, GW_EINVAL, "ftrl");
}
END_TEST

Suite *suite_task_net(void)
{
    Suite *suite = suite_create("task_net");
    TCase *c = tcase_create("task_net");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_loop_test(c, gradients_are_slopes, 0, 3);
    tcase_add_loop_test(c, parts_do_not_matter, 0, 3);
    tcase_add_loop_test(c, it_learns, 0, 3);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, an_embedding_is_sparse);
    tcase_add_test(c, a_nan_stays);
    tcase_add_test(c, bad_input_is_refused);
    suite_add_tcase(suite, c);
    return suite;
}
