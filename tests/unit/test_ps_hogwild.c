/* SPDX-License-Identifier: MIT
 *
 * Servers with several threads, and hogwild (gradwire/ps.h): pulls return the
 * pushed values for any number of threads. With one worker no update is lost;
 * with several few are, and learning still works.
 */
#include "ps_cluster.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_hogwild(void);

static void expect_ok(enum gw_err err, const struct gw_error *why)
{
    ck_assert_msg(err == GW_OK, "%s", why->text);
}

enum { WIDTH = 64, FLOATS = WIDTH * CLUSTER_KEYS };

static float values[FLOATS], pulled[FLOATS];

static struct gw_ps_cluster *start(unsigned threads, bool hogwild)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster;
    const struct gw_ps_server_config server = {.threads = threads,
                                               .hogwild = hogwild};
    const struct gw_ps_cluster_config config = {.slots = 1, .server = &server};
    ck_assert_msg(!gw_ps_cluster_start(&config, &cluster, &why), "%s",
                  why.text);
    return cluster;
}

static unsigned make_table(struct gw_ps *ps, enum gw_ps_updater updater)
{
    struct gw_error why;
    unsigned table;
    const struct gw_ps_table_config config = {.name = "t",
                                              .width = WIDTH,
                                              .updater = updater,
                                              .rate = 0.01F,
                                              .epsilon = 1e-6F};
    ck_assert_msg(!gw_ps_table(ps, &config, &table, &why), "%s", why.text);
    return table;
}

/* ---- threads ---- */

/* The sums of all rows after some pushes and pulls in partitions. */
static void run_with(unsigned threads, bool hogwild, enum gw_ps_updater updater,
                     bool half)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = start(threads, hogwild);
    const struct gw_ps_config client = {.half = half};
    struct gw_ps *ps = cluster_join_with(cluster, &client);
    unsigned table = make_table(ps, updater);
    for (unsigned round = 0; round < 10; round++) {
        for (size_t i = 0; i < FLOATS; i++)
            values[i] = (float)((i + round) % 17) / 8 - 1;
        expect_ok(gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, values,
                             NULL, &why),
                  &why);
    }
    expect_ok(
        gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, pulled, NULL, &why),
        &why);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}

START_TEST(threads_give_the_same_bits)
{
    static float alone[FLOATS];
    const enum gw_ps_updater kinds[] = {GW_PS_ADD, GW_PS_SGD, GW_PS_ADAGRAD,
                                        GW_PS_ADAM};
    enum gw_ps_updater kind = kinds[_i];
    run_with(1, false, kind, false);
    memcpy(alone, pulled, sizeof alone);
    run_with(3, false, kind, false);
    ck_assert(memcmp(alone, pulled, sizeof alone) == 0);
    run_with(3, true, kind, false); /* one worker: no conflicts */
    ck_assert(memcmp(alone, pulled, sizeof alone) == 0);
}
END_TEST

START_TEST(values_may_be_sent_as_f16)
{
    static float alone[FLOATS];
    run_with(1, false, GW_PS_ADD, true);
    memcpy(alone, pulled, sizeof alone);
    run_with(3, true, GW_PS_ADD, true);
    ck_assert(memcmp(alone, pulled, sizeof alone) == 0);
}
END_TEST

START_TEST(hogwild_wants_threads)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster;
    const struct gw_ps_server_config server = {.threads = 1, .hogwild = true};
    const struct gw_ps_cluster_config config = {.server = &server};
    ck_assert_int_eq(gw_ps_cluster_start(&config, &cluster, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "threads"));
}
END_TEST

/* ---- several workers at once ---- */

enum { WORKERS = 3, PUSHES = 40 };

struct pusher {
    struct gw_ps *ps;
    pthread_t thread;
};

/* All push to the same rows, each with some requests under way. */
static void *push_ones(void *context)
{
    enum { DEPTH = 4 };
    struct pusher *pusher = context;
    struct gw_error why;
    struct gw_ps_handle handles[DEPTH] = {{0}};
    float *ones = malloc(FLOATS * sizeof *ones);
    struct gw_ps *ps = pusher->ps;
    unsigned table = make_table(ps, GW_PS_ADD);
    for (size_t i = 0; i < FLOATS; i++)
        ones[i] = 1;
    for (unsigned i = 0; i < PUSHES + DEPTH; i++) {
        struct gw_ps_handle *handle = &handles[i % DEPTH];
        if (handle->id)
            expect_ok(gw_ps_wait(ps, handle, &why), &why);
        if (i < PUSHES)
            expect_ok(gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, ones,
                                 handle, &why),
                      &why);
    }
    gw_ps_close(&ps);
    free(ones);
    return NULL;
}

