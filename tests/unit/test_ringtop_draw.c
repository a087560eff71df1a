/* SPDX-License-Identifier: MIT
 *
 * The texts in the pictures of the live view, the order around the ring, and
 * that no information depends on colours alone.
 */
#include "ringtop/draw/ring_path.h"
#include "ringtop/recording/paint.h"
#include "scene.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ringtop_draw(void);

/* ---- texts ---- */

START_TEST(header_shows_the_playback_rate)
{
    scene_feed_ring();
    for (size_t i = 0; i < scene.tape.count; i++)
        ck_assert_int_eq(player_add(&scene.player, &scene.tape.events[i], NULL),
                         GW_OK);
    scene_draw(80, 24);
    ck_assert(scene_shows("[REPLAY x1]"));
    scene.player.speed = 4;
    scene_draw(80, 24);
    ck_assert(scene_shows("[REPLAY x4]"));
    scene.player.speed = 1.0 / 2048;
    scene_draw(80, 24);
    ck_assert(scene_shows("[REPLAY x1/2048]"));
    scene.player.frozen = true;
    scene_draw(80, 24);
    ck_assert(scene_shows("[PAUSED]"));
    ck_assert(scene_shows(" rank 1 adds c2 from rank 0, step 2"));
    scene.player.frozen = false;
    scene.player.live = true;
    scene_draw(80, 24);
    ck_assert(scene_shows("[LIVE]"));
    ck_assert(!scene_shows("<> speed"));
    scene.player.next = scene.player.count;
    scene.player.complete = true;
    scene_draw(80, 24);
    ck_assert(scene_shows("[END]"));
}
END_TEST

START_TEST(a_notice_takes_the_last_line)
{
    scene.picture.notice = "F.jsonl:3: cut short";
    scene_draw(80, 24);
    ck_assert(scene_shows("\n F.jsonl:3: cut short\n"));
    scene.picture.notice = NULL;
    scene.view.finding = true;
    strcpy(scene.view.find, "ran");
    scene_draw(80, 24);
    ck_assert(scene_shows("\n find: ran_\n"));
}
END_TEST

START_TEST(commands_are_prompted_for_in_the_last_line)
{
    static const char *const questions[] = {
        [CONTROL_KILL] = "kill which node? 3_  (Enter: yes, Esc: no)",
        [CONTROL_PAUSE] = "pause or resume which node? 3_",
        [CONTROL_ADD] = "add a node? _",
    };
    scene.player.live = true;
    scene.view.may_control = true;
    for (unsigned order = CONTROL_KILL; order <= CONTROL_ADD; order++) {
        scene.view.prompt = (enum control_kind)order;
        strcpy(scene.view.typed, order == CONTROL_ADD ? "" : "3");
        scene_draw(80, 24);
        ck_assert(scene_shows(questions[order]));
    }
    scene.view.prompt = CONTROL_KILL;
    strcpy(scene.view.usual, "2");
    scene_draw(80, 24);
    ck_assert(scene_shows("kill which node? [2]_  (Enter: yes, Esc: no)"));
    scene.view.prompt = CONTROL_NONE;
    scene.picture.answer = "node 3 was killed: epoch 2";
    scene_draw(80, 24);
    ck_assert(scene_shows("\n node 3 was killed: epoch 2\n"));
    scene.view.refused = true;
    scene_draw(80, 24);
    ck_assert(scene_shows("\n read-only: no kill, pause or add\n"));
}
END_TEST

/* With little room the most important keys stay. */
START_TEST(keys_that_have_no_room_are_left_out)
{
    scene.player.live = true;
    scene.view.may_control = true;
    scene_draw(40, 10);
    ck_assert(scene_shows("\n F1 keys  k kill  p pause  F10 quit\n"));
    scene_draw(200, 10);
    ck_assert(scene_shows("F6 sort  k kill  p pause  a add  F10 quit\n"));
    scene.view.may_control = false;
    scene_draw(40, 10);
    ck_assert(!scene_shows("kill"));
    ck_assert(scene_shows("F10 quit"));
}
END_TEST

