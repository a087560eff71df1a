/* SPDX-License-Identifier: MIT
 *
 * The controllers' log on a real disk and real sockets: order, leaders, cuts,
 * restarts, snapshots, and that it can be closed at any time.
 */
#include "logs.h"

#include <cluster/registry/registry.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

Suite *suite_raft_log(void);

static struct logs logs;

/* With a key or without. */
static void begin(unsigned count, bool secured)
{
    logs_begin(&logs, count);
    if (secured)
        logs_secure(&logs);
}

/* Entry n has number n. */
static void in_order(unsigned i, uint64_t first, uint64_t last)
{
    const struct log_sight *one = logs_sight(&logs, i);
    for (uint64_t n = first; n <= last; n++)
        ck_assert_uint_eq(one->numbers[one->count - 1 - (last - n)], n);
}

START_TEST(a_single_one_leads_and_keeps_its_entries)
{
    begin(1, _i);
    logs_open(&logs, 0);
    ck_assert_uint_eq(logs_leader(&logs), 0);
    for (uint64_t n = 1; n <= 50; n++)
        logs_propose(&logs, 0, n);
    logs_await(&logs, 0, 50);
    in_order(0, 1, 50);
    logs_check(&logs, 0);
    logs_close(&logs, 0);
    logs_open(&logs, 0);
    logs_await(&logs, 0, 50);
    in_order(0, 1, 50);
    ck_assert_uint_eq(logs_leader(&logs), 0);
    logs_propose(&logs, 0, 51);
    logs_await(&logs, 0, 51);
    logs_check(&logs, 0);
    logs_end(&logs);
}
END_TEST

/* Proposes it until the leader has it, since a change of the leader loses the
 * proposal. Returns the time taken. */
static uint64_t commit_ns(uint64_t number)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    uint64_t from_ns = gw_now_ns(), again_ns = 0;
    uint64_t index = logs_sight(&logs, logs_leader(&logs))->index;
    for (;;) {
        unsigned leader = logs_leader(&logs);
        if (gw_now_ns() > again_ns) {
            logs_propose(&logs, leader, number);
            again_ns = gw_now_ns() + 2000000000U;
        }
        if (logs_sight(&logs, leader)->index > index)
            return gw_now_ns() - from_ns;
        ck_assert(gw_now_ns() - from_ns < 20000000000U);
        nanosleep(&moment, NULL);
    }
}

START_TEST(three_agree_and_outlive_their_leader)
{
    begin(3, _i);
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    unsigned leader = logs_fill(&logs, 20);
    logs_propose(&logs, (leader + 1) % 3, 99); /* does not lead: lost */
    for (unsigned i = 0; i < 3; i++) {
        logs_await(&logs, i, 20);
        in_order(i, 1, 20);
    }
    logs_close(&logs, leader);
    unsigned next = logs_leader(&logs);
    ck_assert_uint_ne(next, leader);
    commit_ns(21);
    logs_await(&logs, 3 - leader - next, 21);
    logs_open(&logs, leader);
    logs_await(&logs, leader, 21);
    in_order(leader, 1, 21);
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    logs_end(&logs);
}
END_TEST

/* A proposal is lost when its leader is replaced before the others have it, so
 * it is proposed again every 2 s. */
static void commit_without(unsigned old, uint64_t number)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    unsigned a = (old + 1) % 3, b = (old + 2) % 3;
    uint64_t from_ns = gw_now_ns(), again_ns = 0;
    uint64_t index = logs_sight(&logs, old)->index;
    while (logs_sight(&logs, a)->index <= index ||
           logs_sight(&logs, b)->index <= index) {
        unsigned leader = logs_sight(&logs, a)->leader;
        if ((leader == a || leader == b) && gw_now_ns() > again_ns) {
            logs_propose(&logs, leader, number);
            again_ns = gw_now_ns() + 2000000000U;
        }
        ck_assert(gw_now_ns() - from_ns < 20000000000U);
        nanosleep(&moment, NULL);
    }
}

/* Also with links that delay messages. */
START_TEST(a_partitioned_leader_is_replaced_and_comes_back)
{
    const struct gw_link_profile late = {.delay_us = 20000};
    begin(3, _i & 1);
    if (_i & 2) {
        logs_open_profiles(&logs);
        logs_set_links(&logs, late);
    }
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    unsigned old = logs_leader(&logs);
    logs_propose(&logs, old, 1);
    logs_await(&logs, old, 1);
    for (unsigned i = 0; i < 3; i++)
        if (i != old) {
            gw__raft_log_cut(logs.logs[old].log, i, true);
            gw__raft_log_cut(logs.logs[i].log, old, true);
        }
    logs_propose(&logs, old, 66); /* reaches no other log */
    commit_without(old, 2);
    ck_assert_uint_eq(logs_sight(&logs, old)->index, 1);
    for (unsigned i = 0; i < 3; i++)
        if (i != old) {
            gw__raft_log_cut(logs.logs[old].log, i, false);
            gw__raft_log_cut(logs.logs[i].log, old, false);
        }
    logs_await(&logs, old, 2);
    const struct log_sight *healed = logs_sight(&logs, old);
    ck_assert_uint_eq(healed->numbers[0], 1);
    for (unsigned n = 1; n < healed->count; n++)
        ck_assert_uint_eq(healed->numbers[n], 2); /* 66 is lost */
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    logs_end(&logs);
}
END_TEST

