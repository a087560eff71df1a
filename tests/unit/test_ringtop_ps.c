/* SPDX-License-Identifier: MIT
 *
 * The live view of parameter servers, from the status of a run
 * (tests/view/servers-status.json): its pictures, its handling of invalid
 * documents, and its keys.
 */
#include "scene.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ringtop_ps(void);

#define SECOND UINT64_C(1000000000)

static json_t *status;

static void begin(void)
{
    json_error_t error;
    scene_begin();
    scene.player.live = true;
    scene.view.may_control = true;
    status = json_load_file("tests/view/servers-status.json", 0, &error);
    ck_assert_msg(status != NULL, "line %d: %s", error.line, error.text);
}

static void end(void)
{
    json_decref(status);
    scene_end();
}

static json_t *at(const char *list, size_t i)
{
    json_t *object = json_array_get(json_object_get(status, list), i);
    ck_assert_ptr_nonnull(object);
    return object;
}

static void set(json_t *object, const char *name, json_int_t value)
{
    ck_assert_int_eq(json_object_set_new(object, name, json_integer(value)), 0);
}

static void feed_at(uint64_t time_ns)
{
    state_status(scene.state, status, time_ns);
}

/* Two seconds of the run, which give a rate of pushes. */
static void feed_status(void)
{
    feed_at(SECOND);
    for (size_t i = 0; i < 3; i++) {
        json_t *node = at("nodes", i);
        set(node, "pushes",
            json_integer_value(json_object_get(node, "pushes")) + 100 +
                (json_int_t)i * 100);
    }
    feed_at(3 * SECOND);
}

static void lose_server(size_t server)
{
    json_object_set_new(at("nodes", server), "state", json_string("dead"));
    for (size_t i = 0; i < 24; i++) {
        json_t *slot = at("slots", i);
        json_t *sync = json_object_get(slot, "in_sync");
        for (size_t k = json_array_size(sync); k-- > 0;)
            if (json_integer_value(json_array_get(sync, k)) ==
                (json_int_t)server)
                json_array_remove(sync, k);
        bool lost = json_array_size(sync) == 0;
        json_object_set(slot, "primary",
                        lost ? json_null() : json_array_get(sync, 0));
    }
    json_object_set_new(
        status, "recoveries",
        json_pack("[{s:[s], s:s, s:i, s:f, s:f, s:f},"
                  " {s:[s,s], s:s, s:i, s:f, s:f, s:n}]",
                  "names", "server 1", "how", "exit", "epoch", 3, "detected_ms",
                  0.4, "decided_ms", 12.0, "resumed_ms", 21.5, "names",
                  "worker 3", "server 2", "how", "silence", "epoch", 4,
                  "detected_ms", 480.0, "decided_ms", 502.0, "resumed_ms"));
}

static void golden(const char *name, enum page page, int width, int height)
{
    scene.view.page = page;
    scene_draw(width, height);
    assert_golden(&scene.grid, name);
}

/* ---- pictures of a status ---- */

