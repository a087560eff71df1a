/* SPDX-License-Identifier: MIT
 *
 * A launch of ranks together with servers (launch.h): servers end when the
 * ranks have, and messages name them as servers.
 */
#include "common/command.h"
#include "common/launch.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

Suite *suite_launch_servers(void);

static struct gw_error why;

enum { RANKS = 4, SERVERS = 2 };

static void serve(void)
{
    while (!interrupted)
        usleep(1000);
}

static enum gw_err end_normally(struct gw_comm *comm, struct reporter *report,
                                void *context, struct gw_error *error)
{
    unsigned rank = report_rank(report);
    (void)context;
    (void)error;
    ck_assert_ptr_null(comm);
    if (rank >= RANKS - SERVERS)
        serve();
    return GW_OK;
}

static enum gw_err lose_a_server(struct gw_comm *comm, struct reporter *report,
                                 void *context, struct gw_error *error)
{
    (void)comm;
    (void)context;
    (void)error;
    if (report_rank(report) == RANKS - 1)
        raise(SIGKILL);
    serve();
    return GW_OK;
}

static enum gw_err check_calls(void *context, struct gw_error *error)
{
    unsigned *calls = context;
    return ++*calls == 3 ? gw_fail(error, GW_EDATA, "looked enough") : GW_OK;
}

static struct launch launch_of(enum gw_err (*main)(struct gw_comm *,
                                                   struct reporter *, void *,
                                                   struct gw_error *))
{
    return (struct launch){.ranks = RANKS,
                           .servers = SERVERS,
                           .rank_name = "worker",
                           .no_comm = true,
                           .rank_main = main};
}

START_TEST(servers_end_when_the_others_have)
{
    struct launch launch = launch_of(end_normally);
    ck_assert_int_eq(launch_run(&launch, &why), GW_OK);
}
END_TEST

START_TEST(a_lost_server_is_named_as_one)
{
    struct launch launch = launch_of(lose_a_server);
    ck_assert_int_eq(launch_run(&launch, &why), GW_ELOST);
    ck_assert_ptr_eq(strstr(why.text, "server 1 (pid "), why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "was killed by signal 9 (Killed)"));
}
END_TEST

START_TEST(an_error_of_the_callback_ends_the_run)
{
    unsigned calls = 0;
    struct launch launch = launch_of(lose_a_server);
    launch.ranks = RANKS - 1; /* all of them wait */
    launch.on_poll = check_calls;
    launch.context = &calls;
    ck_assert_int_eq(launch_run(&launch, &why), GW_EDATA);
    ck_assert_uint_eq(calls, 3);
}
END_TEST

Suite *suite_launch_servers(void)
{
    Suite *suite = suite_create("launch_servers");
    TCase *processes = tcase_create("processes");
    tcase_add_test(processes, servers_end_when_the_others_have);
    tcase_add_test(processes, a_lost_server_is_named_as_one);
    tcase_add_test(processes, an_error_of_the_callback_ends_the_run);
    suite_add_tcase(suite, processes);
    return suite;
}
