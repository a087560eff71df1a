/* SPDX-License-Identifier: MIT
 *
 * The live view of the controllers: an election from a recording, and the
 * additions of a status.
 */
#include "scene.h"

#include <check.h>
#include <jansson.h>

Suite *suite_ringtop_controllers(void);

enum {
    C0 = GW_RING_CONTROLLER,
    C1 = GW_RING_CONTROLLER - 1,
    C2 = GW_RING_CONTROLLER - 2
};

static void vote(unsigned who, unsigned whom, int64_t term)
{
    tape_add(&scene.tape, GW_EV_VOTE, who, term)->peer = whom;
}

/* Controller 1 leads in term 2 and is killed; 0 and 2 elect 2. */
static void kill_leader(void)
{
    vote(C1, C1, 2);
    vote(C2, C1, 2);
    tape_add(&scene.tape, GW_EV_LEADER, C1, 2);
    for (unsigned c = C2; c <= C0; c++)
        tape_add(&scene.tape, GW_EV_COMMIT, c, 10);
    tape_add(&scene.tape, GW_EV_FAILURE, GW_NONE, GW_BY_EXIT)->peer = C1;
    vote(C2, C2, 3);
    vote(C0, C2, 3);
    tape_add(&scene.tape, GW_EV_LEADER, C2, 3);
    tape_add(&scene.tape, GW_EV_COMMIT, C2, 11);
    scene_feed(0, scene.tape.count);
}

START_TEST(a_recording_shows_who_leads_after_the_leader_died)
{
    const struct controllers *cs = &scene.state->controllers;
    kill_leader();
    ck_assert_int_eq(cs->leader, 2);
    ck_assert_uint_eq(cs->term, 3);
    ck_assert_str_eq(cs->list[1].state, "dead");
    ck_assert_int_eq(cs->list[0].voted_for, 2);
    ck_assert_uint_eq(cs->list[2].applied, 11);
    ck_assert_uint_eq(state_members(scene.state), 0); /* they have no rank */
    scene.view.page = PAGE_CONTROLLERS;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "controllers-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "controllers-40x10-ascii");
}
END_TEST

START_TEST(a_status_adds_logs_hellos_and_leases)
{
    const struct controllers *cs = &scene.state->controllers;
    json_t *status = json_pack(
        "{s:i, s:[{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i}]}", "leader", 0,
        "controller_list", "state", "alive", "follows", 0, "term", 4, "last",
        20, "committed", 19, "applied", 17, "hellos", 300, "leases", 100);
    ck_assert_ptr_nonnull(status);
    state_status(scene.state, status, 1);
    json_decref(status);
    ck_assert_int_eq(cs->leader, 0);
    ck_assert_uint_eq(cs->list[0].last, 20);
    scene.view.page = PAGE_CONTROLLERS;
    scene_draw(80, 24);
    ck_assert(scene_shows("controllers: c0 leads in term 4"));
    ck_assert(scene_shows("300"));
}
END_TEST

/* A recording may have any content. */
START_TEST(nodes_that_are_no_controllers_do_no_harm)
{
    const struct controllers *cs = &scene.state->controllers;
    tape_add(&scene.tape, GW_EV_LEADER, 7, 2);
    vote(C1, 3, 1);
    vote(GW_NONE, C1, 1);
    tape_add(&scene.tape, GW_EV_COMMIT, GW_NONE, -1);
    tape_add(&scene.tape, GW_EV_LEASE, C0, 0);
    scene_feed(0, scene.tape.count);
    ck_assert_int_eq(cs->leader, -1);
    ck_assert_int_eq(cs->list[1].voted_for, -1);
    scene_draw_all(80, 24);
}
END_TEST

Suite *suite_ringtop_controllers(void)
{
    Suite *suite = suite_create("ringtop_controllers");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, scene_begin, scene_end);
    tcase_add_test(t, a_recording_shows_who_leads_after_the_leader_died);
    tcase_add_test(t, a_status_adds_logs_hellos_and_leases);
    tcase_add_test(t, nodes_that_are_no_controllers_do_no_harm);
    suite_add_tcase(suite, t);
    return suite;
}
