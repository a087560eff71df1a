/* SPDX-License-Identifier: MIT
 *
 * The times at which events are shown: speed, freezing, stepping; and the
 * effects of keys.
 */
#include "ringtop/view.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_play(void);

static struct player player;
static struct view view;
static struct gw_error why;

static void setup(void)
{
    view = (struct view){.page = PAGE_OVERVIEW};
}

static void teardown(void)
{
    player_fini(&player);
}

static void add(uint64_t time_ns)
{
    struct gw_event event = {.kind = GW_EV_STEP, .time_ns = time_ns};
    ck_assert_int_eq(player_add(&player, &event, &why), GW_OK);
}

/* Events a second apart. */
static void begin(bool live, double speed, unsigned events)
{
    player_init(&player, live, speed);
    for (uint64_t i = 0; i < events; i++)
        add(1000000000 * (10 + i));
    player.complete = !live;
}

static unsigned due(void)
{
    unsigned count = 0;
    while (player_next(&player))
        count++;
    return count;
}

/* ---- time ---- */

START_TEST(as_recorded)
{
    begin(false, 1, 4);
    player_clock(&player, 5000);
    ck_assert_uint_eq(due(), 1);
    player_clock(&player, 5000 + 999999999);
    ck_assert_uint_eq(due(), 0);
    player_clock(&player, 5000 + 1000000000);
    ck_assert_uint_eq(due(), 1);
    ck_assert(!player_at_end(&player));
    player_clock(&player, 5000 + 9000000000);
    ck_assert_uint_eq(due(), 2);
    ck_assert(player_at_end(&player));
}
END_TEST

START_TEST(at_other_speeds)
{
    begin(false, 4, 9);
    player_clock(&player, 1);
    due();
    player_clock(&player, 1 + 500000000);
    ck_assert_uint_eq(due(), 2);
    player_speed(&player, 0.125, 1 + 500000000); /* x 0.5 now */
    player_clock(&player, 1 + 2500000000);
    ck_assert_uint_eq(due(), 1);
    ck_assert_double_eq(player.speed, 0.5);
}
END_TEST

START_TEST(speeds_have_limits)
{
    begin(false, 1e30, 1);
    ck_assert_double_eq(player.speed, 1e6);
    player_speed(&player, 1e-30, 1);
    ck_assert_double_eq(player.speed, 1e-6);
    player_clock(&player, UINT64_MAX); /* and time moves on by a bounded leap */
    player_speed(&player, 1e30, 1);
    player_clock(&player, UINT64_MAX);
}
END_TEST

START_TEST(frozen_until_stepped)
{
    begin(false, 1, 4);
    player_clock(&player, 1);
    ck_assert_uint_eq(due(), 1);
    player_freeze(&player, 1);
    player_clock(&player, 9000000000);
    ck_assert_uint_eq(due(), 0);
    player_step(&player, 9000000000);
    ck_assert_uint_eq(due(), 1);
    ck_assert_uint_eq(player.at_ns, 11000000000);
    player_freeze(&player, 9000000000); /* continues from there */
    player_clock(&player, 10000000000);
    ck_assert_uint_eq(due(), 1);
}
END_TEST

START_TEST(a_step_freezes)
{
    begin(false, 1, 4);
    player_step(&player, 1);
    ck_assert(player.frozen);
    ck_assert_uint_eq(due(), 1);
    ck_assert_uint_eq(due(), 0);
    player_step(&player, 2); /* typed fast */
    player_step(&player, 2);
    ck_assert_uint_eq(due(), 2);
}
END_TEST

START_TEST(a_step_past_the_end)
{
    begin(false, 1, 1);
    for (int i = 0; i < 3; i++) {
        player_step(&player, 1);
        ck_assert_uint_eq(due(), i == 0);
    }
    ck_assert_uint_eq(player.steps, 0);
}
END_TEST

START_TEST(live_events_are_due_at_once)
{
    begin(true, 1, 3);
    ck_assert_uint_eq(due(), 3);
    ck_assert_uint_eq(player.at_ns, 12000000000);
    player_clock(&player, 100);
    player_clock(&player, 100 + 7000);
    ck_assert_uint_eq(player.at_ns, 12000000000 + 7000);
    for (uint64_t i = 0; i < 10000; i++) {
        add(20000000000 + i);
        ck_assert_uint_eq(due(), 1);
    }
    ck_assert_uint_le(player.room, 1024); /* shown events are freed */
}
END_TEST