/* Message and answer both take the time of the link. */
START_TEST(what_a_link_does_the_log_feels)
{
    const struct gw_link_profile none = {0}, late = {.delay_us = 30000},
                                 slow = {.rate = 4000};
    begin(3, _i);
    logs_open_profiles(&logs);
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    commit_ns(1);
    logs_set_links(&logs, late);
    ck_assert_uint_ge(commit_ns(2), 2 * 30000000);
    logs_set_links(&logs, slow); /* at least 64 bytes */
    ck_assert_uint_ge(commit_ns(3), 2 * 16000000);
    logs_set_links(&logs, none);
    commit_ns(4);
    for (unsigned i = 0; i < 3; i++) {
        logs_await(&logs, i, logs_sight(&logs, logs_leader(&logs))->index);
        logs_check(&logs, i);
    }
    logs_end(&logs);
}
END_TEST

START_TEST(a_snapshot_stands_for_what_came_before)
{
    enum { LAST = 77777 };
    begin(3, _i);
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    unsigned late = (logs_fill(&logs, 10) + 1) % 3;
    logs_close(&logs, late);
    logs_fill(&logs, 1710);
    commit_ns(LAST);
    uint64_t index = logs_sight(&logs, logs_leader(&logs))->index;
    logs_open(&logs, late); /* compacted away in the other logs */
    logs_await(&logs, late, index);
    ck_assert_uint_ge(logs_sight(&logs, late)->snapshots, 1);
    in_order(late, LAST, LAST);
    logs_close(&logs, late);
    logs_open(&logs, late); /* from its disk */
    logs_await(&logs, late, index);
    ck_assert_uint_ge(logs_sight(&logs, late)->snapshots, 1);
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    logs_end(&logs);
}
END_TEST

/* At any moment of a write. */
START_TEST(it_can_be_closed_at_any_time)
{
    uint64_t number = 0, had = 0;
    begin(3, _i);
    for (unsigned round = 0; round < 12; round++) {
        for (unsigned i = 0; i < 3; i++)
            if (!logs.logs[i].log)
                logs_open(&logs, i);
        unsigned leader = logs_leader(&logs);
        for (unsigned n = 0; n < 40; n++)
            logs_propose(&logs, leader, ++number);
        if (round % 3 == 0)
            logs_await(&logs, leader, had + 1);
        logs_close(&logs, round % 2 ? leader : (leader + 1) % 3);
        had = logs_sight(&logs, leader)->index;
    }
    logs_end(&logs);
}
END_TEST

START_TEST(proposals_after_the_end_are_refused)
{
    begin(1, _i);
    logs_open(&logs, 0);
    gw__raft_log_stop(logs.logs[0].log);
    ck_assert_int_eq(gw__raft_log_propose(logs.logs[0].log, "x", 1),
                     GW_ECLOSED);
    logs_end(&logs);
}
END_TEST

START_TEST(what_cannot_be_opened_reports_why)
{
    struct gw_error why = {0};
    struct gw__raft_log *log;
    char path[128];
    begin(2, _i);
    const char *addresses[] = {logs.addresses[0], logs.addresses[1]};
    struct gw__raft_log_config config = {.count = 2,
                                         .addresses = addresses,
                                         .directory = "/proc/none/here",
                                         .security.key_file =
                                             _i ? logs.key.path : NULL,
                                         .election_ms = 150,
                                         .heartbeat_ms = 30};
    logs_open(&logs, 0);
    ck_assert_int_ne(gw__raft_log_open(&config, &log, &why), GW_OK);
    ck_assert_msg(strstr(why.text, "/proc/none/here"), "%s", why.text);
    snprintf(path, sizeof path, "%s/other", logs.directory);
    config.directory = path;
    ck_assert_int_ne(gw__raft_log_open(&config, &log, &why), GW_OK);
    ck_assert_msg(strstr(why.text, addresses[0]), "%s", why.text);
    ck_assert_ptr_null(log);
    logs_end(&logs);
}
END_TEST

Suite *suite_raft_log(void)
{
    Suite *suite = suite_create("raft_log");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_single_one_leads_and_keeps_its_entries, 0, 2);
    tcase_add_loop_test(t, three_agree_and_outlive_their_leader, 0, 2);
    tcase_add_loop_test(t, a_partitioned_leader_is_replaced_and_comes_back, 0,
                        4);
    tcase_add_loop_test(t, what_a_link_does_the_log_feels, 0, 2);
    tcase_add_loop_test(t, a_snapshot_stands_for_what_came_before, 0, 2);
    tcase_add_loop_test(t, it_can_be_closed_at_any_time, 0, 2);
    tcase_add_loop_test(t, proposals_after_the_end_are_refused, 0, 2);
    tcase_add_loop_test(t, what_cannot_be_opened_reports_why, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