START_TEST(golden_ps)
{
    feed_status();
    golden("servers-80x24", PAGE_OVERVIEW, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("servers-120x40-ascii", PAGE_OVERVIEW, 120, 40);
    golden("servers-40x10-ascii", PAGE_OVERVIEW, 40, 10);
}
END_TEST

START_TEST(golden_slots_and_clocks)
{
    feed_status();
    golden("slots-80x24", PAGE_SLOTS, 80, 24);
    golden("clocks-80x24", PAGE_CLOCKS, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("clocks-40x10-ascii", PAGE_CLOCKS, 40, 10);
    scene.view.help = true;
    golden("servers-help-40x10-ascii", PAGE_CLOCKS, 40, 10);
}
END_TEST

START_TEST(golden_lost_slots)
{
    feed_at(SECOND);
    lose_server(2);
    feed_at(2 * SECOND);
    ck_assert_uint_eq(ps_lost(&scene.state->ps), 2);
    golden("servers-lost-80x24", PAGE_OVERVIEW, 80, 24);
    golden("servers-failover-80x24", PAGE_FAILOVER, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("servers-lost-40x10-ascii", PAGE_OVERVIEW, 40, 10);
}
END_TEST

/* ---- documents ---- */

START_TEST(a_slot_waits_for_its_successor)
{
    json_object_set_new(at("slots", 3), "serves", json_false());
    feed_at(SECOND);
    ck_assert_uint_eq(ps_unserved(&scene.state->ps), 1);
    scene.view.page = PAGE_SLOTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("24 slots: 1 not served now"));
}
END_TEST

START_TEST(the_status_has_all_work_items)
{
    struct gw_event *event = tape_add(&scene.tape, GW_EV_CLOCK, 0, 2);
    event->step = 7;
    scene_feed(0, 1);
    ck_assert_uint_eq(ps_staleness(&scene.state->ps)[2], 0);
    event->op = 3;
    event->chunk = 1;
    scene_feed(0, 1);
    ck_assert_uint_eq(ps_staleness(&scene.state->ps)[2], 1);
    feed_at(SECOND);
    ck_assert_uint_eq(ps_staleness(&scene.state->ps)[2], 25);
    ck_assert_uint_eq(scene.state->ps.workers[0].clock, 51);
}
END_TEST

START_TEST(a_ring_has_no_servers)
{
    json_object_del(status, "slots");
    feed_at(SECOND);
    ck_assert(!scene.state->ps.here);
}
END_TEST

START_TEST(odd_documents)
{
    static const char *const texts[] = {
        "{\"slots\": [1, null, {}, {\"slot\": -1}, {\"slot\": 64},"
        " {\"slot\": 3, \"primary\": 99, \"in_sync\": [24, -1, \"x\"],"
        " \"learner\": 1e9, \"term\": -3}]}",
        "{\"slots\": [], \"nodes\": [7, {\"role\": \"server\"},"
        " {\"role\": \"server\", \"node\": -1},"
        " {\"role\": \"worker\", \"node\": 4000000000, \"clock\": -5},"
        " {\"role\": \"worker\", \"node\": 1, \"clock\": \"fast\","
        " \"state\": \"a state that is far too long to be one\","
        " \"parts\": 1e18, \"batch\": -1, \"phase\": 3}]}",
        "{\"slots\": [], \"clocks\": {\"staleness\": [-1, null, 1e30],"
        " \"mode\": [], \"items\": 1e300}}",
        "{\"slots\": [], \"recoveries\": [3, {\"names\": [1, null]},"
        " {\"names\": \"x\", \"resumed_ms\": 1e300, \"detected_ms\": -4}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *odd = json_loads(texts[i], 0, NULL);
        ck_assert_ptr_nonnull(odd);
        state_status(scene.state, odd, SECOND * (i + 1));
        scene_draw_all(80, 24);
        scene_draw_all(40, 10);
        json_decref(odd);
    }
    ck_assert(scene.state->ps.here);
}
END_TEST

/* `make asan` detects drawing outside the grid. */
START_TEST(every_size)
{
    static const int heights[] = {1, 2, 9, 10, 11, 13, 17, 24, 50, 200};
    feed_status();
    lose_server(2);
    feed_at(4 * SECOND);
    for (int width = 1; width < 200; width += 1 + width / 8)
        for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
            scene_draw_all(width, heights[i]);
}
END_TEST

START_TEST(tab_goes_to_what_there_is)
{
    bool ring = false, slots = false;
    feed_status();
    for (int ps = 0; ps < 2; ps++) {
        scene.view.ps = ps;
        scene.view.page = PAGE_OVERVIEW;
        ring = slots = false;
        for (unsigned i = 0; i < PAGES; i++) {
            view_key(&scene.view, &scene.player, '\t', SECOND);
            ring |= scene.view.page == PAGE_RING;
            slots |= scene.view.page == PAGE_SLOTS;
        }
        ck_assert_int_eq(ring, !ps);
        ck_assert_int_eq(slots, ps);
    }
}
END_TEST

static void type(const char *keys)
{
    for (; *keys; keys++)
        view_key(&scene.view, &scene.player, *keys, SECOND);
}

/* The names in the rows of a table, from the top: "s2 s0 s1". */
static const char *rows_of(char kind)
{
    static char rows[64];
    char *lines = grid_lines(&scene.grid), *rest = lines;
    *rows = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *name = line + strspn(line, "> ");
        bool row = *name == kind && name[1] >= '0' && name[1] <= '9';
        if (row && strstr(line, kind == 's' ? "alive" : "/4"))
            snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s%.2s",
                     *rows ? " " : "", name);
    }
    free(lines);
    return rows;
}

