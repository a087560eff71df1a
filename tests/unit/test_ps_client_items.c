/* SPDX-License-Identifier: MIT
 *
 * Work items, filters and snapshots, from the view of a client.
 */
#include "ps_cluster.h"

#include <gradwire/wire.h>

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *suite_ps_client_items(void);

static float out[CLUSTER_KEYS];

/* ---- items ---- */

struct trainee {
    pthread_t thread;
    struct gw_ps *ps;
    unsigned table;
    _Atomic unsigned items;
    uint64_t rounds; /* of an epoch, in bsp; 0: another mode */
    float pulled[CLUSTER_KEYS];
};

static void *train(void *context)
{
    struct trainee *t = context;
    struct gw_error why;
    struct gw_ps_work work = {0};
    for (;;) {
        ck_assert_msg(!gw_ps_next(t->ps, 0, &work, &why), "%s", why.text);
        if (work.done)
            return NULL;
        /* Rounds before this one are closed, and no other. */
        ck_assert_msg(!gw_ps_pull(t->ps, t->table, cluster_keys, CLUSTER_KEYS,
                                  t->pulled, NULL, &why),
                      "%s", why.text);
        if (t->rounds)
            for (unsigned i = 0; i < CLUSTER_KEYS; i++)
                ck_assert(t->pulled[i] ==
                          (float)(work.parts *
                                  (work.epoch * t->rounds + work.batch)));
        cluster_push(t->ps, t->table, CLUSTER_KEYS);
        atomic_fetch_add(&t->items, 1);
    }
}

