/* SPDX-License-Identifier: MIT
 *
 * Silent ranks, with real processes: a stopped rank is ended and named. A
 * computing rank is not taken for a stopped one, and no rank is if the
 * supervisor itself was stopped. Also ranks whose end is not that of the run.
 */
#include "common/command.h"
#include "common/launch/launch_parts.h"
#include "launch_received.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

Suite *suite_launch_silence(void);

static struct gw_error why;

static void begin(void)
{
    interrupted = 0;
    why = (struct gw_error){.code = GW_OK};
}

static enum gw_err stop_one(struct gw_comm *comm, struct reporter *report,
                            void *context, struct gw_error *error)
{
    pid_t pid = getpid();
    (void)context, (void)error;
    report_send(report, &pid, sizeof pid);
    if (gw_comm_rank(comm) == 1)
        raise(SIGSTOP);
    hang();
}

static struct launch silent_launch(struct received *received, rank_main *main)
{
    return (struct launch){
        .ranks = RANKS,
        .rank_name = "stage",
        .wire = "shm",
        .silence_ms = 400,
        .rank_main = main,
        .context = received,
        .on_report = receive_report,
    };
}

START_TEST(a_stopped_rank_is_ended_and_named)
{
    struct received received = {0};
    char expected[128];
    pid_t pid;
    struct launch launch = silent_launch(&received, stop_one);
    ck_assert_int_eq(launch_run(&launch, &why), GW_ELOST);
    memcpy(&pid, received.last[1], sizeof pid);
    snprintf(expected, sizeof expected,
             "stage 1 (pid %d) did not respond for 400 ms", (int)pid);
    ck_assert_msg(strncmp(why.text, expected, strlen(expected)) == 0,
                  "\"%s\" does not begin with \"%s\"", why.text, expected);
}
END_TEST

/* Computes without a message for longer than the limit of silence, then writes
 * more than a pipe holds, between signs of life. */
static enum gw_err busy_then_loud(struct gw_comm *comm, struct reporter *report,
                                  void *context, struct gw_error *error)
{
    enum { BUSY_NS = 1000000000, MUCH_BYTES = 1 << 20 };
    uint64_t end_ns = gw_now_ns() + BUSY_NS;
    char *much = malloc(MUCH_BYTES);
    sigset_t mask;
    (void)comm, (void)context;
    if (!much)
        return gw_fail(error, GW_ENOMEM, "a report");
    memset(much, 'x', MUCH_BYTES);
    while (gw_now_ns() < end_ns)
        sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 0; i < 4; i++)
        report_send(report, much, MUCH_BYTES);
    free(much);
    /* The thread blocks all signals; the rank itself does not. */
    return sigismember(&mask, SIGTERM)
               ? gw_fail(error, GW_EWRONG, "SIGTERM is blocked")
               : GW_OK;
}

START_TEST(who_computes_is_not_silent)
{
    struct received received = {0};
    struct launch launch = silent_launch(&received, busy_then_loud);
    ck_assert_msg(!launch_run(&launch, &why), "%s", why.text);
    ck_assert_uint_eq(received.bytes, (size_t)RANKS * 4 << 20);
    ck_assert_int_eq(received.last[2][0], 'x');
}
END_TEST

/* As on a machine without a free CPU: no sign of life, but not stopped. */
static enum gw_err starve(struct gw_comm *comm, struct reporter *report,
                          void *context, struct gw_error *error)
{
    const struct timespec long_enough = {.tv_sec = 1};
    (void)context, (void)error;
    if (gw_comm_rank(comm) == 1) {
        pthread_mutex_lock(&report->lock);
        nanosleep(&long_enough, NULL);
        pthread_mutex_unlock(&report->lock);
    }
    return GW_OK;
}

START_TEST(who_is_starved_gets_more_time)
{
    struct received received = {0};
    struct launch launch = silent_launch(&received, starve);
    ck_assert_msg(!launch_run(&launch, &why), "%s", why.text);
}
END_TEST

/* ... and only that part of it. */
static enum gw_err stop_reporting(struct gw_comm *comm, struct reporter *report,
                                  void *context, struct gw_error *error)
{
    (void)context, (void)error;
    if (gw_comm_rank(comm) == 1)
        pthread_mutex_lock(&report->lock);
    hang();
}

START_TEST(who_hangs_is_ended_in_the_end)
{
    struct received received = {0};
    struct launch launch = silent_launch(&received, stop_reporting);
    launch.silence_ms = 100;
    ck_assert_int_eq(launch_run(&launch, &why), GW_ELOST);
    ck_assert_msg(strstr(why.text, "did not respond for 800 ms"), "%s",
                  why.text);
}
END_TEST

/* A rank stops the supervisor, and resumes it after more than the limit of
 * silence. */
static enum gw_err stop_parent(struct gw_comm *comm, struct reporter *report,
                               void *context, struct gw_error *error)
{
    const struct timespec away = {.tv_nsec = 900000000};
    (void)report, (void)context, (void)error;
    if (gw_comm_rank(comm) == 0)
        kill(getppid(), SIGSTOP);
    nanosleep(&away, NULL);
    if (gw_comm_rank(comm) == 0)
        kill(getppid(), SIGCONT);
    nanosleep(&away, NULL);
    return GW_OK;
}

START_TEST(a_supervisor_that_was_away_declares_none_dead)
{
    struct received received = {0};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct launch launch = silent_launch(&received, stop_parent);
        enum gw_err code = launch_run(&launch, &why);
        if (code)
            fprintf(stderr, "%s\n", why.text);
        _exit(code != GW_OK);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Rank 2 dies, rank 1 fails; rank 0 sees the first, and has its result. */
static enum gw_err lose_the_others(struct gw_comm *comm,
                                   struct reporter *report, void *context,
                                   struct gw_error *error)
{
    unsigned rank = gw_comm_rank(comm);
    unsigned char byte = 0;
    (void)context;
    if (rank == 1)
        return gw_fail(error, GW_EINVAL, "I will not");
    if (rank == 2)
        raise(SIGKILL);
    if (!gw_recv(comm, &byte, 1, GW_U8, 2))
        return gw_fail(error, GW_EWRONG, "a dead rank has sent something");
    report_send(report, &byte, 1);
    return GW_OK;
}

START_TEST(expendable_ranks_end_nothing)
{
    struct received received = {0};
    struct launch launch = {.ranks = RANKS,
                            .wire = "shm",
                            .expendable = true,
                            .rank_main = lose_the_others,
                            .context = &received,
                            .on_report = receive_report};
    ck_assert_msg(!launch_run(&launch, &why), "%s", why.text);
    ck_assert_uint_eq(received.reports[0], 1);
    launch.expendable = false;
    ck_assert_int_ne(launch_run(&launch, &why), GW_OK);
    expect_no_child();
}
END_TEST

Suite *suite_launch_silence(void)
{
    Suite *suite = suite_create("launch_silence");
    TCase *processes = tcase_create("processes");
    tcase_add_checked_fixture(processes, begin, expect_no_child);
    tcase_add_test(processes, a_stopped_rank_is_ended_and_named);
    tcase_add_test(processes, who_computes_is_not_silent);
    tcase_add_test(processes, who_is_starved_gets_more_time);
    tcase_add_test(processes, who_hangs_is_ended_in_the_end);
    tcase_add_test(processes, a_supervisor_that_was_away_declares_none_dead);
    tcase_add_test(processes, expendable_ranks_end_nothing);
    suite_add_tcase(suite, processes);
    return suite;
}
