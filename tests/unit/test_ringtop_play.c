/* SPDX-License-Identifier: MIT
 *
 * How events come in and when they are shown: recordings whole, cut short and
 * broken, pipes that are followed; speed, freezing, stepping; keys.
 */
#include "ringtop/show.h"
#include "tape.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    player_freeze(&player, 9000000000); /* goes on from there */
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
    ck_assert_uint_le(player.room, 1024); /* what was shown is forgotten */
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
    ck_assert_uint_eq(view.journal_back, 1);
}
END_TEST

/* ---- sources ---- */

static char path[64];

static void write_file(const char *text)
{
    strcpy(path, "/tmp/ringtop-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define LINE(step) "{\"kind\":\"send\",\"rank\":0,\"step\":" #step "}\n"

static void expect(struct source *source, enum gw_err code, unsigned step)
{
    struct gw_event event;
    ck_assert_int_eq(source->next(source, 0, &event, &why), code);
    if (code == GW_OK)
        ck_assert_uint_eq(event.step, step);
}

START_TEST(lines_with_flaws)
{
    struct source *source;
    char sentence[128];
    write_file(LINE(1) "\n  \n"
                       "nonsense\n" LINE(2) "{\"kind\":\"se");
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_OK, 1);
    expect(source, GW_EDATA, 0);
    snprintf(sentence, sizeof sentence, "%s:4: ", path);
    ck_assert_ptr_eq(strstr(why.text, sentence), why.text);
    expect(source, GW_OK, 2);
    expect(source, GW_EDATA, 0);
    snprintf(sentence, sizeof sentence,
             "%s:6: cut short in the middle of a line", path);
    ck_assert_str_eq(why.text, sentence);
    expect(source, GW_ECLOSED, 0);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    unlink(path);
}
END_TEST

START_TEST(the_last_line_may_lack_its_end)
{
    struct source *source;
    write_file(LINE(1) "{\"kind\":\"send\",\"step\":2}");
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_OK, 1);
    expect(source, GW_OK, 2);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    unlink(path);
}
END_TEST

START_TEST(a_line_that_is_too_long)
{
    enum { LONG = 300000 };
    struct source *source;
    char *text = malloc(LONG + 256);
    memset(text, 'x', LONG);
    strcpy(text + LONG, "\n" LINE(5));
    write_file(text);
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_EDATA, 0);
    ck_assert_ptr_nonnull(strstr(why.text, ":1: longer than 65536 bytes"));
    expect(source, GW_OK, 5);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    free(text);
    unlink(path);
}
END_TEST

START_TEST(a_pipe_is_followed)
{
    int ends[2];
    struct source *source;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(source_lines("-", &source, &why), GW_OK);
    ck_assert(source->live);
    expect(source, GW_PENDING, 0);
    static const char half[] = "{\"kind\":\"send\",", rest[] = "\"step\":3}\n";
    ck_assert_int_eq(write(ends[1], half, sizeof half - 1), sizeof half - 1);
    expect(source, GW_PENDING, 0);
    ck_assert_int_eq(write(ends[1], rest, sizeof rest - 1), sizeof rest - 1);
    expect(source, GW_OK, 3);
    expect(source, GW_PENDING, 0);
    close(ends[1]);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    close(ends[0]);
}
END_TEST

START_TEST(no_such_file)
{
    struct source *source;
    ck_assert_int_eq(source_lines("/no/such/file", &source, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/no/such/file: No such file or directory");
    ck_assert_ptr_null(source);
}
END_TEST

/* ---- a showing ---- */

static enum gw_err open_show(struct show *show)
{
    const struct show_options options = {.path = path};
    return show_init(show, &options, &why);
}

START_TEST(what_could_be_read_is_shown)
{
    struct show show;
    write_file(LINE(1) LINE(2) "{\"kind\":\"se");
    ck_assert_int_eq(open_show(&show), GW_OK);
    ck_assert_uint_eq(show.player.count, 2);
    ck_assert(show.player.complete);
    ck_assert_ptr_nonnull(strstr(
        show.notice, ":3: cut short in the middle of a line; 2 events are "
                     "shown"));
    show_events(&show, 1);
    ck_assert_uint_eq(show.state->events, 1);
    show_fini(&show);
    unlink(path);
}
END_TEST

START_TEST(nothing_could_be_read)
{
    struct show show;
    write_file("what\nis\nthis\n");
    ck_assert_int_eq(open_show(&show), GW_EDATA);
    ck_assert_ptr_nonnull(
        strstr(why.text, "(and 2 lines more); 0 events are shown"));
    unlink(path);
    write_file("");
    ck_assert_int_eq(open_show(&show), GW_EDATA);
    ck_assert_str_eq(why.text, "there is no event in the recording");
    unlink(path);
}
END_TEST

START_TEST(a_showing_in_time)
{
    struct show show;
    write_file("{\"kind\":\"send\",\"rank\":0,\"peer\":1,\"time_ns\":1000}\n"
               "{\"kind\":\"send\",\"rank\":1,\"peer\":0,\"time_ns\":3000}\n");
    ck_assert_int_eq(open_show(&show), GW_OK);
    ck_assert_double_eq(show.player.speed, 1e-6); /* the slowest there is */
    ck_assert_int_eq(grid_size(&show.grid, 80, 24, &why), GW_OK);
    show_advance(&show, 1);
    ck_assert_uint_eq(show.state->events, 1);
    show_advance(&show, 1 + 1000000000); /* the clock goes on between events */
    ck_assert_uint_eq(show.state->events, 1);
    ck_assert_uint_eq(show.state->now_ns, 2000);
    show_advance(&show, 1 + 2000000000);
    ck_assert_uint_eq(show.state->events, 2);
    show_draw(&show);
    show_fini(&show);
    unlink(path);
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
        watchable,
        keys,
        any_key_closes_help,
        finding,
        scrolling,
        lines_with_flaws,
        the_last_line_may_lack_its_end,
        a_line_that_is_too_long,
        a_pipe_is_followed,
        no_such_file,
        what_could_be_read_is_shown,
        nothing_could_be_read,
        a_showing_in_time,
    };
    Suite *suite = suite_create("ringtop_play");
    TCase *tcase = tcase_create("ringtop play");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
