/* SPDX-License-Identifier: MIT
 *
 * The death watch of peers' processes: each end is reported once, and no
 * other's.
 */
#include "wire/process_inspect.h"

#include <check.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_process_watch(void);

/* A child that runs until it is killed; its id comes through a pipe. */
static pid_t spawn(struct gw__process_watch_id *id)
{
    int channel[2];
    ck_assert_int_eq(pipe(channel), 0);
    pid_t child = fork();
    if (child == 0) {
        gw__process_watch_self(id);
        prctl(PR_SET_NAME, GW__CONTROL_THREAD);
        (void)!write(channel[1], id, sizeof *id);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(channel[0], id, sizeof *id), sizeof *id);
    close(channel[0]);
    close(channel[1]);
    return child;
}

static int await_end(struct gw__process_watch *watch)
{
    struct pollfd wake = {.fd = watch->fd, .events = POLLIN};
    ck_assert_int_eq(poll(&wake, 1, 5000), 1);
    return gw__process_watch_poll(watch);
}

START_TEST(an_end_is_reported_once)
{
    struct gw__process_watch watch;
    struct gw__process_watch_id ids[2];
    pid_t children[2] = {spawn(&ids[0]), spawn(&ids[1])};
    ck_assert_int_eq(gw__process_watch_init(&watch, 8, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 3, &ids[0], NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 5, &ids[1], NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    kill(children[1], SIGKILL); /* and it stays a zombie */
    ck_assert_int_eq(await_end(&watch), 5);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    kill(children[0], SIGKILL);
    ck_assert_int_eq(await_end(&watch), 3);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    gw__process_watch_fini(&watch);
    for (int i = 0; i < 2; i++)
        waitpid(children[i], NULL, 0);
}
END_TEST

START_TEST(an_earlier_end_is_reported_at_once)
{
    struct gw__process_watch watch;
    struct gw__process_watch_id zombie, gone;
    pid_t first = spawn(&zombie), second = spawn(&gone);
    siginfo_t info;
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(second, NULL, 0);
    waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT);
    ck_assert_int_eq(gw__process_watch_init(&watch, 2, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 0, &zombie, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 1, &gone, NULL), GW_OK);
    int reported = gw__process_watch_poll(&watch);
    ck_assert(reported == 0 || reported == 1);
    ck_assert_int_eq(gw__process_watch_poll(&watch), 1 - reported);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    gw__process_watch_fini(&watch);
    waitpid(first, NULL, 0);
}
END_TEST

/* The pid is alive, but belongs to another process than the announced one. */
START_TEST(a_pid_that_came_again_is_an_end)
{
    struct gw__process_watch watch;
    struct gw__process_watch_id id;
    pid_t child = spawn(&id);
    id.start--;
    ck_assert_int_eq(gw__process_watch_init(&watch, 1, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 0, &id, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_poll(&watch), 0);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    gw__process_watch_fini(&watch);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

START_TEST(only_processes_of_the_user_are_observed)
{
    struct gw__process_watch watch;
    struct gw__process_watch_id id;
    struct gw_error why;
    gw__process_watch_self(&id);
    ck_assert_int_eq(gw__process_watch_init(&watch, 2, NULL), GW_OK);
    ck_assert_int_eq(gw__process_watch_add(&watch, 0, &id, &why), GW_OK);
    id.host++;
    ck_assert_int_eq(gw__process_watch_add(&watch, 1, &id, &why), GW_ENOTSUP);
    ck_assert_str_eq(why.text,
                     "rank 1 is on another host or in another pid namespace");
    ck_assert_int_eq(watch.fd, -1);
    ck_assert_int_eq(gw__process_watch_poll(&watch), -1);
    gw__process_watch_fini(&watch);
    gw__process_watch_fini(&watch);
}
END_TEST

/* ---- looks ---- */

START_TEST(an_inspection_separates_stopped_from_awake)
{
    struct gw__process_inspection inspection = {.count = 0};
    struct gw__process_observation seen;
    struct gw__process_watch_id id;
    pid_t child = spawn(&id);
    gw__process_inspect(&inspection, &id, gw_now_ns(), &seen);
    ck_assert_int_eq(seen.state, GW__PROCESS_WATCH_AWAKE);
    kill(child, SIGSTOP);
    waitpid(child, NULL, WUNTRACED);
    gw__process_inspect(&inspection, &id, gw_now_ns(), &seen);
    ck_assert_int_eq(seen.state, GW__PROCESS_WATCH_STOPPED);
    ck_assert_uint_eq(seen.waited_ns, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    gw__process_inspect(&inspection, &id, gw_now_ns(), &seen);
    ck_assert_int_eq(seen.state, GW__PROCESS_WATCH_ENDED);
}
END_TEST

START_TEST(an_inspection_of_a_reused_pid_is_an_end)
{
    struct gw__process_inspection inspection = {.count = 0};
    struct gw__process_observation seen;
    struct gw__process_watch_id id;
    gw__process_watch_self(&id);
    id.start--;
    gw__process_inspect(&inspection, &id, gw_now_ns(), &seen);
    ck_assert_int_eq(seen.state, GW__PROCESS_WATCH_ENDED);
}
END_TEST

static void spin(int number)
{
    (void)number;
    for (volatile unsigned i = 0;; i++)
        ;
}

static pid_t spin_on_cpu(int cpu, struct gw__process_watch_id *id)
{
    cpu_set_t one;
    pid_t child = spawn(id);
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    ck_assert_int_eq(sched_setaffinity(child, sizeof one, &one), 0);
    kill(child, SIGUSR1);
    return child;
}

static const uint64_t MS = 1000000;

/* Two busy processes share one CPU. */
START_TEST(an_inspection_shows_who_waits_for_a_cpu)
{
    struct gw__process_inspection inspection = {.count = 0};
    struct gw__process_observation seen = {.waited_ns = 0};
    struct gw__process_watch_id ids[2];
    int cpu = sched_getcpu();
    signal(SIGUSR1, spin);
    pid_t children[2] = {spin_on_cpu(cpu, &ids[0]), spin_on_cpu(cpu, &ids[1])};
    gw__process_inspect(&inspection, &ids[0], gw_now_ns(), &seen);
    /* One waits during the other's time slice, which may be 3 ms. */
    for (unsigned i = 0; i < 20000 && seen.waited_ns == 0; i++) {
        poll(NULL, 0, 1);
        gw__process_inspect(&inspection, &ids[0], gw_now_ns(), &seen);
    }
    ck_assert_int_eq(seen.state, GW__PROCESS_WATCH_AWAKE);
    ck_assert_uint_gt(seen.waited_ns, 0);
    /* It also waits between two looks in which it has run often. */
    seen.waited_ns = 0;
    for (unsigned i = 0; i < 100 && seen.waited_ns < 20 * MS; i++) {
        poll(NULL, 0, 200);
        gw__process_inspect(&inspection, &ids[0], gw_now_ns(), &seen);
    }
    ck_assert_uint_ge(seen.waited_ns, 20 * MS);
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    signal(SIGUSR1, SIG_DFL);
}
END_TEST

Suite *suite_process_watch(void)
{
    Suite *suite = suite_create("process_watch");
    TCase *tests = tcase_create("process watch");
    tcase_add_test(tests, an_end_is_reported_once);
    tcase_add_test(tests, an_earlier_end_is_reported_at_once);
    tcase_add_test(tests, a_pid_that_came_again_is_an_end);
    tcase_add_test(tests, only_processes_of_the_user_are_observed);
    tcase_add_test(tests, an_inspection_separates_stopped_from_awake);
    tcase_add_test(tests, an_inspection_of_a_reused_pid_is_an_end);
    tcase_add_test(tests, an_inspection_shows_who_waits_for_a_cpu);
    suite_add_tcase(suite, tests);
    return suite;
}
