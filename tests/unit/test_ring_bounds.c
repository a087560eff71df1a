/* SPDX-License-Identifier: MIT
 *
 * The bounds on the number of members: with too few the ring waits for joiners,
 * but not forever; with enough it admits no others. And without controllers it
 * gives up.
 */
#include "ring_crew.h"

#include <string.h>

Suite *suite_ring_bounds(void);

static struct crew crew;

static void teardown(void)
{
    crew_stop(&crew);
}

static void gives_up(unsigned seat, const char *sentence)
{
    const char *text = crew_seat(&crew, seat)->text;
    crew_await_state(&crew, seat, CREW_GAVE_UP);
    ck_assert_msg(strstr(text, sentence) != NULL, "%u: %s", seat, text);
}

static unsigned joiners(void)
{
    gw__session_lock(&crew.supervisor);
    unsigned count = crew.supervisor.update.joiner_count;
    gw__session_unlock(&crew.supervisor);
    return count;
}

static void await_joiners(unsigned count)
{
    while (joiners() != count) /* ends by check's timeout */
        crew_await_ops(&crew, 0, 1);
}

/* The op in which the loss was found has the dead member's data or not; one
 * more op begins without it. */
START_TEST(too_few_wait_for_a_joiner)
{
    const struct crew_plan plan = {
        .members = 3, .seats = 4, .think_us = 500, .least = 3};
    ring_crew_start(&crew, &plan);
    crew_await_all(&crew, 10);
    crew_kill(&crew, 1);
    crew_await_size(&crew, 2);
    crew_go(&crew, 3);
    crew_await_ops(&crew, 3, 10);
    ring_crew_end(&crew);
    const struct crew_seat *seat = crew_seat(&crew, 0);
    unsigned few = 0;
    for (uint64_t op = seat->first_op; op + 1 < seat->status.op; op++)
        few +=
            __builtin_popcountll(seat->records[op % CREW_OPS].contributors) < 3;
    ck_assert_uint_ge(few, 1);
    ck_assert_uint_le(few, 2);
}
END_TEST

START_TEST(too_few_do_not_wait_for_ever)
{
    const struct crew_plan plan = {
        .members = 3, .seats = 3, .least = 2, .patience_ms = 300};
    ring_crew_start(&crew, &plan);
    crew_await_all(&crew, 10);
    crew_kill(&crew, 2);
    crew_await_size(&crew, 2);
    uint64_t ops = atomic_load(&crew_seat(&crew, 0)->ops);
    crew_await_all(&crew, ops + 100); /* two are enough */
    crew_kill(&crew, 1);
    gives_up(0, "the ring has 1 of at least 2 members, after 0.3 s");
}
END_TEST

START_TEST(a_full_ring_lets_nobody_in)
{
    const struct crew_plan plan = {
        .members = 2, .seats = 4, .think_us = 500, .most = 2};
    ring_crew_start(&crew, &plan);
    crew_await_all(&crew, 10);
    crew_go(&crew, 2);
    await_joiners(1);
    gives_up(2, "the ring already has its 2 members");
    await_joiners(0); /* its candidacy has ended */
    gw__session_lock(&crew.supervisor);
    ck_assert_uint_eq(crew.supervisor.update.view.ring_epoch,
                      1); /* it was never a member */
    gw__session_unlock(&crew.supervisor);
    crew_go(&crew, 3); /* a joiner that waits for a free place */
    await_joiners(1);
    crew_kill(&crew, 1);
    crew_await_ops(&crew, 3, 10);
    ring_crew_end(&crew);
}
END_TEST

START_TEST(of_those_who_begin_the_last_leave)
{
    const struct crew_plan plan = {
        .members = 4, .seats = 4, .think_us = 500, .most = 3};
    ring_crew_start(&crew, &plan);
    gives_up(3, "the ring already has its 3 members");
    crew_await_all(&crew, 10);
    ring_crew_end(&crew);
}
END_TEST

/* The controllers may be away while no change of membership needs them. */
START_TEST(without_controllers_it_gives_up)
{
    const struct crew_plan plan = {
        .members = 3, .seats = 3, .think_us = 500, .patience_ms = 300};
    ring_crew_start(&crew, &plan);
    crew_await_all(&crew, 10);
    gw__controller_stop(&crew.controller);
    uint64_t ops = atomic_load(&crew_seat(&crew, 0)->ops);
    crew_await_all(&crew, ops + 100);
    crew_kill_unseen(&crew, 2);
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
    tcase_add_test(t, a_full_ring_lets_nobody_in);
    tcase_add_test(t, of_those_who_begin_the_last_leave);
    tcase_add_test(t, without_controllers_it_gives_up);
    suite_add_tcase(suite, t);
    return suite;
}
