/* SPDX-License-Identifier: MIT
 *
 * The bounds on the number of members: with too few the ring waits for joiners,
 * but not forever; with enough it admits no others. And without controllers it
 * gives up.
 */
#include "ring_members.h"

#include <string.h>

Suite *suite_ring_bounds(void);

static struct ring_members members;

static void teardown(void)
{
    members_stop(&members);
}

static void gives_up(unsigned number, const char *sentence)
{
    const char *text = member_process(&members, number)->text;
    members_await_state(&members, number, PROCESS_GAVE_UP);
    ck_assert_msg(strstr(text, sentence) != NULL, "%u: %s", number, text);
}

static unsigned joiners(void)
{
    gw__session_lock(&members.supervisor);
    unsigned count = members.supervisor.update.joiner_count;
    gw__session_unlock(&members.supervisor);
    return count;
}

static void await_joiners(unsigned count)
{
    while (joiners() != count) /* ends by check's timeout */
        members_await_ops(&members, 0, 1);
}

/* The op in which the loss was found has the dead member's data or not; one
 * more op begins without it. */
START_TEST(too_few_wait_for_a_joiner)
{
    const struct members_plan plan = {
        .members = 3, .processes = 4, .think_us = 500, .least = 3};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_kill(&members, 1);
    members_await_size(&members, 2);
    members_let_join(&members, 3);
    members_await_ops(&members, 3, 10);
    ring_members_end(&members);
    const struct member_process *process = member_process(&members, 0);
    unsigned few = 0;
    for (uint64_t op = process->first_op; op + 1 < process->status.op; op++)
        few += __builtin_popcountll(
                   process->records[op % MEMBERS_OPS].contributors) < 3;
    ck_assert_uint_ge(few, 1);
    ck_assert_uint_le(few, 2);
}
END_TEST

START_TEST(too_few_do_not_wait_for_ever)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .least = 2, .patience_ms = 300};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_kill(&members, 2);
    members_await_size(&members, 2);
    uint64_t ops = atomic_load(&member_process(&members, 0)->ops);
    members_await_all(&members, ops + 100); /* two are enough */
    members_kill(&members, 1);
    gives_up(0, "the ring has 1 of at least 2 members, after 0.3 s");
}
END_TEST

START_TEST(a_full_ring_admits_none)
{
    const struct members_plan plan = {
        .members = 2, .processes = 4, .think_us = 500, .most = 2};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_let_join(&members, 2);
    await_joiners(1);
    gives_up(2, "the ring already has its 2 members");
    await_joiners(0); /* its candidacy has ended */
    gw__session_lock(&members.supervisor);
    ck_assert_uint_eq(members.supervisor.update.view.ring_epoch,
                      1); /* it was never a member */
    gw__session_unlock(&members.supervisor);
    members_let_join(&members, 3); /* a joiner that waits for a free place */
    await_joiners(1);
    members_kill(&members, 1);
    members_await_ops(&members, 3, 10);
    ring_members_end(&members);
}
END_TEST

START_TEST(of_those_who_begin_the_last_leave)
{
    const struct members_plan plan = {
        .members = 4, .processes = 4, .think_us = 500, .most = 3};
    ring_members_start(&members, &plan);
    gives_up(3, "the ring already has its 3 members");
    members_await_all(&members, 10);
    ring_members_end(&members);
}
END_TEST

/* The controllers may be away while no change of membership needs them. */
START_TEST(without_controllers_it_gives_up)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .think_us = 500, .patience_ms = 300};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    gw__controller_stop(&members.controller);
    uint64_t ops = atomic_load(&member_process(&members, 0)->ops);
    members_await_all(&members, ops + 100);
    members_kill_unreported(&members, 2);
    for (unsigned i = 0; i < 2; i++)
        gives_up(i, "a majority of the controllers has been unreachable for "
                    "0.3 s: no message from the leading controller for ");
}
END_TEST

Suite *suite_ring_bounds(void)
{
    Suite *suite = suite_create("ring_bounds");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, too_few_wait_for_a_joiner);
    tcase_add_test(t, too_few_do_not_wait_for_ever);
    tcase_add_test(t, a_full_ring_admits_none);
    tcase_add_test(t, of_those_who_begin_the_last_leave);
    tcase_add_test(t, without_controllers_it_gives_up);
    suite_add_tcase(suite, t);
    return suite;
}