START_TEST(each_work_item_counts_once)
{
    enum { EPOCHS = 3, BATCHES = 10, PARTS = 2 };
    static struct trainee trainees[2];
    struct gw_error why;
    struct gw_ps_mode mode;
    const struct gw_ps_plan plan = {
        .epochs = EPOCHS, .batches = BATCHES, .parts = PARTS, .workers = 2};
    static const char *const modes[] = {"bsp", "ssp:2", "asp"};
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 2);
    ck_assert(!gw_ps_mode_parse(modes[_i], &mode, &why));
    for (unsigned i = 0; i < 2; i++) {
        trainees[i] =
            (struct trainee){.ps = cluster_join(cluster),
                             .rounds = mode.kind == GW_PS_BSP ? BATCHES : 0};
        trainees[i].table = cluster_table(trainees[i].ps, 1);
        ck_assert_msg(!gw_ps_plan(trainees[i].ps, 0, &mode, &plan, &why), "%s",
                      why.text);
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(
            pthread_create(&trainees[i].thread, NULL, train, &trainees[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(trainees[i].thread, NULL);
    ck_assert_uint_eq(trainees[0].items + trainees[1].items,
                      EPOCHS * BATCHES * PARTS);
    cluster_expect(trainees[0].ps, trainees[0].table, CLUSTER_KEYS,
                   EPOCHS * BATCHES * PARTS);
    gw_ps_close(&trainees[0].ps);
    gw_ps_close(&trainees[1].ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* One worker dies in the middle of an item, after its push: the item is done by
 * another worker, as if it had not begun. */
START_TEST(the_item_of_a_dead_worker_is_done_by_another)
{
    enum { BATCHES = 6 };
    static struct trainee last;
    struct gw_error why;
    struct gw_ps_work work;
    const struct gw_ps_plan plan = {
        .epochs = 1, .batches = BATCHES, .parts = 2, .workers = 2};
    const struct gw_ps_mode bsp = {.kind = GW_PS_BSP};
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 2);
    struct gw_ps *doomed = cluster_join(cluster);
    last = (struct trainee){.ps = cluster_join(cluster)};
    last.table = cluster_table(last.ps, 1);
    ck_assert_uint_eq(cluster_table(doomed, 1), last.table);
    ck_assert(!gw_ps_plan(last.ps, 0, &bsp, &plan, &why));
    ck_assert_int_eq(pthread_create(&last.thread, NULL, train, &last), 0);
    ck_assert(!gw_ps_next(doomed, 0, &work, &why));
    cluster_push(doomed, last.table, CLUSTER_KEYS);
    ck_assert(!gw_ps_next(doomed, 0, &work, &why));
    cluster_push(doomed, last.table, CLUSTER_KEYS);
    gw_ps_close(&doomed);
    pthread_join(last.thread, NULL);
    ck_assert_uint_eq(last.items, 2 * BATCHES - 1);
    cluster_expect(last.ps, last.table, CLUSTER_KEYS, 2 * BATCHES);
    gw_ps_close(&last.ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* The clock of group 0 is in slot 0's log: it fails over with the slot. */
START_TEST(a_servers_death_redoes_no_round)
{
    enum { EPOCHS = 3, BATCHES = 60, PARTS = 2 };
    static struct trainee trainees[2];
    struct gw_error why;
    const struct gw_ps_mode bsp = {.kind = GW_PS_BSP};
    const struct gw_ps_plan plan = {
        .epochs = EPOCHS, .batches = BATCHES, .parts = PARTS, .workers = 2};
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 3, 2);
    for (unsigned i = 0; i < 2; i++) {
        trainees[i] =
            (struct trainee){.ps = cluster_join(cluster), .rounds = BATCHES};
        trainees[i].table = cluster_table(trainees[i].ps, 1);
        ck_assert(!gw_ps_plan(trainees[i].ps, 0, &bsp, &plan, &why));
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(
            pthread_create(&trainees[i].thread, NULL, train, &trainees[i]), 0);
    while (atomic_load(&trainees[0].items) < BATCHES)
        usleep(1000);
    gw_ps_cluster_kill(cluster, 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(trainees[i].thread, NULL);
    ck_assert_uint_eq(trainees[0].items + trainees[1].items,
                      EPOCHS * BATCHES * PARTS);
    cluster_expect(trainees[0].ps, trainees[0].table, CLUSTER_KEYS,
                   EPOCHS * BATCHES * PARTS);
    gw_ps_close(&trainees[0].ps);
    gw_ps_close(&trainees[1].ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(another_plan_is_refused)
{
    struct gw_error why;
    struct gw_ps_plan plan = {.epochs = 1, .batches = 2, .parts = 1};
    const struct gw_ps_mode bsp = {.kind = GW_PS_BSP};
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *ps = cluster_join(cluster);
    ck_assert(!gw_ps_plan(ps, 1, &bsp, &plan, &why));
    ck_assert(!gw_ps_plan(ps, 1, &bsp, &plan, &why));
    plan.batches = 3;
    ck_assert_int_eq(gw_ps_plan(ps, 1, &bsp, &plan, &why), GW_EMISMATCH);
    ck_assert_int_eq(gw_ps_plan(ps, 4, &bsp, &plan, &why), GW_EINVAL);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* ---- filters, snapshots ---- */

static void expect_some(struct gw_ps *ps, unsigned table, const float *some,
                        float times)
{
    struct gw_error why;
    ck_assert(
        !gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, out, NULL, &why));
    for (unsigned i = 0; i < CLUSTER_KEYS; i++)
        ck_assert_msg(out[i] == times * some[i], "key %u is %g", i,
                      (double)out[i]);
}

START_TEST(what_filters_hold_back_is_sent_in_the_end)
{
    static float some[CLUSTER_KEYS];
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw_ps *ps = cluster_join_with(
        cluster, &(struct gw_ps_config){.top_share = 0.1F, .significant = 2});
    struct gw_ps *other = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    ck_assert_uint_eq(cluster_table(other, 1), table);
    for (unsigned i = 0; i < CLUSTER_KEYS; i++)
        some[i] = (float)(i % 5);
    for (unsigned i = 0; i < 10; i++)
        ck_assert(!gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, some, NULL,
                              &why));
    struct gw_ps_counts counts;
    gw_ps_get_counts(ps, &counts);
    ck_assert_uint_gt(counts.rows_held_back, CLUSTER_KEYS);
    ck_assert(!gw_ps_push(ps, table, NULL, 0, NULL, NULL, &why));
    expect_some(other, table, some, 10);
    ck_assert(
        !gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS, some, NULL, &why));
    gw_ps_close(&ps);
    expect_some(other, table, some, 11);
    gw_ps_close(&other);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(half_precision_halves_the_bytes)
{
    struct gw_ps_counts whole, half;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *a = cluster_join(cluster);
    struct gw_ps *b =
        cluster_join_with(cluster, &(struct gw_ps_config){.half = true});
    unsigned table = cluster_table(a, 1);
    ck_assert_uint_eq(cluster_table(b, 1), table);
    for (unsigned i = 0; i < 3; i++) {
        cluster_push(a, table, CLUSTER_KEYS);
        cluster_push(b, table, CLUSTER_KEYS);
    }
    cluster_expect(a, table, CLUSTER_KEYS, 6);
    gw_ps_get_counts(a, &whole);
    gw_ps_get_counts(b, &half);
    ck_assert_uint_lt(half.bytes_sent, whole.bytes_sent);
    gw_ps_close(&a);
    gw_ps_close(&b);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(a_snapshot_is_written)
{
    char directory[] = "/tmp/gradwire-test-XXXXXX", path[64], remove[96];
    struct gw_error why;
    struct stat made;
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 2);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/snapshot", directory);
    cluster_push(ps, table, CLUSTER_KEYS);
    ck_assert_msg(!gw_ps_snapshot(ps, path, &why), "%s", why.text);
    ck_assert_int_eq(stat(path, &made), 0);
    cluster_push(ps, table, CLUSTER_KEYS);
    cluster_expect(ps, table, CLUSTER_KEYS, 2);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
    snprintf(remove, sizeof remove, "rm -r %s", directory);
    ck_assert_int_eq(system(remove), 0);
}
END_TEST

Suite *suite_ps_client_items(void)
{
    Suite *suite = suite_create("ps_client_items");
    TCase *items = tcase_create("ps_client items");
    tcase_add_unchecked_fixture(items, cluster_setup, NULL);
    tcase_add_loop_test(items, each_work_item_counts_once, 0, 3);
    tcase_add_test(items, the_item_of_a_dead_worker_is_done_by_another);
    tcase_add_loop_test(items, a_servers_death_redoes_no_round, 0, 2);
    tcase_add_test(items, another_plan_is_refused);
    tcase_add_test(items, what_filters_hold_back_is_sent_in_the_end);
    tcase_add_test(items, half_precision_halves_the_bytes);
    tcase_add_test(items, a_snapshot_is_written);
    suite_add_tcase(suite, items);
    return suite;
}
