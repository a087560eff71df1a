/* SPDX-License-Identifier: MIT
 *
 * A supervisor's counters of recoveries: each survivor reports the whole plan,
 * some late, some before the supervisor knows the decision; each plan counts
 * once.
 */
#include "run/supervisor/supervisor_parts.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_supervisor_recovery(void);

enum { MEMBERS = 4 };

static struct run *run; /* large */

static void begin(void)
{
    run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->formed = true;
    run->update.view.epoch = run->update.view.ring_epoch = 1;
    run->update.view.ring_count = MEMBERS;
    for (unsigned n = 0; n < MEMBERS; n++) {
        run->update.view.ring[n].node = n;
        run->workers[n].role = GW__WORKER;
        run->workers[n].node = run->workers[n].number = n;
    }
}

static void end(void)
{
    free(run);
}

/* A view without the member of that rank, and then its decision. */
static void lose(unsigned rank)
{
    struct gw__membership_update before = run->update;
    struct gw__view *view = &run->update.view;
    memmove(view->ring + rank, view->ring + rank + 1,
            (view->ring_count - rank - 1) * sizeof *view->ring);
    view->ring_count--;
    view->ring_epoch = ++view->epoch;
    run->update.flushing = true;
    run->update.decision_count = 0;
    recovery_view(run, &before);
}

static void decide(enum gw__fate fate, uint64_t op)
{
    struct gw__membership_update before = run->update;
    run->update.flushing = false;
    run->update.decision_count = 2;
    for (unsigned i = 0; i < 2; i++) /* the previous op was complete */
        run->update.decisions[i] =
            (struct gw__decision){.epoch = run->update.view.ring_epoch,
                                  .op = op - 1 + i,
                                  .fate = i ? fate : GW__FORWARD};
    recovery_view(run, &before);
}

/* A member reports one more plan. */
static void report_plan(unsigned node, struct gw_ring_chunks plan)
{
    struct child *child = &run->workers[node];
    struct node_status before = child->status;
    struct gw_ring_chunks *chunks = child->status.ring.chunks;
    memmove(chunks + 1, chunks, (GW_RING_CHUNKS - 1) * sizeof *chunks);
    chunks[0] = plan;
    recovery_on_status(run, child, child->has_status ? &before : NULL);
    child->has_status = true;
}

static json_int_t counted(unsigned recovery, const char *name)
{
    json_t *list = recovery_json(run);
    json_t *value = json_object_get(json_array_get(list, recovery), name);
    ck_assert_msg(json_is_integer(value), "recovery %u: %s", recovery, name);
    json_int_t number = json_integer_value(value);
    json_decref(list);
    return number;
}

#define COUNTED(recovery, kept, redone, fresh)                                 \
    do {                                                                       \
        ck_assert_int_eq(counted(recovery, "chunks_kept"), kept);              \
        ck_assert_int_eq(counted(recovery, "chunks_redone"), redone);          \
        ck_assert_int_eq(counted(recovery, "chunks_fresh"), fresh);            \
    } while (0)
#define SUMS(k, r, f)                                                          \
    do {                                                                       \
        ck_assert_uint_eq(run->chunks.kept, k);                                \
        ck_assert_uint_eq(run->chunks.redone, r);                              \
        ck_assert_uint_eq(run->chunks.fresh, f);                               \
    } while (0)

static const struct gw_ring_chunks plan_2 = {
    .epoch = 2, .op = 7, .spread = 0, .redone = 1, .kept = 2, .fresh = 1};
static const struct gw_ring_chunks plan_3 = {
    .epoch = 3, .op = 9, .spread = 3, .redone = 0, .kept = 0, .fresh = 0};

/* The death noticed was that of the previous process with this number. */
START_TEST(what_was_noticed_of_the_former_is_not_its_own)
{
    const uint64_t second = 1000000000;
    run->workers[2].trouble_ns = gw_now_ns();
    run->failures[2].time_ns = run->workers[2].trouble_ns - 5 * second;
    lose(2);
    json_t *list = recovery_json(run);
    json_t *recovery = json_array_get(list, 0);
    double viewed_ms = json_real_value(json_object_get(recovery, "viewed_ms"));
    double detected_ms =
        json_real_value(json_object_get(recovery, "detected_ms"));
    ck_assert_double_lt(viewed_ms, 4000);
    ck_assert_double_le(detected_ms, viewed_ms);
    json_decref(list);
}
END_TEST