START_TEST(rows_are_sorted)
{
    static const struct {
        const char *by, *servers, *workers;
    } sort_orders[] = {
        {"state", "s0 s1 s2", "w3 w0 w1 w2"},
        {"keys and clock", "s2 s1 s0", "w0 w3 w2 w1"},
        {"lease and waited", "s1 s0 s2", "w1 w2 w0 w3"},
        {"push/s and clocks ahead", "s2 s1 s0", "w1 w2 w0 w3"},
        {"number", "s0 s1 s2", "w0 w1 w2 w3"},
    };
    json_object_set_new(at("nodes", 1), "lease", json_false());
    feed_status();
    scene.view.ps = true;
    for (size_t i = 0; i < sizeof sort_orders / sizeof *sort_orders; i++) {
        char printed[48];
        view_key(&scene.view, &scene.player, TOP_F6, 0);
        scene_draw(80, 24);
        snprintf(printed, sizeof printed, "\n sorted by %s\n",
                 sort_orders[i].by);
        ck_assert_msg(scene_shows(printed), "%s", sort_orders[i].by);
        ck_assert_str_eq(rows_of('s'), sort_orders[i].servers);
        ck_assert_str_eq(rows_of('w'), sort_orders[i].workers);
        ck_assert(scene_shows("\n  s0 P.sP"));
    }
    view_key(&scene.view, &scene.player, TOP_UP, 0);
    scene_draw(80, 24);
    ck_assert(!scene_shows("sorted by"));
}
END_TEST

/* By the full name in the row, or by the number. */
START_TEST(rows_are_found)
{
    feed_status();
    strcpy(scene.view.find, "s2");
    scene_draw(80, 24);
    ck_assert(scene_shows("\n>    s2 alive"));
    ck_assert(scene_shows("\n> s2 .sP.sP"));
    ck_assert(!scene_shows("\n>    w2 "));
    strcpy(scene.view.find, "worker 3");
    scene.view.page = PAGE_CLOCKS;
    scene_draw(80, 24);
    ck_assert(scene_shows("\n>    w3 paused"));
    ck_assert(!scene_shows("\n>    w2 "));
    strcpy(scene.view.find, "3");
    scene_draw(80, 24);
    ck_assert(scene_shows("\n>    w3 paused"));
}
END_TEST

START_TEST(commands_name_servers)
{
    const struct control_request *order = &scene.view.request;
    scene.view.ps = true;
    type("ks1");
    scene_draw(80, 24);
    ck_assert(scene_shows("kill which worker, or server (s0)? s1_"));
    ck_assert_int_eq(order->kind, CONTROL_NONE);
    type("\n");
    ck_assert(order->kind == CONTROL_KILL && order->server && order->node == 1);
    type("p12\n");
    ck_assert(order->kind == CONTROL_PAUSE && !order->server &&
              order->node == 12);
    type("as\n");
    ck_assert(order->kind == CONTROL_ADD && order->server);
    type("ks\n"); /* ambiguous */
    ck_assert_int_eq(scene.view.prompt, CONTROL_KILL);
    type("q");
    scene.view.ps = false;
    type("ks"); /* a ring has no servers */
    ck_assert_int_eq(scene.view.prompt, CONTROL_NONE);
}
END_TEST

Suite *suite_ringtop_ps(void)
{
    const TTest *const tests[] = {
        golden_ps,
        golden_slots_and_clocks,
        golden_lost_slots,
        a_slot_waits_for_its_successor,
        the_status_has_all_work_items,
        a_ring_has_no_servers,
        odd_documents,
        every_size,
        tab_goes_to_what_there_is,
        rows_are_sorted,
        rows_are_found,
        commands_name_servers,
    };
    Suite *suite = suite_create("ringtop_ps");
    TCase *tcase = tcase_create("ringtop members");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
