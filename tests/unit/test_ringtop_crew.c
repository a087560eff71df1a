/* SPDX-License-Identifier: MIT
 *
 * The live view of parameter servers: its pictures, from the status of a run
 * (tests/view/servers-status.json) and from events alone, and what it makes of
 * servers that die, slots that are lost, and of documents that are not right.
 */
#include "scene.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ringtop_crew(void);

enum { SERVER = CREW_SERVER_NODE };
#define SECOND UINT64_C(1000000000)

static json_t *status;

static void begin(void)
{
    json_error_t error;
    scene_begin();
    scene.player.live = true;
    scene.view.may_order = true;
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

static void tell(uint64_t time_ns)
{
    state_status(scene.state, status, time_ns);
}

/* Two seconds of the run, so that there is a rate of pushes. */
static void tell_status(void)
{
    tell(SECOND);
    for (size_t i = 0; i < 3; i++) {
        json_t *node = at("nodes", i);
        set(node, "pushes",
            json_integer_value(json_object_get(node, "pushes")) + 100 +
                (json_int_t)i * 100);
    }
    tell(3 * SECOND);
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

START_TEST(golden_crew)
{
    tell_status();
    golden("servers-80x24", PAGE_OVERVIEW, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("servers-120x40-ascii", PAGE_OVERVIEW, 120, 40);
    golden("servers-40x10-ascii", PAGE_OVERVIEW, 40, 10);
}
END_TEST

START_TEST(golden_slots_and_clocks)
{
    tell_status();
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
    tell(SECOND);
    lose_server(2);
    tell(2 * SECOND);
    ck_assert_uint_eq(crew_lost(&scene.state->crew), 2);
    golden("servers-lost-80x24", PAGE_OVERVIEW, 80, 24);
    golden("servers-failover-80x24", PAGE_FAILOVER, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("servers-lost-40x10-ascii", PAGE_OVERVIEW, 40, 10);
}
END_TEST

/* ---- events alone ---- */

static void feed(void)
{
    scene_feed(0, scene.tape.count);
    scene.tape.count = 0;
}

static void slot(uint32_t server, uint32_t number, enum gw_ps_role role)
{
    struct gw_event *event =
        tape_add(&scene.tape, GW_EV_SLOT, SERVER + server, role);
    event->chunk = number;
}

static void works(uint32_t worker, uint32_t clock, int64_t ahead)
{
    struct gw_event *event = tape_add(&scene.tape, GW_EV_CLOCK, worker, ahead);
    event->epoch = 0;
    event->op = clock;
    event->step = clock;
    event->chunk = worker;
}

/* Two servers, six slots; three workers. */
static void feed_start(void)
{
    /* As of a recording that was read before it is shown. */
    scene.state->crew.here = scene.state->failovers.crew = true;
    for (uint32_t i = 0; i < 2; i++)
        tape_add(&scene.tape, GW_EV_MEMBER, SERVER + i, GW_MEMBER_ALIVE);
    for (uint32_t i = 0; i < 3; i++)
        tape_add(&scene.tape, GW_EV_MEMBER, i, GW_MEMBER_ALIVE);
    tape_add(&scene.tape, GW_EV_EPOCH, GW_NONE, 5)->epoch = 1;
    for (uint32_t i = 0; i < 6; i++) {
        slot(i % 2, i, GW_PS_PRIMARY);
        if (i < 5)
            slot((i + 1) % 2, i, GW_PS_SECONDARY);
    }
    works(0, 0, 0);
    works(1, 0, 0);
    works(2, 0, 0);
    works(0, 1, 1);
    works(0, 2, 2);
    works(1, 1, 1);
    feed();
}

/* Server 0 is killed, and server 1 takes its slots over; slot 5 had no other.
 */
static void feed_death(uint32_t dead)
{
    uint32_t other = 1 - dead;
    scene.tape.now_ns += 10000000;
    tape_add(&scene.tape, GW_EV_FAILURE, GW_NONE, GW_BY_EXIT)->peer =
        SERVER + dead;
    scene.tape.now_ns += 5000000;
    tape_add(&scene.tape, GW_EV_MEMBER, SERVER + dead, GW_MEMBER_DEAD)->epoch =
        2;
    tape_add(&scene.tape, GW_EV_EPOCH, GW_NONE, 4)->epoch = 2;
    feed();
    for (uint32_t i = dead; i < 6; i += 2)
        slot(dead, i, GW_PS_NOT_HERE);
    feed();
    scene.tape.now_ns += 20000000;
    for (uint32_t i = dead; i < 5; i += 2)
        slot(other, i, GW_PS_PRIMARY);
    feed();
}

START_TEST(golden_of_events)
{
    feed_start();
    feed_death(0);
    golden("servers-events-80x24", PAGE_OVERVIEW, 80, 24);
    golden("servers-story-80x24", PAGE_FAILOVER, 80, 24);
}
END_TEST

START_TEST(a_takeover_ends_the_story)
{
    const struct failovers *fs = &scene.state->failovers;
    feed_start();
    feed_death(0);
    ck_assert_uint_eq(fs->count, 1);
    const struct failover *f = &fs->list[0];
    ck_assert_uint_eq(f->who, SERVER);
    ck_assert(f->reached[NOTICED] && f->reached[CONVICTED]);
    ck_assert(f->reached[RESUMED] && !f->reached[DECIDED]);
    /* With the last of its slots, not with the first. */
    ck_assert_uint_eq(f->time_ns[RESUMED], scene.tape.now_ns - 1000);
    scene.view.page = PAGE_EVENTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("server 0 is convicted"));
    ck_assert(scene_shows("without server 0 after 25.0 ms"));
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(crew_primary(&scene.state->crew, i), 1);
    ck_assert_uint_eq(crew_lost(&scene.state->crew), 0);
}
END_TEST

START_TEST(the_last_replica_dies)
{
    feed_start();
    feed_death(1);
    ck_assert_uint_eq(crew_lost(&scene.state->crew), 1);
    ck_assert(scene.state->crew.slots[5].lost);
    /* It is never over: one slot is served by nobody. */
    ck_assert(!scene.state->failovers.list[0].reached[RESUMED]);
    scene_draw(80, 24);
    ck_assert(scene_shows("1 SLOT LOST"));
    ck_assert(scene_shows("SLOT 5 IS LOST"));
}
END_TEST

START_TEST(others_go_on_without_a_worker)
{
    const struct failover *f = &scene.state->failovers.list[0];
    feed_start();
    tape_add(&scene.tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    works(0, 2, 1); /* told again: nothing is finished */
    feed();
    ck_assert(f->reached[CONVICTED] && !f->reached[RESUMED]);
    works(1, 2, 0);
    feed();
    ck_assert(f->reached[RESUMED]);
    scene.view.page = PAGE_EVENTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("without worker 2 after"));
}
END_TEST

START_TEST(staleness_is_counted)
{
    feed_start();
    works(1, 9, 1000);
    works(1, 10, -1);                                    /* nonsense */
    tape_add(&scene.tape, GW_EV_CLOCK, 1, 0)->step = 11; /* no unit */
    scene.tape.events[scene.tape.count - 1].op = GW_NONE;
    feed();
    const uint64_t *seen = crew_staleness(&scene.state->crew);
    ck_assert_uint_eq(seen[0], 3);
    ck_assert_uint_eq(seen[1], 2);
    ck_assert_uint_eq(seen[2], 1);
    ck_assert_uint_eq(seen[GW_PS_STALENESS_MAX], 1);
    ck_assert_uint_eq(scene.state->crew.workers[1].clock, 11);
    ck_assert(!scene.state->crew.workers[1].in_hand);
    /* The status knows of all units. */
    tell(scene.tape.now_ns);
    ck_assert_uint_eq(crew_staleness(&scene.state->crew)[0], 130);
}
END_TEST

START_TEST(a_slot_moves)
{
    const struct crew *crew = &scene.state->crew;
    feed_start();
    slot(0, 5, GW_PS_LEARNER);
    slot(0, 5, GW_PS_SECONDARY);
    slot(1, 5, GW_PS_SECONDARY);
    feed();
    ck_assert_uint_eq(crew_unserved(crew), 1);
    slot(0, 5, GW_PS_PRIMARY);
    slot(1, 5, GW_PS_NOT_HERE);
    feed();
    ck_assert_uint_eq(crew_unserved(crew), 0);
    ck_assert_uint_eq(crew_lost(crew), 0);
    ck_assert_int_eq(crew_primary(crew, 5), 0);
    ck_assert_uint_eq(crew_count(crew, 0, GW_PS_PRIMARY), 4);
}
END_TEST

/* ---- what a status may say ---- */

START_TEST(a_slot_waits_for_its_heir)
{
    json_object_set_new(at("slots", 3), "serves", json_false());
    tell(SECOND);
    ck_assert_uint_eq(crew_unserved(&scene.state->crew), 1);
    scene.view.page = PAGE_SLOTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("24 slots: 1 not served now"));
}
END_TEST

START_TEST(a_ring_has_no_servers)
{
    json_object_del(status, "slots");
    tell(SECOND);
    ck_assert(!scene.state->crew.here);
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
        " \"mode\": [], \"units\": 1e300}}",
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
    ck_assert(scene.state->crew.here);
}
END_TEST

/* What is drawn outside of the grid is caught by `make asan`. */
START_TEST(every_size)
{
    static const int heights[] = {1, 2, 9, 10, 11, 13, 17, 24, 50, 200};
    tell_status();
    lose_server(2);
    tell(4 * SECOND);
    for (int width = 1; width < 200; width += 1 + width / 8)
        for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
            scene_draw_all(width, heights[i]);
}
END_TEST

START_TEST(many)
{
    for (uint32_t s = 0; s < CREW_SERVERS; s++)
        for (uint32_t i = 0; i < GW_PS_SLOTS_MAX; i++)
            if (i % CREW_SERVERS == s || (i + 1) % CREW_SERVERS == s)
                slot(s, i,
                     i % CREW_SERVERS == s ? GW_PS_PRIMARY : GW_PS_SECONDARY);
    for (uint32_t w = 0; w < CREW_WORKERS; w++)
        works(w, w, (int64_t)w);
    feed();
    scene_draw_all(40, 10);
    scene_draw_all(200, 60);
    scene.view.help = false;
    scene.view.rank_top = 1000;
    scene.view.chunk_left = 1000;
    scene.view.page = PAGE_SLOTS;
    scene_draw(40, 10);
    ck_assert(scene_shows(" s23 "));
    ck_assert(scene_shows("(30 to 63)"));
    scene.view.page = PAGE_CLOCKS;
    scene_draw(40, 10);
    ck_assert(scene_shows("w31 "));
}
END_TEST

START_TEST(tab_goes_to_what_there_is)
{
    bool ring = false, slots = false;
    tell_status();
    for (int crew = 0; crew < 2; crew++) {
        scene.view.crew = crew;
        scene.view.page = PAGE_OVERVIEW;
        ring = slots = false;
        for (unsigned i = 0; i < PAGES; i++) {
            view_key(&scene.view, &scene.player, '\t', SECOND);
            ring |= scene.view.page == PAGE_RING;
            slots |= scene.view.page == PAGE_SLOTS;
        }
        ck_assert_int_eq(ring, !crew);
        ck_assert_int_eq(slots, crew);
    }
}
END_TEST

static void type(const char *keys)
{
    for (; *keys; keys++)
        view_key(&scene.view, &scene.player, *keys, SECOND);
}

START_TEST(orders_name_servers)
{
    const struct order *order = &scene.view.order;
    scene.view.crew = true;
    type("ks1");
    scene_draw(80, 24);
    ck_assert(scene_shows("kill which worker, or server (s0)? s1_"));
    ck_assert_int_eq(order->kind, ORDER_NONE);
    type("\n");
    ck_assert(order->kind == ORDER_KILL && order->server && order->node == 1);
    type("p12\n");
    ck_assert(order->kind == ORDER_PAUSE && !order->server &&
              order->node == 12);
    type("as\n");
    ck_assert(order->kind == ORDER_ADD && order->server);
    type("ks\n"); /* which one? */
    ck_assert_int_eq(scene.view.asking, ORDER_KILL);
    type("q");
    scene.view.crew = false;
    type("ks"); /* a ring has none: no */
    ck_assert_int_eq(scene.view.asking, ORDER_NONE);
}
END_TEST

Suite *suite_ringtop_crew(void)
{
    const TTest *const tests[] = {
        golden_crew,
        golden_slots_and_clocks,
        golden_lost_slots,
        golden_of_events,
        a_takeover_ends_the_story,
        the_last_replica_dies,
        others_go_on_without_a_worker,
        staleness_is_counted,
        a_slot_moves,
        a_slot_waits_for_its_heir,
        a_ring_has_no_servers,
        odd_documents,
        every_size,
        many,
        tab_goes_to_what_there_is,
        orders_name_servers,
    };
    Suite *suite = suite_create("ringtop_crew");
    TCase *tcase = tcase_create("ringtop crew");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
