/* SPDX-License-Identifier: MIT
 *
 * Clients that connect or fail to connect; servers that die under load; and the
 * events that end a waiting call.
 */
#include "ps_cluster.h"

#include <gradwire/ps_env.h>
#include <gradwire/wire.h>

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_ps_client_life(void);

static float out[CLUSTER_KEYS];

/* ---- connecting ---- */

START_TEST(who_wants_any_number_gets_one)
{
    struct gw_error why;
    struct gw_ps *a, *b;
    struct gw_ps_config config = {0}, other = {0};
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    gw_ps_cluster_client(cluster, &config);
    gw_ps_cluster_client(cluster, &other);
    config.node = other.node = GW_PS_ANY;
    ck_assert_msg(!gw_ps_connect(&config, &a, &why), "%s", why.text);
    ck_assert_msg(!gw_ps_connect(&other, &b, &why), "%s", why.text);
    ck_assert_uint_ne(gw_ps_node(a), gw_ps_node(b));
    cluster_push(a, cluster_table(a, 1), CLUSTER_KEYS);
    cluster_expect(b, cluster_table(b, 1), CLUSTER_KEYS, 1);
    gw_ps_close(&a);
    gw_ps_close(&b);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(who_cannot_connect_gets_the_reason)
{
    struct gw_error why;
    struct gw_ps *ps;
    struct gw_ps_config config = {0};
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *first = cluster_join(cluster);
    gw_ps_cluster_client(cluster, &config);
    config.connect_ms = 300;
    config.token++;
    ck_assert_int_eq(gw_ps_connect(&config, &ps, &why), GW_ETIMEOUT);
    ck_assert_msg(strstr(why.text, "no controller has answered"), "%s",
                  why.text);
    ck_assert_ptr_null(ps);
    config.token--;
    config.wire = "smoke";
    ck_assert_int_eq(gw_ps_connect(&config, &ps, &why), GW_EINVAL);
    config.wire = NULL;
    config.top_share = 1;
    ck_assert_int_eq(gw_ps_connect(&config, &ps, &why), GW_EINVAL);
    gw_ps_close(&first);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(without_servers_no_client_connects)
{
    struct gw_error why;
    struct gw_ps *ps;
    struct gw_ps_config config = {0};
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    gw_ps_cluster_kill(cluster, 0);
    gw_ps_cluster_client(cluster, &config);
    config.connect_ms = 1000;
    ck_assert_int_eq(gw_ps_connect(&config, &ps, &why), GW_ETIMEOUT);
    ck_assert_msg(strstr(why.text, "slots have no server") ||
                      strstr(why.text, "is not known yet"),
                  "%s", why.text);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(the_environment_must_name_the_controllers)
{
    struct gw_error why;
    struct gw_ps *ps;
    const struct gw_ps_config config = {.connect_ms = 300};
    unsetenv("GW_CONTROLLERS");
    ck_assert_int_eq(gw_ps_from_env(&config, &ps, &why), GW_EINVAL);
    ck_assert_msg(strstr(why.text, "set GW_CONTROLLERS="), "%s", why.text);
    setenv("GW_CONTROLLERS", "tcp://127.0.0.1:1,tcp://127.0.0.1:2", 1);
    ck_assert_int_eq(gw_ps_from_env(&config, &ps, &why), GW_EINVAL);
    ck_assert_msg(strstr(why.text, "1, 3 or 5 controllers"), "%s", why.text);
    setenv("GW_CONTROLLERS", "tcp://127.0.0.1:1", 1);
    ck_assert_int_eq(gw_ps_from_env(&config, &ps, &why), GW_ETIMEOUT);
    ck_assert_ptr_null(ps);
    unsetenv("GW_CONTROLLERS");
}
END_TEST

/* ---- several, and deaths ---- */

struct load {
    pthread_t thread;
    struct gw_ps *ps;
    unsigned table, pushes;
    _Atomic unsigned done;
};

static void *run_load(void *context)
{
    struct load *load = context;
    struct gw_error why;
    for (unsigned i = 0; i < load->pushes; i++) {
        enum gw_err err = gw_ps_push(load->ps, load->table, cluster_keys,
                                     CLUSTER_KEYS, cluster_ones, NULL, &why);
        ck_assert_msg(!err, "%s", why.text);
        atomic_fetch_add(&load->done, 1);
    }
    return NULL;
}

static void begin_load(struct load *load, struct gw_ps *ps, unsigned table,
                       unsigned pushes)
{
    *load = (struct load){.ps = ps, .table = table, .pushes = pushes};
    ck_assert_int_eq(pthread_create(&load->thread, NULL, run_load, load), 0);
}

START_TEST(a_servers_death_loses_nothing)
{
    static struct load loads[2];
    enum { PUSHES = 400 };
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 3, 2);
    struct gw_ps *a = cluster_join(cluster), *b = cluster_join(cluster);
    unsigned table = cluster_table(a, 1);
    ck_assert_uint_eq(cluster_table(b, 1), table);
    begin_load(&loads[0], a, table, PUSHES);
    begin_load(&loads[1], b, table, PUSHES);
    while (atomic_load(&loads[0].done) < PUSHES / 4)
        usleep(1000);
    gw_ps_cluster_kill(cluster, 1);
    pthread_join(loads[0].thread, NULL);
    pthread_join(loads[1].thread, NULL);
    cluster_expect(a, table, CLUSTER_KEYS, 2 * PUSHES);
    gw_ps_close(&a);
    gw_ps_close(&b);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(slots_that_move_lose_nothing)
{
    static struct load loads[2];
    enum { PUSHES = 600 };
    struct gw_error why;
    unsigned number;
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 2, 2);
    struct gw_ps *a = cluster_join(cluster), *b = cluster_join(cluster);
    unsigned table = cluster_table(a, 1);
    ck_assert_uint_eq(cluster_table(b, 1), table);
    begin_load(&loads[0], a, table, PUSHES);
    begin_load(&loads[1], b, table, PUSHES);
    while (atomic_load(&loads[0].done) < PUSHES / 4)
        usleep(1000);
    ck_assert_msg(!gw_ps_cluster_add(cluster, &number, &why), "%s", why.text);
    while (atomic_load(&loads[0].done) < PUSHES / 2)
        usleep(1000);
    ck_assert_msg(!gw_ps_server_leave(gw_ps_cluster_server(cluster, 0), &why),
                  "%s", why.text);
    pthread_join(loads[0].thread, NULL);
    pthread_join(loads[1].thread, NULL);
    cluster_expect(a, table, CLUSTER_KEYS, 2 * PUSHES);
    gw_ps_close(&a);
    gw_ps_close(&b);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* Wide rows are lent, not copied. */
START_TEST(a_servers_death_spoils_no_wide_row)
{
    enum { WIDTH = 20000, ROWS = 40, PUSHES = 60 };
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start(cluster_wires[_i], 3, 2);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, WIDTH);
    size_t count = (size_t)WIDTH * ROWS;
    float *values = gw_alloc(count * sizeof *values, &why);
    float *sum = calloc(count, sizeof *sum);
    for (unsigned push = 0; push < PUSHES; push++) {
        for (size_t i = 0; i < count; i++) {
            values[i] = (float)((i + push) % 101);
            sum[i] += values[i];
        }
        ck_assert_msg(
            !gw_ps_push(ps, table, cluster_keys, ROWS, values, NULL, &why),
            "%s", why.text);
        if (push == PUSHES / 3)
            gw_ps_cluster_kill(cluster, 1);
    }
    ck_assert(!gw_ps_pull(ps, table, cluster_keys, ROWS, values, NULL, &why));
    ck_assert(memcmp(values, sum, count * sizeof *sum) == 0);
    gw_ps_close(&ps);
    gw_free(values);
    free(sum);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(a_timeout_names_the_server)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw_ps *ps =
        cluster_join_with(cluster, &(struct gw_ps_config){.timeout_ms = 2000});
    unsigned table = cluster_table(ps, 1);
    cluster_push(ps, table, CLUSTER_KEYS);
    gw_ps_cluster_kill(cluster, 1);
    ck_assert_int_eq(
        gw_ps_pull(ps, table, cluster_keys, CLUSTER_KEYS, out, NULL, &why),
        GW_ETIMEOUT);
    ck_assert_msg(strstr(why.text, "waits for server 33 (slots ") ||
                      strstr(why.text, "waits for a new primary (slots "),
                  "%s", why.text);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

static void *interrupt(void *context)
{
    gw_ps_interrupt(context);
    return NULL;
}

START_TEST(an_interrupt_ends_whatever_waits)
{
    pthread_t thread;
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw_ps *ps = cluster_join(cluster);
    ck_assert_int_eq(pthread_create(&thread, NULL, interrupt, ps), 0);
    ck_assert_int_eq(gw_ps_barrier(ps, 1, 2, &why), GW_EINTR);
    pthread_join(thread, NULL);
    ck_assert_int_eq(gw_ps_barrier(ps, 1, 1, &why), GW_EINTR);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

Suite *suite_ps_client_life(void)
{
    Suite *suite = suite_create("ps_client_life");
    TCase *connecting = tcase_create("ps_client connecting");
    TCase *deaths = tcase_create("ps_client deaths");
    tcase_add_unchecked_fixture(connecting, cluster_setup, NULL);
    tcase_add_unchecked_fixture(deaths, cluster_setup, NULL);
    tcase_add_test(connecting, who_wants_any_number_gets_one);
    tcase_add_test(connecting, who_cannot_connect_gets_the_reason);
    tcase_add_test(connecting, without_servers_no_client_connects);
    tcase_add_test(connecting, the_environment_must_name_the_controllers);
    tcase_add_test(connecting, an_interrupt_ends_whatever_waits);
    tcase_add_loop_test(deaths, a_servers_death_loses_nothing, 0, 3);
    tcase_add_loop_test(deaths, a_servers_death_spoils_no_wide_row, 0, 2);
    tcase_add_loop_test(deaths, slots_that_move_lose_nothing, 0, 2);
    tcase_add_test(deaths, a_timeout_names_the_server);
    suite_add_tcase(suite, connecting);
    suite_add_tcase(suite, deaths);
    return suite;
}