static const char *how_lost(unsigned rank, pid_t pid)
{
    static char how[16];
    run->workers[rank].pid = pid;
    lose(rank);
    json_t *list = recovery_json(run);
    json_t *first = json_array_get(list, 0);
    snprintf(how, sizeof how, "%s",
             json_string_value(json_object_get(first, "how")));
    json_decref(list);
    return how;
}

/* The other members saw its end before this process has reaped it. */
START_TEST(who_has_ended_unread_was_lost_by_its_end)
{
    siginfo_t ended;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    ck_assert_str_eq(how_lost(2, pid), "exit");
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* A killed process closes its sockets before it has ended. */
START_TEST(who_is_being_killed_was_lost_by_its_end)
{
    run->workers[2].killed = true;
    ck_assert_str_eq(how_lost(2, getpid()), "exit");
}
END_TEST

START_TEST(who_lives_was_silent)
{
    ck_assert_str_eq(how_lost(2, getpid()), "silence");
}
END_TEST

START_TEST(a_plan_counts_once_however_many_report_it)
{
    lose(2);
    decide(GW__EXCLUDE, 7);
    report_plan(0, plan_2);
    report_plan(1, plan_2);
    report_plan(3, plan_2);
    COUNTED(0, 2, 1, 1);
    SUMS(2, 1, 1);
}
END_TEST

START_TEST(complete_copies_are_kept)
{
    lose(2);
    decide(GW__FORWARD, 7);
    report_plan(
        0, (struct gw_ring_chunks){.epoch = 2, .op = 7, .spread = MEMBERS});
    COUNTED(0, MEMBERS, 0, 0);
    SUMS(MEMBERS, 0, 0);
}
END_TEST

/* The plan for the previous op only spread the result, so it does not count. */
START_TEST(the_op_that_was_interrupted_counts)
{
    lose(2);
    decide(GW__EXCLUDE, 7);
    report_plan(
        0, (struct gw_ring_chunks){.epoch = 2, .op = 6, .spread = MEMBERS});
    COUNTED(0, 0, 0, 0);
    report_plan(0, plan_2);
    COUNTED(0, 2, 1, 1);
    SUMS(2, 1, 1);
}
END_TEST

START_TEST(a_late_report_counts_where_it_belongs)
{
    lose(2);
    decide(GW__EXCLUDE, 7);
    lose(2);
    decide(GW__FORWARD, 9);
    report_plan(0, plan_2);
    report_plan(0, plan_3);
    report_plan(1, plan_3);
    COUNTED(0, 2, 1, 1);
    COUNTED(1, 3, 0, 0);
    report_plan(1, plan_2);
    COUNTED(0, 2, 1, 1);
    COUNTED(1, 3, 0, 0);
    SUMS(5, 1, 1);
}
END_TEST

/* Members may know a decision before the supervisor does. */
START_TEST(an_early_report_waits_for_the_decision)
{
    report_plan(0, plan_2);
    lose(2);
    COUNTED(0, 0, 0, 0);
    decide(GW__EXCLUDE, 7);
    COUNTED(0, 2, 1, 1);
    SUMS(2, 1, 1);
}
END_TEST

/* Recoveries that are no longer listed still count in the sums. */
START_TEST(sums_outlive_the_list)
{
    enum { MANY = RECOVERIES_MAX + 3 };
    for (unsigned i = 0; i < MANY; i++) {
        unsigned lost = run->update.view.ring[0].node;
        lose(0);
        decide(GW__EXCLUDE, 7 + i);
        report_plan(
            1, (struct gw_ring_chunks){.epoch = run->update.view.ring_epoch,
                                       .op = 7 + i,
                                       .kept = 1,
                                       .redone = 2});
        run->update.view.ring[run->update.view.ring_count++].node = lost;
    }
    SUMS(MANY, 2 * MANY, 0);
    COUNTED(0, 1, 2, 0);
    COUNTED(RECOVERIES_MAX - 1, 1, 2, 0);
}
END_TEST

Suite *suite_supervisor_recovery(void)
{
    const TTest *const tests[] = {
        what_was_noticed_of_the_former_is_not_its_own,
        who_has_ended_unread_was_lost_by_its_end,
        who_is_being_killed_was_lost_by_its_end,
        who_lives_was_silent,
        a_plan_counts_once_however_many_report_it,
        complete_copies_are_kept,
        the_op_that_was_interrupted_counts,
        a_late_report_counts_where_it_belongs,
        an_early_report_waits_for_the_decision,
        sums_outlive_the_list,
    };
    Suite *suite = suite_create("supervisor_recovery");
    TCase *tcase = tcase_create("chunks");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
