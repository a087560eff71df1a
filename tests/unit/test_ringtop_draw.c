/* SPDX-License-Identifier: MIT
 *
 * The pictures of the live view: golden frames, every size, both sets of
 * characters, and that no message hangs on a colour.
 */
#include "golden.h"
#include "ringtop/draw.h"
#include "ringtop/paint.h"
#include "ringtop/ring_path.h"
#include "tape.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ringtop_draw(void);

static struct tape tape;
static struct state *state;
static struct player player;
static struct view view;
static struct grid grid;
static struct picture picture;

static const char ring[] = "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n";

static void setup(void)
{
    tape.count = 0;
    tape.now_ns = 1000000;
    view = (struct view){.page = PAGE_OVERVIEW};
    player_init(&player, false, 1);
    ck_assert_int_eq(state_new(&state, NULL), GW_OK);
    picture = (struct picture){
        .state = state,
        .view = &view,
        .player = &player,
        .glyphs = &glyphs_utf8,
        .keys = true,
    };
}

static void teardown(void)
{
    state_destroy(&state);
    player_fini(&player);
    grid_fini(&grid);
}

static void feed(size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        state_event(state, &tape.events[i]);
}

static void record(const char *text, uint32_t op)
{
    struct gw_plan *plan = tape_plan(text);
    tape_op(&tape, plan, op, 3072);
    gw_plan_destroy(&plan);
}

static void draw_at(int width, int height)
{
    state_settle(state);
    ck_assert_int_eq(grid_size(&grid, width, height, NULL), GW_OK);
    draw(&picture, &grid);
}

static bool seen(const char *text)
{
    char *lines = grid_lines(&grid);
    bool found = strstr(lines, text) != NULL;
    free(lines);
    return found;
}

/* Two ops, the second one in its second step. */
static void feed_into_second(void)
{
    record(ring, 1);
    size_t second = tape.count;
    record(ring, 2);
    feed(0, second + 3 + 6 + 3 + 1);
    state_time(state, state->now_ns + 400);
}

static void feed_failure(void)
{
    record(ring, 1);
    feed(0, 3 + 4);
    tape.count = 0;
    tape.now_ns += 10000000;
    tape_add(&tape, GW_EV_FAILURE, 1, GW_BY_SILENCE)->peer = 2;
    tape.now_ns += 5000000;
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    tape.now_ns += 1000000;
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 2)->epoch = 1;
    struct gw_event *event = tape_add(&tape, GW_EV_DECISION, GW_NONE, 1);
    event->op = 1;
    event->epoch = 1;
    for (uint32_t i = 0; i < 3; i++) {
        event = tape_add(&tape, GW_EV_RECOVERY, 0, i == 2);
        event->op = 1;
        event->epoch = 1;
        event->chunk = i;
    }
    tape.now_ns += 2000000;
    event = tape_add(&tape, GW_EV_OP_END, 0, 0);
    event->op = 1;
    event->epoch = 1;
    feed(0, tape.count);
}

static void feed_losses(unsigned count)
{
    for (unsigned step = 1; step <= count; step++)
        tape_add(&tape, GW_EV_LOSS, 0, 690000000 / (1 + step / 5))->step = step;
    feed(0, tape.count);
}

/* ---- golden frames ---- */

START_TEST(golden_overview)
{
    feed_into_second();
    draw_at(80, 24);
    assert_golden(&grid, "overview-80x24");
    picture.glyphs = &glyphs_ascii;
    draw_at(40, 10);
    assert_golden(&grid, "overview-40x10-ascii");
    draw_at(120, 40);
    assert_golden(&grid, "overview-120x40-ascii");
}
END_TEST

START_TEST(golden_ring)
{
    feed_into_second();
    view.page = PAGE_RING;
    draw_at(80, 24);
    assert_golden(&grid, "ring-80x24");
    picture.glyphs = &glyphs_ascii;
    draw_at(40, 10);
    assert_golden(&grid, "ring-40x10-ascii");
}
END_TEST

START_TEST(golden_chunks)
{
    feed_into_second();
    view.page = PAGE_CHUNKS;
    draw_at(40, 10);
    assert_golden(&grid, "chunks-40x10");
}
END_TEST