START_TEST(freezing_never_holds_up_a_live_run)
{
    begin(true, 1, 0);
    player_freeze(&player, 1);
    for (uint64_t i = 0; i < PLAYER_LIVE_MAX + 5; i++)
        add(i);
    ck_assert_uint_eq(due(), 5);
    player_freeze(&player, 2);
    ck_assert_uint_eq(due(), PLAYER_LIVE_MAX);
}
END_TEST

/* Rows of several processes, each in order. */
START_TEST(a_delay_puts_rows_in_order)
{
    begin(true, 1, 0);
    player.delay_ns = 100;
    add(1000);
    add(1020);
    add(1010);
    player_clock(&player, 1105);
    ck_assert_uint_eq(player_next(&player)->time_ns, 1000);
    ck_assert_uint_eq(due(), 0);
    add(1005); /* late, but not too late */
    ck_assert_uint_eq(player_next(&player)->time_ns, 1005);
    player_clock(&player, 1115);
    ck_assert_uint_eq(player_next(&player)->time_ns, 1010);
    add(5000); /* of a clock that is ahead */
    add(1);    /* too late for any delay */
    ck_assert_uint_eq(player_next(&player)->time_ns, 1);
    ck_assert_uint_eq(due(), 0);
    player.complete = true;
    ck_assert_uint_eq(due(), 2);
    add(7);
    player_forget(&player);
    ck_assert_uint_eq(due(), 0);
}
END_TEST

START_TEST(watchable)
{
    begin(false, 1, 2);
    ck_assert_double_eq_tol(player_watchable(&player), 0.05, 1e-9);
    for (unsigned i = 0; i < 100; i++)
        add(1000000000 * (uint64_t)i);
    ck_assert_double_eq(player_watchable(&player), 1);
}
END_TEST

/* ---- keys ---- */

static void press(int key)
{
    view_key(&view, &player, key, 1);
}

START_TEST(keys)
{
    begin(false, 1, 4);
    press(' ');
    ck_assert(player.frozen);
    press(' ');
    ck_assert(!player.frozen);
    press('<');
    press('<');
    ck_assert_double_eq(player.speed, 0.25);
    press('>');
    ck_assert_double_eq(player.speed, 0.5);
    press('.');
    ck_assert_uint_eq(due(), 1);
    press('\t');
    ck_assert_int_eq(view.page, PAGE_RING);
    press(TOP_BACKTAB);
    press(TOP_BACKTAB);
    ck_assert_int_eq(view.page, PAGE_LOSS);
    press(TOP_F6);
    ck_assert_int_eq(view.sort, SORT_STATE);
    ck_assert(!view.quit);
    press(TOP_F10);
    ck_assert(view.quit);
}
END_TEST

START_TEST(any_key_closes_help)
{
    begin(false, 1, 4);
    press(TOP_F1);
    ck_assert(view.help);
    press(TOP_OTHER); /* the size has changed */
    ck_assert(view.help);
    press(' ');
    ck_assert(!view.help);
    ck_assert(!player.frozen);
    press('h');
    press('q');
    ck_assert(view.quit);
}
END_TEST

START_TEST(finding)
{
    begin(false, 1, 4);
    press(TOP_F3);
    for (const char *at = "ran q."; *at; at++)
        press(*at);
    ck_assert_str_eq(view.find, "ran q.");
    ck_assert(!view.quit);
    press(TOP_BACKSPACE);
    press(127);
    ck_assert_str_eq(view.find, "ran ");
    for (int i = 0; i < 100; i++)
        press('x');
    ck_assert_uint_eq(strlen(view.find), sizeof view.find - 1);
    press('\r');
    ck_assert(!view.finding);
    ck_assert_uint_ne(strlen(view.find), 0);
    press(27);
    ck_assert_str_eq(view.find, "");
}
END_TEST

/* ---- actions ---- */

static void type_all(const char *text)
{
    for (; *text; text++)
        press(*text);
}