START_TEST(nodes_that_are_gone_are_last_and_hidden_later)
{
    unsigned order[RANKS_MAX];
    for (unsigned r = 0; r < 9; r++)
        tape_add(&scene.tape, GW_EV_MEMBER, r,
                 r < 4 ? GW_MEMBER_DEAD : GW_MEMBER_ALIVE);
    scene_feed(0, scene.tape.count);
    ck_assert_uint_eq(rank_order(&scene.picture, order), 9);
    ck_assert_uint_eq(order[0], 4);
    ck_assert_uint_eq(order[8], 3);
    scene_draw(40, 10);
    ck_assert(scene_shows("more nodes; Up and Down scroll"));
    state_time(scene.state, scene.state->now_ns + 20000000000);
    ck_assert_uint_eq(rank_order(&scene.picture, order), 5);
    scene_draw(60, 16);
    ck_assert(scene_shows("4 gone nodes hidden; d shows them"));
    ck_assert(scene_shows("  5 alive  "));
    ck_assert(!scene_shows("DEAD"));
    view_key(&scene.view, &scene.player, 'd', 1);
    ck_assert_uint_eq(rank_order(&scene.picture, order), 9);
    scene_draw(60, 30);
    ck_assert(scene_shows("\n    3 DEAD"));
    ck_assert(!scene_shows("hidden"));
    const struct cell *cell = grid_at(&scene.grid, 4, 7);
    ck_assert_uint_eq(cell->glyph, '0'); /* after 4 to 8 */
    ck_assert_int_eq(cell->style, STYLE_DIM);
}
END_TEST

START_TEST(found_lines_are_marked)
{
    for (unsigned i = 0; i < 100; i++)
        tape_add(&scene.tape, GW_EV_OP_END, i % 3, GW_ELOST)->op = i;
    scene_feed(0, scene.tape.count);
    scene.view.page = PAGE_EVENTS;
    strcpy(scene.view.find, "OP 42 ");
    scene_draw(80, 24);
    ck_assert(scene_shows("\n>0.000042 op 42 failed at rank 0: peer lost\n"));
    scene.view.page = PAGE_OVERVIEW;
    strcpy(scene.view.find, "2");
    scene_draw(80, 24);
    ck_assert(scene_shows("\n>   2 "));
    ck_assert(!scene_shows("\n>   1 "));
}
END_TEST

START_TEST(ranks_are_sorted)
{
    unsigned order[RANKS_MAX];
    scene_feed_failure();
    scene.state->ranks[1].sent_bytes = 1 << 30;
    state_evaluate(scene.state);
    ck_assert_uint_eq(rank_order(&scene.picture, order), 3);
    ck_assert_uint_eq(order[0], 0);
    scene.view.sort = SORT_SENT;
    rank_order(&scene.picture, order);
    ck_assert_uint_eq(order[0], 1);
    scene.view.sort = SORT_STATE;
    rank_order(&scene.picture, order);
    ck_assert_uint_eq(order[2], 2); /* dead: the last, however sorted */
}
END_TEST