START_TEST(golden_failover)
{
    feed_failure();
    draw_at(80, 24);
    assert_golden(&grid, "dead-80x24");
    view.page = PAGE_FAILOVER;
    draw_at(80, 24);
    assert_golden(&grid, "failover-80x24");
    picture.glyphs = &glyphs_ascii;
    draw_at(40, 10);
    assert_golden(&grid, "failover-40x10-ascii");
}
END_TEST

START_TEST(golden_loss)
{
    feed_losses(100);
    view.page = PAGE_LOSS;
    draw_at(80, 24);
    assert_golden(&grid, "loss-80x24");
    picture.glyphs = &glyphs_ascii;
    draw_at(40, 10);
    assert_golden(&grid, "loss-40x10-ascii");
}
END_TEST

START_TEST(golden_help)
{
    view.help = true;
    draw_at(80, 24);
    assert_golden(&grid, "help-80x24");
    picture.glyphs = &glyphs_ascii;
    draw_at(40, 10);
    assert_golden(&grid, "help-40x10-ascii");
}
END_TEST

START_TEST(golden_double)
{
    record("allreduce ranks=3 chunks=1\n"
           "step 0>1 c0 +\n"
           "step 0>2 c0 +\n"
           "step 1>2 c0 +\n"
           "step 2>0 c0 =  2>1 c0 =\n",
           1);
    feed(0, tape.count);
    draw_at(80, 24);
    assert_golden(&grid, "double-80x24");
}
END_TEST

/* ---- sizes ---- */

START_TEST(too_small)
{
    draw_at(38, 9);
    ck_assert(seen("terminal too small (38x9)"));
    draw_at(39, 100);
    ck_assert(seen("terminal too small (39x100)"));
    draw_at(100, 9);
    ck_assert(seen("terminal too small (100x9)"));
    draw_at(40, 10);
    ck_assert(!seen("too small"));
}
END_TEST

static void draw_all_pages(int width, int height)
{
    for (unsigned page = 0; page < PAGES; page++)
        for (int help = 0; help < 2; help++) {
            view.page = (enum page)page;
            view.help = help;
            draw_at(width, height);
        }
}

/* What is drawn outside of the grid is caught by `make asan`. */
START_TEST(every_size)
{
    static const int heights[] = {1, 2, 9, 10, 11, 13, 17, 24, 50, 200};
    feed_failure();
    feed_losses(30);
    for (int width = 1; width < 200; width += 1 + width / 8)
        for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
            draw_all_pages(width, heights[i]);
    draw_all_pages(1000, 1000);
}
END_TEST

START_TEST(nothing_known_yet)
{
    draw_all_pages(40, 10);
    draw_all_pages(80, 24);
    view.page = PAGE_OVERVIEW;
    view.help = false;
    draw_at(80, 24);
    ck_assert(seen("no rank has told anything yet"));
    ck_assert(seen("no op yet"));
}
END_TEST

START_TEST(many_ranks)
{
    struct gw_plan *plan = tape_ring(24);
    tape_op(&tape, plan, 1, 1 << 20);
    gw_plan_destroy(&plan);
    feed(0, 24 + 24 + 5);
    draw_all_pages(80, 24);
    draw_all_pages(200, 60);
    view.page = PAGE_OVERVIEW;
    view.help = false;
    draw_at(80, 24);
    ck_assert(seen("more ranks; Up and Down scroll"));
    ck_assert(seen("chunks 0 to "));
    view.rank_top = 1000;
    view.chunk_left = 1000;
    draw_at(80, 24);
    ck_assert(seen("   23 busy"));
    view.page = PAGE_RING;
    draw_at(40, 10);
    ck_assert(seen("  c")); /* a list */
}
END_TEST

START_TEST(any_state_can_be_drawn)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    for (unsigned i = 0; i < 400; i++) {
        bool wild = gw_rng_below(&rng, 50) == 0;
        struct gw_event *event = tape_add(
            &tape, (enum gw_event_kind)gw_rng_below(&rng, GW_EVENT_KINDS),
            (uint32_t)gw_rng_below(&rng, 7), (int64_t)gw_rng_below(&rng, 6));
        event->peer = (uint32_t)gw_rng_below(&rng, 7);
        event->op = (uint32_t)gw_rng_below(&rng, 4);
        event->epoch = (uint32_t)gw_rng_below(&rng, 3);
        event->step = wild ? (uint32_t)gw_rng_next(&rng)
                           : (uint32_t)gw_rng_below(&rng, 9);
        event->chunk = (uint32_t)gw_rng_below(&rng, wild ? 5000 : 9);
        event->bytes = gw_rng_next(&rng) >> gw_rng_below(&rng, 64);
        event->time_ns = wild ? gw_rng_next(&rng) / 2 : event->time_ns;
        state_event(state, event);
        if (i % 20 == 0)
            draw_all_pages(40 + (int)gw_rng_below(&rng, 100),
                           10 + (int)gw_rng_below(&rng, 50));
    }
}
END_TEST

