/* SPDX-License-Identifier: MIT
 *
 * Launching, with real processes: the ranks' reports arrive; any failure of a
 * rank ends the run within a second with a message that names it; and no child
 * is ever left.
 */
#include "common/command.h"
#include "launch_received.h"

#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Suite *suite_launch(void);

static struct gw_error why;

static void begin(void)
{
    interrupted = 0;
    why = (struct gw_error){.code = GW_OK};
}

static void on_event(void *context, const struct gw_event *event)
{
    struct received *received = context;
    ck_assert_uint_lt(event->rank, RANKS);
    ck_assert_uint_eq(received->reports[event->rank], 1);
    received->begins[event->rank] += event->kind == GW_EV_OP_BEGIN;
    received->applies[event->rank] += event->kind == GW_EV_APPLY;
}

static enum gw_err launch(rank_main *main, struct received *received)
{
    const struct launch launch = {
        .ranks = RANKS,
        .wire = "shm",
        .rank_main = main,
        .context = received,
        .on_report = receive_report,
        .on_event = on_event,
        .events = true,
    };
    return launch_run(&launch, &why);
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(gw_now_ns() - start_ns) * 1e-9;
}

static enum gw_err report_twice(struct gw_comm *comm, struct reporter *report,
                                void *context, struct gw_error *error)
{
    unsigned rank = gw_comm_rank(comm);
    (void)context, (void)error;
    report_send(report, "first", 5);
    report_send(report, &rank, sizeof rank);
    return GW_OK;
}

/* The limit is `seconds` and four times the duration of an empty launch. A busy
 * machine may delay any attempt, so the attempts in time must be two ahead of
 * the late ones. */
static void within(double seconds, double (*try_it)(void))
{
    enum { TRIES = 9, AHEAD = 2 };
    double took = 0, most = seconds;
    int ahead = 0;
    for (unsigned tries = 0; tries < TRIES && ahead < AHEAD; tries++) {
        interrupted = 0;
        uint64_t start_ns = gw_now_ns();
        struct received received = {0};
        ck_assert_int_eq(launch(report_twice, &received), GW_OK);
        most = seconds + 4 * seconds_since(start_ns);
        took = try_it();
        ahead += took < most ? 1 : -1;
    }
    ck_assert_msg(ahead == AHEAD, "%d tries, the last of %g s: within %g s?",
                  TRIES, took, most);
}

START_TEST(reports_arrive_in_order)
{
    struct received received = {0};
    ck_assert_int_eq(launch(report_twice, &received), GW_OK);
    for (unsigned i = 0; i < RANKS; i++) {
        ck_assert_uint_eq(received.reports[i], 2);
        ck_assert_mem_eq(received.last[i], &i, sizeof i);
    }
}
END_TEST

/* A ring of three: two rounds of three chunks, each rank applies four. */
static enum gw_err reduce_once(struct gw_comm *comm, struct reporter *report,
                               void *context, struct gw_error *error)
{
    float ones[30] = {1}, sum[30];
    const struct gw_call call = {
        .collective = GW_ALLREDUCE,
        .in = ones,
        .out = sum,
        .count = 30,
        .type = GW_F32,
        .op = GW_SUM,
        .algo = "ring",
    };
    (void)context, (void)error;
    report_send(report, "before", 6);
    enum gw_err code = gw_run(comm, &call);
    report_send(report, "after", 5);
    return code;
}

START_TEST(events_arrive_in_order_with_reports)
{
    struct received received = {0};
    ck_assert_int_eq(launch(reduce_once, &received), GW_OK);
    for (unsigned i = 0; i < RANKS; i++) {
        ck_assert_uint_eq(received.reports[i], 2);
        ck_assert_uint_eq(received.begins[i], 1); /* connecting emits none */
        ck_assert_uint_eq(received.applies[i], 4);
    }
}
END_TEST

/* More than a pipe holds, so the rank blocks until the supervisor reads. */
static enum gw_err report_much(struct gw_comm *comm, struct reporter *report,
                               void *context, struct gw_error *error)
{
    enum { MUCH_BYTES = 1 << 20 };
    char *much = calloc(1, MUCH_BYTES);
    (void)comm, (void)context;
    if (!much)
        return gw_fail(error, GW_ENOMEM, "a report");
    for (int i = 0; i < 4; i++)
        report_send(report, much, MUCH_BYTES);
    free(much);
    return GW_OK;
}

START_TEST(large_reports_arrive_whole)
{
    struct received received = {0};
    ck_assert_int_eq(launch(report_much, &received), GW_OK);
    ck_assert_uint_eq(received.bytes, (size_t)RANKS * 4 << 20);
}
END_TEST

static enum gw_err fail_one(struct gw_comm *comm, struct reporter *report,
                            void *context, struct gw_error *error)
{
    (void)report, (void)context;
    if (gw_comm_rank(comm) == 1)
        return gw_fail(error, GW_EDATA, "line 3 is no number");
    hang();
}

