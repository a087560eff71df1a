/* SPDX-License-Identifier: MIT
 *
 * A client against a whole cluster in this process (gw_ps_cluster): a push
 * counts once and is pulled unchanged, for any wire, width and table.
 */
#include "ps_cluster.h"

#include <gradwire/wire.h>

#include <check.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_client(void);

/* ---- pushes and pulls ---- */

START_TEST(what_is_pulled_is_what_was_pushed)
{
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 3, 2);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    cluster_expect(ps, table, CLUSTER_KEYS, 0);
    for (unsigned i = 0; i < 20; i++)
        cluster_push(ps, table, CLUSTER_KEYS);
    cluster_expect(ps, table, CLUSTER_KEYS, 20);
    struct gw_ps_counts counts;
    gw_ps_get_counts(ps, &counts);
    ck_assert_uint_eq(counts.pushes, 20);
    ck_assert_uint_gt(counts.key_lists_cached, 0);
    gw_ps_close(&ps);
    ck_assert_ptr_null(ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* Before each access, and never without the option. */
START_TEST(controllers_are_queried_for_the_routes_if_wanted)
{
    enum { PUSHES = 5 };
    struct gw_ps_cluster *cluster = cluster_start("shm", 3, 2);
    struct gw_ps *ps =
        cluster_join_with(cluster, &(struct gw_ps_config){.ask_routes = true});
    struct gw_ps *other = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    struct gw_ps_counts counts, before;
    gw_ps_get_counts(ps, &before);
    for (unsigned i = 0; i < PUSHES; i++)
        cluster_push(ps, table, CLUSTER_KEYS);
    gw_ps_get_counts(ps, &counts);
    ck_assert_uint_eq(counts.routes_requested,
                      before.routes_requested + PUSHES);
    ck_assert_uint_gt(counts.routes_ns, before.routes_ns);
    gw_ps_cluster_kill(cluster, 1);
    cluster_expect(ps, table, CLUSTER_KEYS, PUSHES);
    cluster_push(other, cluster_table(other, 1), CLUSTER_KEYS);
    gw_ps_get_counts(other, &counts);
    ck_assert_uint_eq(counts.routes_requested, 0);
    gw_ps_close(&ps);
    gw_ps_close(&other);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

static uint64_t bytes_in_place(bool no_place, bool mapped)
{
    enum { WIDTH = 20000, ROWS = 10 };
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *ps = cluster_join_with(
        cluster, &(struct gw_ps_config){.no_place = no_place});
    unsigned table = cluster_table(ps, WIDTH);
    size_t bytes = (size_t)WIDTH * ROWS * sizeof(float);
    float *values = mapped ? gw_alloc(bytes, &why) : malloc(bytes);
    ck_assert_ptr_nonnull(values);
    memset(values, 0, bytes);
    struct gw_ps_counts before, counts;
    do { /* repetitions count again */
        gw_ps_get_counts(ps, &before);
        ck_assert(
            !gw_ps_push(ps, table, cluster_keys, ROWS, values, NULL, &why));
        gw_ps_get_counts(ps, &counts);
    } while (counts.retries != before.retries);
    ck_assert_uint_ge(counts.bytes_sent, bytes);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
    if (mapped)
        gw_free(values);
    else
        free(values);
    return (counts.bytes_in_place - before.bytes_in_place) * 10 / bytes;
}

/* Lent memory that is copied in the end does not count as in place. */
START_TEST(only_what_is_read_where_it_lies_counts_as_in_place)
{
    ck_assert_uint_eq(bytes_in_place(false, true), 10);
    ck_assert_uint_eq(bytes_in_place(true, true), 0);
    ck_assert_uint_eq(bytes_in_place(false, false), 0);
}
END_TEST

/* Large values, in memory that peers can map and in other memory. */
START_TEST(wide_rows_keep_their_places)
{
    enum { WIDTH = 40000, ROWS = 30 };
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 2, 2);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, WIDTH);
    size_t count = (size_t)WIDTH * ROWS;
    float *values = gw_alloc(count * sizeof *values, &why);
    float *pulled = calloc(count, sizeof *pulled);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 9973);
    ck_assert(!gw_ps_push_pull(ps, table, cluster_keys, ROWS, values, pulled,
                               NULL, &why));
    ck_assert(memcmp(values, pulled, count * sizeof *values) == 0);
    ck_assert(!gw_ps_push(ps, table, cluster_keys, ROWS, pulled, NULL, &why));
    ck_assert(!gw_ps_pull(ps, table, cluster_keys, ROWS, pulled, NULL, &why));
    for (size_t i = 0; i < count; i++)
        ck_assert(pulled[i] == 2 * values[i]);
    gw_ps_close(&ps);
    gw_free(values);
    free(pulled);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(many_may_be_in_flight)
{
    enum { MANY = 300 };
    static struct gw_ps_handle handles[MANY];
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    for (unsigned i = 0; i < 200; i++)
        ck_assert(!gw_ps_push(ps, table, cluster_keys, CLUSTER_KEYS,
                              cluster_ones, &handles[i], &why));
    for (unsigned i = 0; i < 200; i++)
        ck_assert(!gw_ps_wait(ps, &handles[i], &why));
    ck_assert_uint_eq(handles[0].id, 0);
    cluster_expect(ps, table, CLUSTER_KEYS, 200);
    /* Requests without a wait finally exhaust all handles. */
    enum gw_err err = GW_OK;
    unsigned begun = 0;
    while (begun < MANY && !err)
        err = gw_ps_push(ps, table, cluster_keys, 1, cluster_ones,
                         &handles[begun++], &why);
    ck_assert_int_eq(err, GW_ENOMEM);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* Waits for the server's status, which is up to 50 ms old. */
static void await_nans(struct gw_ps_cluster *cluster, uint64_t nans)
{
    struct gw_ps_server_status status;
    do {
        sched_yield();
        gw_ps_server_get_status(gw_ps_cluster_server(cluster, 0), &status);
        ck_assert_uint_le(status.nans, nans);
    } while (status.nans < nans);
}

/* The library refuses it, and reports it to the server with the next
 * request. */
START_TEST(what_is_not_finite_is_refused)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    float bad[2] = {1, INFINITY};
    ck_assert_int_eq(gw_ps_push(ps, table, cluster_keys, 2, bad, NULL, &why),
                     GW_ENUMERIC);
    cluster_expect(ps, table, 2, 0);
    await_nans(cluster, 1);
    bad[0] = NAN;
    ck_assert_int_eq(gw_ps_push(ps, table, cluster_keys, 2, bad, NULL, &why),
                     GW_ENUMERIC);
    cluster_expect(ps, table, 2, 0);
    await_nans(cluster, 2);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(tables_have_one_configuration)
{
    struct gw_error why;
    unsigned table, found;
    struct gw_ps_table_config table_config;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *ps = cluster_join(cluster), *other = cluster_join(cluster);
    table = cluster_table(ps, 3);
    ck_assert_uint_eq(cluster_table(other, 3), table);
    ck_assert(!gw_ps_find(other, "w3", &found, &table_config, &why));
    ck_assert_uint_eq(found, table);
    ck_assert_uint_eq(table_config.width, 3);
    table_config.width = 4;
    ck_assert_int_eq(gw_ps_table(ps, &table_config, &found, &why),
                     GW_EMISMATCH);
    ck_assert_int_eq(gw_ps_find(ps, "none", &found, &table_config, &why),
                     GW_EINVAL);
    ck_assert_int_eq(
        gw_ps_push(ps, 9, cluster_keys, 1, cluster_ones, NULL, &why),
        GW_EINVAL);
    for (unsigned i = 0; i < 5; i++) {
        static const char *const names[] = {"", "a b", "\xc3\xa4", "wide",
                                            "late"};
        struct gw_ps_table_config wrong = {.width = i == 3 ? 0 : 1,
                                           .group = i == 4 ? 9 : 0};
        snprintf(wrong.name, sizeof wrong.name, "%s", names[i]);
        ck_assert_int_eq(gw_ps_table(ps, &wrong, &found, &why), GW_EINVAL);
    }
    uint64_t twice[2] = {4, 4};
    float rows[6] = {0};
    ck_assert_int_eq(gw_ps_push(ps, table, twice, 2, rows, NULL, &why),
                     GW_EINVAL);
    gw_ps_close(&ps);
    gw_ps_abandon(&other);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

Suite *suite_ps_client(void)
{
    Suite *suite = suite_create("ps_client");
    TCase *requests = tcase_create("ps_client");
    tcase_add_unchecked_fixture(requests, cluster_setup, NULL);
    tcase_add_test(requests,
                   only_what_is_read_where_it_lies_counts_as_in_place);
    tcase_add_loop_test(requests, what_is_pulled_is_what_was_pushed, 0, 3);
    tcase_add_loop_test(requests, wide_rows_keep_their_places, 0, 3);
    tcase_add_test(requests, controllers_are_queried_for_the_routes_if_wanted);
    tcase_add_test(requests, many_may_be_in_flight);
    tcase_add_test(requests, what_is_not_finite_is_refused);
    tcase_add_test(requests, tables_have_one_configuration);
    suite_add_tcase(suite, requests);
    return suite;
}