/* ---- what is seen ---- */

START_TEST(header_tells_how_time_goes)
{
    feed_into_second();
    for (size_t i = 0; i < tape.count; i++)
        ck_assert_int_eq(player_add(&player, &tape.events[i], NULL), GW_OK);
    draw_at(80, 24);
    ck_assert(seen("[REPLAY x1]"));
    player.speed = 4;
    draw_at(80, 24);
    ck_assert(seen("[REPLAY x4]"));
    player.speed = 1.0 / 2048;
    draw_at(80, 24);
    ck_assert(seen("[REPLAY x1/2048]"));
    player.frozen = true;
    draw_at(80, 24);
    ck_assert(seen("[PAUSED]"));
    ck_assert(seen(" rank 1 adds c2 from rank 0, step 2"));
    player.frozen = false;
    player.live = true;
    draw_at(80, 24);
    ck_assert(seen("[LIVE]"));
    ck_assert(!seen("<> speed"));
    player.next = player.count;
    player.complete = true;
    draw_at(80, 24);
    ck_assert(seen("[END]"));
}
END_TEST

START_TEST(a_notice_takes_the_last_line)
{
    picture.notice = "F.jsonl:3: cut short";
    draw_at(80, 24);
    ck_assert(seen("\n F.jsonl:3: cut short\n"));
    picture.notice = NULL;
    view.finding = true;
    strcpy(view.find, "ran");
    draw_at(80, 24);
    ck_assert(seen("\n find: ran_\n"));
}
END_TEST

START_TEST(found_lines_are_marked)
{
    for (unsigned i = 0; i < 100; i++)
        tape_add(&tape, GW_EV_OP_END, i % 3, GW_ELOST)->op = i;
    feed(0, tape.count);
    view.page = PAGE_EVENTS;
    strcpy(view.find, "OP 42 ");
    draw_at(80, 24);
    ck_assert(seen("\n>0.000042 op 42 failed at rank 0: peer lost\n"));
    view.page = PAGE_OVERVIEW;
    strcpy(view.find, "2");
    draw_at(80, 24);
    ck_assert(seen("\n>   2 "));
    ck_assert(!seen("\n>   1 "));
}
END_TEST

START_TEST(ranks_are_sorted)
{
    unsigned order[RANKS_MAX];
    feed_failure();
    state->ranks[1].sent_bytes = 1 << 30;
    state_settle(state);
    ck_assert_uint_eq(rank_order(&picture, order), 3);
    ck_assert_uint_eq(order[0], 0);
    view.sort = SORT_SENT;
    rank_order(&picture, order);
    ck_assert_uint_eq(order[0], 1);
    view.sort = SORT_STATE;
    rank_order(&picture, order);
    ck_assert_uint_eq(order[0], 2); /* dead */
}
END_TEST

START_TEST(long_lines_are_wrapped)
{
    journal_write(&state->journal, 0, WEIGHT_BAD,
                  "DOUBLE COUNT in op 1: rank 2 has rank 0 twice in c0, step 3 "
                  "from rank 1");
    view.page = PAGE_EVENTS;
    draw_at(40, 10);
    ck_assert(seen("DOUBLE COUNT in op 1: rank 2\n"));
    ck_assert(seen("from rank 1\n"));
}
END_TEST

/* ---- the way around ---- */

START_TEST(members_stand_in_order_around_the_ring)
{
    const struct ring_path path = {.x = 3, .width = 30, .height = 8};
    for (unsigned count = 2; count <= 12; count++)
        for (unsigned i = 1; i < count; i++)
            ck_assert_int_lt(ring_path_member(&path, i - 1, count),
                             ring_path_member(&path, i, count));
    int x, y;
    ck_assert_int_eq(
        ring_path_cell(&path, ring_path_member(&path, 2, 4), &x, &y),
        HEAD_LEFT);
    ck_assert_int_eq(x, 32);
    ck_assert_int_eq(y, 7);
}
END_TEST