static double end_by_failure(void)
{
    struct received received = {0};
    uint64_t start_ns = gw_now_ns();
    ck_assert_int_eq(launch(fail_one, &received), GW_EDATA);
    ck_assert_str_eq(why.text, "rank 1: line 3 is no number");
    return seconds_since(start_ns);
}

START_TEST(a_failed_rank_ends_the_run)
{
    within(1.0, end_by_failure);
}
END_TEST

static enum gw_err fail_wordless(struct gw_comm *comm, struct reporter *report,
                                 void *context, struct gw_error *error)
{
    (void)comm, (void)report, (void)context, (void)error;
    return GW_ENOMEM;
}

START_TEST(an_error_without_words_gets_its_name)
{
    struct received received = {0};
    ck_assert_int_eq(launch(fail_wordless, &received), GW_ENOMEM);
    ck_assert_str_eq(why.text, "rank 0: out of memory");
}
END_TEST

static enum gw_err kill_one(struct gw_comm *comm, struct reporter *report,
                            void *context, struct gw_error *error)
{
    pid_t pid = getpid();
    (void)context, (void)error;
    report_send(report, &pid, sizeof pid);
    if (gw_comm_rank(comm) == 2)
        raise(SIGKILL);
    hang();
}

static double end_by_kill(void)
{
    struct received received = {0};
    char expected[128];
    pid_t pid;
    uint64_t start_ns = gw_now_ns();
    ck_assert_int_eq(launch(kill_one, &received), GW_ELOST);
    double took = seconds_since(start_ns);
    memcpy(&pid, received.last[2], sizeof pid);
    snprintf(expected, sizeof expected,
             "rank 2 (pid %d) was killed by signal 9 (Killed)", (int)pid);
    ck_assert_msg(strncmp(why.text, expected, strlen(expected)) == 0,
                  "\"%s\" does not begin with \"%s\"", why.text, expected);
    return took;
}

START_TEST(a_killed_rank_is_named_within_a_second)
{
    within(1.0, end_by_kill);
}
END_TEST

static enum gw_err leave_one(struct gw_comm *comm, struct reporter *report,
                             void *context, struct gw_error *error)
{
    (void)report, (void)context, (void)error;
    if (gw_comm_rank(comm) == 0)
        _exit(3);
    hang();
}

START_TEST(leaving_without_a_result_is_an_error)
{
    struct received received = {0};
    ck_assert_int_eq(launch(leave_one, &received), GW_ELOST);
    ck_assert_ptr_nonnull(strstr(why.text, "status 3 without a result"));
}
END_TEST

/* The rank handles signals, so its last report still comes. */
static enum gw_err until_interrupted(struct gw_comm *comm,
                                     struct reporter *report, void *context,
                                     struct gw_error *error)
{
    struct timespec tick = {.tv_nsec = 1000000};
    (void)comm, (void)context;
    report_send(report, "begin", 5);
    while (!interrupted)
        nanosleep(&tick, NULL);
    report_send(report, "end", 3);
    return gw_fail(error, GW_EINTR, "interrupted");
}

START_TEST(ctrl_c_lets_ranks_end_by_themselves)
{
    struct received received = {.interrupts = 1};
    ck_assert_int_eq(launch(until_interrupted, &received), GW_EINTR);
    ck_assert_str_eq(why.text, "interrupted");
    ck_assert_int_eq(interrupted, SIGINT);
    ck_assert_mem_eq(received.last[0], "end", 3);
}
END_TEST

static enum gw_err deaf(struct gw_comm *comm, struct reporter *report,
                        void *context, struct gw_error *error)
{
    (void)comm, (void)context, (void)error;
    report_send(report, "begin", 5);
    hang();
}

static double end_deaf(unsigned interrupts)
{
    struct received received = {.interrupts = interrupts};
    uint64_t start_ns = gw_now_ns();
    ck_assert_int_eq(launch(deaf, &received), GW_EINTR);
    return seconds_since(start_ns);
}

static double interrupt_once(void)
{
    double took = end_deaf(1);
    ck_assert_double_ge(took, 0.45);
    return took;
}

START_TEST(who_does_not_end_is_ended)
{
    within(1.0, interrupt_once);
}
END_TEST

static double interrupt_twice(void)
{
    return end_deaf(2);
}

START_TEST(ctrl_c_twice_ends_at_once)
{
    within(0.4, interrupt_twice);
}
END_TEST

START_TEST(ctrl_c_before_the_start_starts_none)
{
    struct received received = {0};
    interrupted = 1;
    ck_assert_int_eq(launch(report_twice, &received), GW_EINTR);
    ck_assert_uint_eq(received.reports[0], 0);
}
END_TEST

