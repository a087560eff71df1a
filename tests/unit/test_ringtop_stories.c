/* SPDX-License-Identifier: MIT
 *
 * The live view of parameter servers: the record of a failure is completed by
 * events or by statuses, in any order, and even if some of the events are lost.
 */
#include "scene.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_stories(void);

#define SECOND   UINT64_C(1000000000)
#define MS(time) (UINT64_C(1000000) * (time))

enum { SERVER_1 = PS_SERVER_NODE + 1, SLOTS = 24 };

static json_t *status;

static void begin(void)
{
    json_error_t error;
    scene_begin();
    scene.player.live = true;
    status = json_load_file("tests/view/servers-status.json", 0, &error);
    ck_assert_msg(status != NULL, "line %d: %s", error.line, error.text);
}

static void end(void)
{
    json_decref(status);
    scene_end();
}

/* ---- statuses and events ---- */

static void feed_at(uint64_t time_ns)
{
    state_status(scene.state, status, time_ns);
}

static void set_new(const char *list, size_t i, const char *name, json_t *value)
{
    json_t *object = json_array_get(json_object_get(status, list), i);
    ck_assert_int_eq(json_object_set_new(object, name, value), 0);
}

/* Changes the status: in this epoch server 2 has the slots of server 1, and
 * serves them or not yet. */
static void hand_over(json_int_t epoch, bool serves)
{
    json_object_set_new(status, "epoch", json_integer(epoch));
    for (size_t i = 0; i < SLOTS; i++) {
        int server = i % 3 ? 2 : 0;
        set_new("slots", i, "primary", json_integer(server));
        set_new("slots", i, "in_sync", json_pack("[i]", server));
        set_new("slots", i, "learner", json_null());
        set_new("slots", i, "serves", json_boolean(serves));
    }
}

static struct gw_event event_of(enum gw_event_kind kind, uint64_t time_ns)
{
    return (struct gw_event){.time_ns = time_ns,
                             .kind = kind,
                             .rank = GW_NONE,
                             .peer = GW_NONE,
                             .epoch = 4,
                             .op = GW_NONE,
                             .step = GW_NONE,
                             .chunk = GW_NONE};
}

/* The process ends, by an event and in the next status. */
static void end_process(size_t node, uint32_t number, uint64_t time_ns)
{
    struct gw_event event = event_of(GW_EV_FAILURE, time_ns);
    set_new("nodes", node, "state", json_string("dead"));
    event.peer = number;
    event.value = GW_BY_EXIT;
    state_event(scene.state, &event);
}

static void declare_dead(uint32_t number, uint64_t time_ns)
{
    struct gw_event member = event_of(GW_EV_MEMBER, time_ns),
                    epoch = event_of(GW_EV_EPOCH, time_ns);
    member.rank = number;
    member.value = GW_MEMBER_DEAD;
    epoch.value = 6;
    state_event(scene.state, &member);
    state_event(scene.state, &epoch);
}

static void take_over(uint64_t time_ns)
{
    struct gw_event event = event_of(GW_EV_SLOT, time_ns);
    event.rank = PS_SERVER_NODE + 2;
    event.value = GW_PS_PRIMARY;
    for (event.chunk = 1; event.chunk < SLOTS; event.chunk += 3)
        state_event(scene.state, &event);
}

/* ---- checks ---- */

static bool is_over(void)
{
    const struct failovers *fs = &scene.state->failovers;
    ck_assert_uint_eq(fs->count, 1);
    return fs->list[0].reached[RESUMED];
}

static bool shows(const char *text)
{
    scene.view.page = PAGE_EVENTS;
    scene_draw(80, 24);
    return scene_shows(text);
}

START_TEST(a_status_is_the_first_to_know_of_a_death)
{
    feed_at(SECOND);
    end_process(1, SERVER_1, 2 * SECOND);
    feed_at(2 * SECOND + MS(10));
    declare_dead(SERVER_1, 2 * SECOND + MS(30));
    ck_assert(!is_over());
    take_over(2 * SECOND + MS(50));
    ck_assert(is_over() && shows("without server 1 after 50.0 ms"));
}
END_TEST

START_TEST(a_status_is_the_first_to_know_of_all)
{
    feed_at(SECOND);
    end_process(1, SERVER_1, 2 * SECOND);
    hand_over(4, true);
    feed_at(2 * SECOND + MS(40));
    ck_assert(!is_over()); /* not declared dead yet */
    declare_dead(SERVER_1, 2 * SECOND + MS(50));
    ck_assert(is_over() && shows("without server 1 after 50.0 ms"));
    take_over(2 * SECOND + MS(60));
    ck_assert(is_over());
}
END_TEST

START_TEST(the_events_of_a_failure_are_lost)
{
    feed_at(SECOND);
    end_process(1, SERVER_1, 2 * SECOND);
    feed_at(3 * SECOND);
    hand_over(4, false);
    feed_at(4 * SECOND);
    ck_assert(!is_over());
    hand_over(4, true);
    feed_at(5 * SECOND);
    ck_assert(is_over() && shows("without server 1 after 3.00 s"));
}
END_TEST

START_TEST(a_server_that_served_nothing_dies)
{
    hand_over(3, true);
    feed_at(SECOND);
    end_process(1, SERVER_1, 2 * SECOND);
    ck_assert(!is_over());
    declare_dead(SERVER_1, 2 * SECOND + MS(30));
    ck_assert(is_over() && shows("without server 1 after 30.0 ms"));
    ck_assert(scene.state->failovers.list[0].reached[VIEWED]);
}
END_TEST

START_TEST(a_worker_that_had_nothing_in_hand_dies)
{
    set_new("nodes", 4, "phase", json_string("idle"));
    feed_at(SECOND);
    end_process(4, 1, 2 * SECOND);
    ck_assert(!is_over());
    declare_dead(1, 2 * SECOND + MS(30));
    ck_assert(is_over() && shows("without worker 1 after 30.0 ms"));
}
END_TEST

START_TEST(a_status_shows_that_others_go_on)
{
    feed_at(SECOND);
    end_process(5, 2, 2 * SECOND);
    declare_dead(2, 2 * SECOND + MS(30));
    feed_at(2 * SECOND + MS(40));
    ck_assert(!is_over());
    set_new("nodes", 3, "clock", json_integer(52));
    feed_at(3 * SECOND);
    ck_assert(is_over() && shows("without worker 2 after 1.00 s"));
}
END_TEST

Suite *suite_ringtop_stories(void)
{
    const TTest *const tests[] = {
        a_status_is_the_first_to_know_of_a_death,
        a_status_is_the_first_to_know_of_all,
        the_events_of_a_failure_are_lost,
        a_server_that_served_nothing_dies,
        a_worker_that_had_nothing_in_hand_dies,
        a_status_shows_that_others_go_on,
    };
    Suite *suite = suite_create("ringtop_stories");
    TCase *tcase = tcase_create("ringtop stories");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