/* The status of the run says so; it stays so when the others remove it. */
START_TEST(a_paused_node_is_paused)
{
    for (unsigned r = 0; r < 3; r++)
        tape_add(&scene.tape, GW_EV_MEMBER, r, GW_MEMBER_ALIVE)->step = r;
    scene_feed(0, scene.tape.count);
    json_t *status =
        json_pack("{s:[{s:i,s:s,s:s},{s:i,s:s,s:s}]}", "nodes", "node", 2,
                  "role", "worker", "state", "paused", "node", 1, "role",
                  "controller", "state", "paused");
    state_status(scene.state, status, scene.state->now_ns);
    json_decref(status);
    scene_draw(80, 24);
    ck_assert(scene_shows("  2/3 alive  "));
    ck_assert(scene_shows("\n    2 paused     2 "));
    scene.tape.count = 0;
    tape_add(&scene.tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    scene_feed(0, 1);
    scene_draw(80, 24);
    ck_assert(scene_shows("  2 alive  "));
    ck_assert(scene_shows("\n    2 paused     - "));
    ck_assert(scene_shows("node 2 paused"));
    status = json_pack("{s:[{s:i,s:s,s:s}]}", "nodes", "node", 2, "role",
                       "worker", "state", "alive");
    state_status(scene.state, status, scene.state->now_ns);
    json_decref(status);
    scene_draw(80, 24);
    ck_assert(scene_shows("\n    2 DEAD "));
}
END_TEST

static bool is_label(const char *word)
{
    unsigned a, b;
    char end;
    static const char *const words[] = {"node", "DEAD", "idle",
                                        "late", "...",  "busy"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return sscanf(word, "(%u)%c", &a, &end) == 1 ||
           sscanf(word, "c%u%c", &a, &end) == 1 ||
           sscanf(word, "%u/%u%c", &a, &b, &end) == 2 ||
           strspn(word, "0123456789") == strlen(word);
}

/* Each word of the ring's picture is one that was meant. */
START_TEST(earlier_failures_are_counted)
{
    scene.view.page = PAGE_FAILOVER;
    scene_draw(80, 24);
    ck_assert(scene_shows("\n no failures yet\n"));
    json_t *status = json_pack("{s:[{}, {}]}", "recoveries");
    state_status(scene.state, status, scene.state->now_ns);
    json_decref(status);
    scene_draw(80, 24);
    ck_assert(
        scene_shows("before this view was attached: 2; see ringctl status"));
}
END_TEST

START_TEST(labels_do_not_overwrite_each_other)
{
    unsigned dead = 0;
    scene_feed_failure();
    scene.tape.count = 0;
    tape_add(&scene.tape, GW_EV_MEMBER, 3, GW_MEMBER_DEAD);
    for (unsigned r = 0; r < 2; r++) {
        struct gw_event *event = tape_add(&scene.tape, GW_EV_SEND, r, 0);
        event->peer = 1 - r;
        event->op = 2;
        event->epoch = 1;
    }
    scene_feed(0, scene.tape.count);
    scene.picture.glyphs = &glyphs_ascii;
    scene.picture.keys = false;
    scene.view.page = PAGE_RING;
    for (int height = 10; height < 24; height++)
        for (int width = 40; width < 90; width++) {
            scene_draw(width, height);
            char *lines = grid_lines(&scene.grid);
            char *page = strchr(strchr(lines, '\n') + 1, '\n') + 1;
            char *line = strstr(page, " Look for ");
            if (line)
                *line = 0;
            dead += strstr(page, "node 2 DEAD") != NULL;
            for (char *word = strtok(page, " \n|+-<>^v"); word;
                 word = strtok(NULL, " \n|+-<>^v"))
                ck_assert_msg(is_label(word), "%dx%d: %s", width, height, word);
            free(lines);
        }
    ck_assert_uint_gt(dead, 400);
}
END_TEST

START_TEST(long_lines_are_wrapped)
{
    event_log_write(
        &scene.state->log, 0, WEIGHT_BAD,
        "DOUBLE COUNT in op 1: rank 2 has rank 0 twice in c0, step 3 "
        "from rank 1");
    scene.view.page = PAGE_EVENTS;
    scene_draw(40, 10);
    ck_assert(scene_shows("DOUBLE COUNT in op 1: rank 2\n"));
    ck_assert(scene_shows("from rank 1\n"));
}
END_TEST

/* ---- the order around the ring ---- */

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

START_TEST(the_path_between_members)
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
    FILE *output = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(output);
    paint(output, &scene.grid, before, color);
    fclose(output);
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
    scene_feed_failure();
    scene_draw(80, 24);
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
    scene_draw(80, 24);
    ck_assert_int_eq(grid_size(&before, 80, 24, NULL), GW_OK);
    memcpy(before.cells, scene.grid.cells, 80 * 24 * sizeof *scene.grid.cells);
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
    scene.picture.glyphs = &glyphs_ascii;
    scene_feed_failure();
    scene_feed_losses(30);
    for (unsigned page = 0; page < PAGES; page++) {
        scene.view.page = (enum page)page;
        scene_draw(80, 24);
        for (int i = 0; i < 80 * 24; i++)
            ck_assert_uint_lt(scene.grid.cells[i].glyph, 0x7f);
    }
}
END_TEST

Suite *suite_ringtop_draw(void)
{
    const TTest *const tests[] = {
        header_shows_the_playback_rate,
        a_notice_takes_the_last_line,
        commands_are_prompted_for_in_the_last_line,
        keys_that_have_no_room_are_left_out,
        nodes_that_are_gone_are_last_and_hidden_later,
        found_lines_are_marked,
        ranks_are_sorted,
        a_paused_node_is_paused,
        earlier_failures_are_counted,
        labels_do_not_overwrite_each_other,
        long_lines_are_wrapped,
        members_stand_in_order_around_the_ring,
        the_path_between_members,
        no_colour_when_there_should_be_none,
        only_changed_rows_are_painted,
        characters,
        ascii_stays_ascii,
    };
    Suite *suite = suite_create("ringtop_draw");
    TCase *tcase = tcase_create("ringtop draw");
    tcase_add_checked_fixture(tcase, scene_begin, scene_end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