START_TEST(a_command_is_confirmed_once)
{
    begin(true, 1, 0);
    view.may_control = true;
    press('k');
    ck_assert_int_eq(view.prompt, CONTROL_KILL);
    press('\r'); /* no number yet */
    ck_assert_int_eq(view.prompt, CONTROL_KILL);
    type_all("123456");
    ck_assert_str_eq(view.typed, "123");
    press(TOP_BACKSPACE);
    press(127);
    press('\r');
    ck_assert_int_eq(view.prompt, CONTROL_NONE);
    ck_assert_int_eq(view.request.kind, CONTROL_KILL);
    ck_assert_uint_eq(view.request.node, 1);
    view.request.kind = CONTROL_NONE;
    strcpy(view.usual, "3"); /* of an empty answer */
    type_all("k\r");
    ck_assert_int_eq(view.request.kind, CONTROL_KILL);
    ck_assert_uint_eq(view.request.node, 3);
    view.request.kind = CONTROL_NONE;
    type_all("p7\r");
    ck_assert_int_eq(view.request.kind, CONTROL_PAUSE);
    ck_assert_uint_eq(view.request.node, 7);
    type_all("a5"); /* it asks for yes or no, not for a number */
    ck_assert_int_eq(view.prompt, CONTROL_NONE);
    view.request.kind = CONTROL_NONE;
    type_all("ay");
    ck_assert_int_eq(view.request.kind, CONTROL_ADD);
    view.request.kind = CONTROL_NONE;
    type_all("a\n");
    ck_assert_int_eq(view.request.kind, CONTROL_ADD);
}
END_TEST

START_TEST(any_other_key_is_a_no)
{
    static const int noes[] = {27, 'n', 'q', 'k', ' ', TOP_UP, TOP_F10};
    begin(true, 1, 0);
    view.may_control = true;
    for (size_t i = 0; i < sizeof noes / sizeof *noes; i++) {
        press('k');
        press('2');
        press(TOP_OTHER); /* a resize is not an answer */
        ck_assert_int_eq(view.prompt, CONTROL_KILL);
        press(noes[i]);
        ck_assert_int_eq(view.prompt, CONTROL_NONE);
        ck_assert_int_eq(view.request.kind, CONTROL_NONE);
        ck_assert(!view.quit && !player.frozen);
    }
}
END_TEST

START_TEST(read_only_clients_send_no_commands)
{
    begin(true, 1, 0);
    for (const char *key = "kpa"; *key; key++) {
        press(*key);
        ck_assert_int_eq(view.prompt, CONTROL_NONE);
        ck_assert(view.refused);
        press('2');
        ck_assert(!view.refused);
        press('\r');
        ck_assert_int_eq(view.request.kind, CONTROL_NONE);
    }
}
END_TEST

START_TEST(scrolling)
{
    begin(false, 1, 4);
    press(TOP_UP);
    press(TOP_LEFT);
    ck_assert_uint_eq(view.rank_top + view.chunk_left, 0);
    press(TOP_DOWN);
    press(TOP_PAGE_DOWN);
    ck_assert_uint_eq(view.rank_top, 11);
    press(TOP_PAGE_UP);
    press(TOP_PAGE_UP);
    ck_assert_uint_eq(view.rank_top, 0);
    view.page = PAGE_EVENTS;
    press(TOP_UP);
    press(TOP_UP);
    press(TOP_DOWN);
    ck_assert_uint_eq(view.event_log_back, 1);
}
END_TEST

Suite *suite_ringtop_play(void)
{
    const TTest *const tests[] = {
        as_recorded,
        at_other_speeds,
        speeds_have_limits,
        frozen_until_stepped,
        a_step_freezes,
        a_step_past_the_end,
        live_events_are_due_at_once,
        freezing_never_holds_up_a_live_run,
        a_delay_puts_rows_in_order,
        watchable,
        a_command_is_confirmed_once,
        any_other_key_is_a_no,
        read_only_clients_send_no_commands,
        keys,
        any_key_closes_help,
        finding,
        scrolling,
    };
    Suite *suite = suite_create("ringtop_play");
    TCase *tcase = tcase_create("ringtop play");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