START_TEST(the_way_between_members)
{
    const struct ring_path path = {.width = 11, .height = 5};
    int length = ring_path_length(&path);
    ck_assert_int_eq(length, 28);
    ck_assert_int_eq(ring_path_between(&path, 0, 10, 1, 0.5), 5);
    ck_assert_int_eq(ring_path_between(&path, 24, 0, 1, 0.5), 26);
    ck_assert_int_eq(ring_path_between(&path, 0, 24, 0, 0.5), 26);
    ck_assert_int_eq(ring_path_between(&path, 24, 0, 1, 1), 0);
    for (int at = 0; at < length; at++) {
        int x, y, next_x, next_y;
        ring_path_cell(&path, at, &x, &y);
        ring_path_cell(&path, at + 1, &next_x, &next_y);
        ck_assert_int_eq(abs(next_x - x) + abs(next_y - y), 1);
    }
}
END_TEST

/* ---- colours ---- */

static char *painted(const struct grid *before, bool color)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(page);
    paint(page, &grid, before, color);
    fclose(page);
    return text;
}

/* The numbers 30 to 49 of "ESC [ ... m" are colours. */
static bool has_color(const char *text)
{
    for (const char *at = text; (at = strstr(at, "\033[0;")); at++)
        for (const char *code = at + 3; *code == ';';) {
            int number = (int)strtol(code + 1, (char **)(uintptr_t)&code, 10);
            if (number >= 30 && number < 50)
                return true;
        }
    return false;
}

START_TEST(no_colour_when_there_should_be_none)
{
    feed_failure();
    draw_at(80, 24);
    char *with = painted(NULL, true), *without = painted(NULL, false);
    ck_assert(has_color(with));
    ck_assert(!has_color(without));
    free(with);
    free(without);
}
END_TEST

START_TEST(only_changed_rows_are_painted)
{
    struct grid before = {0};
    draw_at(80, 24);
    ck_assert_int_eq(grid_size(&before, 80, 24, NULL), GW_OK);
    memcpy(before.cells, grid.cells, 80 * 24 * sizeof *grid.cells);
    char *nothing = painted(&before, true);
    ck_assert_str_eq(nothing, "");
    before.cells[5 * 80].glyph = 'x';
    char *row = painted(&before, true);
    ck_assert(strncmp(row, "\033[6;1H", 6) == 0);
    ck_assert_ptr_null(strstr(row, "\033[7;1H"));
    free(nothing);
    free(row);
    grid_fini(&before);
}
END_TEST

START_TEST(characters)
{
    static const uint32_t some[] = {'a', 0xe9, 0x2588, 0x2500};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char text[5];
        const char *at = text;
        utf8_of(some[i], text);
        ck_assert_uint_eq(utf8_next(&at), some[i]);
        ck_assert_int_eq(*at, 0);
    }
    const char *bad = "\xff\x1b[\xe2\x96";
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(utf8_next(&bad), '?');
    ck_assert_uint_eq(utf8_next(&bad), '[');
    ck_assert_uint_eq(utf8_next(&bad), '?');
    ck_assert_uint_eq(utf8_next(&bad), '?');
    ck_assert_int_eq(*bad, 0);
}
END_TEST

START_TEST(ascii_stays_ascii)
{
    picture.glyphs = &glyphs_ascii;
    feed_failure();
    feed_losses(30);
    for (unsigned page = 0; page < PAGES; page++) {
        view.page = (enum page)page;
        draw_at(80, 24);
        for (int i = 0; i < 80 * 24; i++)
            ck_assert_uint_lt(grid.cells[i].glyph, 0x7f);
    }
}
END_TEST

Suite *suite_ringtop_draw(void)
{
    const TTest *const tests[] = {
        golden_overview,
        golden_ring,
        golden_chunks,
        golden_failover,
        golden_loss,
        golden_help,
        golden_double,
        too_small,
        every_size,
        nothing_known_yet,
        many_ranks,
        header_tells_how_time_goes,
        a_notice_takes_the_last_line,
        found_lines_are_marked,
        ranks_are_sorted,
        long_lines_are_wrapped,
        members_stand_in_order_around_the_ring,
        the_way_between_members,
        no_colour_when_there_should_be_none,
        only_changed_rows_are_painted,
        characters,
        ascii_stays_ascii,
    };
    Suite *suite = suite_create("ringtop_draw");
    TCase *tcase = tcase_create("ringtop draw");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, any_state_can_be_drawn, 0, 10);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