/* Also during pulls. */
START_TEST(little_is_lost_where_pushes_collide)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = start(3, true);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = make_table(ps, GW_PS_ADD);
    struct pusher pushers[WORKERS];
    const float all = WORKERS * PUSHES;
    double sum = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        pushers[i].ps = cluster_join(cluster);
        ck_assert(
            !pthread_create(&pushers[i].thread, NULL, push_ones, &pushers[i]));
    }
    for (unsigned i = 0; i < 20; i++)
        expect_ok(gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, pulled,
                             NULL, &why),
                  &why);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(pushers[i].thread, NULL);
    expect_ok(
        gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, pulled, NULL, &why),
        &why);
    for (size_t i = 0; i < FLOATS; i++) {
        ck_assert(pulled[i] <= all && pulled[i] == floorf(pulled[i]));
        sum += (double)pulled[i];
    }
    ck_assert_msg(sum >= 0.9 * (double)all * FLOATS, "%g of %g is left", sum,
                  (double)all * FLOATS);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* ---- learning ---- */

enum { STEPS = 150 };

/* Repeatedly halves the distance to the true value, the row's number. */
static void *learn(void *context)
{
    struct pusher *pusher = context;
    struct gw_error why;
    float *weights = malloc(FLOATS * sizeof *weights);
    struct gw_ps *ps = pusher->ps;
    unsigned table = make_table(ps, GW_PS_SGD);
    for (unsigned step = 0; step < STEPS; step++) {
        expect_ok(gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, weights,
                             NULL, &why),
                  &why);
        for (size_t i = 0; i < FLOATS; i++)
            weights[i] = 20 * (weights[i] - (float)(i % 100));
        expect_ok(gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, weights,
                             NULL, &why),
                  &why);
    }
    gw_ps_close(&ps);
    free(weights);
    return NULL;
}

START_TEST(it_learns_all_the_same)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = start(2, true);
    struct pusher pushers[WORKERS];
    for (unsigned i = 0; i < WORKERS; i++) {
        pushers[i].ps = cluster_join(cluster);
        ck_assert(
            !pthread_create(&pushers[i].thread, NULL, learn, &pushers[i]));
    }
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(pushers[i].thread, NULL);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = make_table(ps, GW_PS_SGD);
    expect_ok(
        gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, pulled, NULL, &why),
        &why);
    for (size_t i = 0; i < FLOATS; i++)
        ck_assert_msg(fabsf(pulled[i] - (float)(i % 100)) < 0.01F,
                      "weight %zu is %g", i, (double)pulled[i]);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* Requests under way are completed. */
START_TEST(a_server_may_end_with_jobs_in_progress)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = start(3, true);
    struct gw_ps *ps = cluster_join(cluster);
    struct gw_ps_handle handles[8];
    unsigned table = make_table(ps, GW_PS_ADD);
    for (unsigned i = 0; i < 8; i++)
        expect_ok(gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, values,
                             &handles[i], &why),
                  &why);
    gw_ps_cluster_kill(cluster, 0);
    gw_ps_abandon(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

Suite *suite_ps_hogwild(void)
{
    Suite *suite = suite_create("ps_hogwild");
    TCase *c = tcase_create("ps_hogwild");
    tcase_add_unchecked_fixture(c, cluster_setup, NULL);
    tcase_add_loop_test(c, threads_give_the_same_bits, 0, 4);
    tcase_add_test(c, values_may_be_sent_as_f16);
    tcase_add_test(c, hogwild_wants_threads);
    tcase_add_test(c, little_is_lost_where_pushes_collide);
    tcase_add_test(c, it_learns_all_the_same);
    tcase_add_test(c, a_server_may_end_with_jobs_in_progress);
    suite_add_tcase(suite, c);
    return suite;
}