/* Ranks cannot write into the document on stdout, and must not flush a second
 * copy of the supervisor's buffered output. */
static enum gw_err print_something(struct gw_comm *comm,
                                   struct reporter *report, void *context,
                                   struct gw_error *error)
{
    (void)comm, (void)report, (void)context, (void)error;
    printf("from a rank\n");
    fflush(stdout);
    return GW_OK;
}

START_TEST(stdout_is_the_supervisors)
{
    struct received received = {0};
    char path[] = "/tmp/gw-test-launch-XXXXXX", text[256];
    int file = mkstemp(path), out = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    printf("from the supervisor\n");
    enum gw_err code = launch(print_something, &received);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    unlink(path);
    close(file);
    close(out);
    ck_assert_int_eq(code, GW_OK);
    ck_assert_int_gt(bytes, 0);
    text[bytes] = 0;
    ck_assert_str_eq(text, "from the supervisor\n");
}
END_TEST

START_TEST(signal_mask_comes_back)
{
    struct received received = {0};
    sigset_t before, after;
    sigprocmask(SIG_BLOCK, NULL, &before);
    ck_assert_int_eq(launch(report_twice, &received), GW_OK);
    sigprocmask(SIG_BLOCK, NULL, &after);
    ck_assert_int_eq(sigismember(&before, SIGINT), 0);
    ck_assert_int_eq(sigismember(&after, SIGINT), 0);
    ck_assert_int_eq(sigismember(&after, SIGCHLD), 0);
}
END_TEST

static enum gw_err report_cpus(struct gw_comm *comm, struct reporter *report,
                               void *context, struct gw_error *error)
{
    cpu_set_t cpus;
    (void)comm, (void)context, (void)error;
    sched_getaffinity(0, sizeof cpus, &cpus);
    report_send(report, &cpus, sizeof cpus);
    return GW_OK;
}

struct cpus {
    unsigned ranks;
    cpu_set_t of[RANKS];
};

static void on_cpus(void *context, unsigned rank, const void *data,
                    size_t bytes)
{
    struct cpus *cpus = context;
    ck_assert_uint_eq(bytes, sizeof cpus->of[rank]);
    memcpy(&cpus->of[rank], data, bytes);
    cpus->ranks++;
}

static struct cpus launch_for_cpus(bool no_pin)
{
    struct cpus cpus = {0};
    const struct launch launch = {
        .ranks = RANKS,
        .wire = "shm",
        .no_pin = no_pin,
        .rank_main = report_cpus,
        .context = &cpus,
        .on_report = on_cpus,
    };
    ck_assert_int_eq(launch_run(&launch, &why), GW_OK);
    ck_assert_uint_eq(cpus.ranks, RANKS);
    return cpus;
}

/* Allowed CPUs are assigned in turn: only ranks i and i + count share one. */
START_TEST(ranks_get_a_cpu_each)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int count = CPU_COUNT(&allowed);
    struct cpus cpus = launch_for_cpus(false);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(CPU_COUNT(&cpus.of[i]), 1);
        for (int j = 0; j < i; j++)
            ck_assert_int_eq(CPU_EQUAL(&cpus.of[i], &cpus.of[j]) != 0,
                             i % count == j % count);
    }
    ck_assert_int_eq(CPU_EQUAL(&allowed, &launch_for_cpus(true).of[1]), 1);
}
END_TEST

START_TEST(no_ranks_is_an_error)
{
    struct launch launch = {.ranks = 0, .rank_main = report_twice};
    ck_assert_int_eq(launch_run(&launch, &why), GW_EINVAL);
}
END_TEST

Suite *suite_launch(void)
{
    Suite *suite = suite_create("launch");
    TCase *processes = tcase_create("processes");
    tcase_add_checked_fixture(processes, begin, expect_no_child);
    tcase_add_test(processes, reports_arrive_in_order);
    tcase_add_test(processes, events_arrive_in_order_with_reports);
    tcase_add_test(processes, large_reports_arrive_whole);
    tcase_add_test(processes, a_failed_rank_ends_the_run);
    tcase_add_test(processes, an_error_without_words_gets_its_name);
    tcase_add_test(processes, a_killed_rank_is_named_within_a_second);
    tcase_add_test(processes, leaving_without_a_result_is_an_error);
    tcase_add_test(processes, ctrl_c_lets_ranks_end_by_themselves);
    tcase_add_test(processes, who_does_not_end_is_ended);
    tcase_add_test(processes, ctrl_c_twice_ends_at_once);
    tcase_add_test(processes, ctrl_c_before_the_start_starts_none);
    tcase_add_test(processes, stdout_is_the_supervisors);
    tcase_add_test(processes, signal_mask_comes_back);
    tcase_add_test(processes, ranks_get_a_cpu_each);
    tcase_add_test(processes, no_ranks_is_an_error);
    suite_add_tcase(suite, processes);
    return suite;
}
