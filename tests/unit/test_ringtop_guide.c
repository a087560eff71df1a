/* SPDX-License-Identifier: MIT
 *
 * What the live view explains: each page has a line that names what to look
 * for, and "?" explains its signs over the living page.
 */
#include "scene.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_guide(void);

static const enum page every_kind[] = {
    PAGE_OVERVIEW, PAGE_RING,     PAGE_CHUNKS,  PAGE_SLOTS,
    PAGE_CLOCKS,   PAGE_REQUESTS, PAGE_EVENTS,  PAGE_CONTROLLERS,
    PAGE_FAILOVER, PAGE_LOSS,     PAGE_PIPELINE};
_Static_assert(sizeof every_kind / sizeof *every_kind == PAGES,
               "a page is missing");

START_TEST(each_page_names_what_to_look_for)
{
    for (int kind = 0; kind < 3; kind++)
        for (unsigned i = 0; i < PAGES; i++) {
            scene.state->ps.here = kind == 1;
            scene.state->pipe.here = kind == 2;
            scene.view.page = every_kind[i];
            scene_draw(80, 24);
            ck_assert_msg(scene_shows("\n Look for "), "%s",
                          page_name(every_kind[i]));
            scene_draw(40, 10);
            ck_assert(!scene_shows("Look for")); /* no room */
            view_key(&scene.view, &scene.player, '?', 1);
            scene_draw(40, 10);
            ck_assert_msg(scene_shows("\n  Look for "), "%s",
                          page_name(every_kind[i]));
            ck_assert(scene_shows("any key closes it"));
            view_key(&scene.view, &scene.player, 'x', 1);
        }
}
END_TEST

START_TEST(the_page_lives_behind_the_box)
{
    scene_feed_ring();
    view_key(&scene.view, &scene.player, '?', 1);
    scene_draw(80, 24);
    ck_assert(scene_shows("overview: any key closes it"));
    ck_assert(scene_shows("\n    1 busy         2 2/4 "));
    ck_assert(scene_shows("[3=]"));
    ck_assert(scene_shows("a chunk with the data of 3 members"));
    assert_golden(&scene.grid, "explained-80x24");
    state_event(scene.state, &scene.tape.events[scene.tape.count - 1]);
    scene_draw(80, 24);
    ck_assert(scene_shows("\n    2 idle         2 "));
    scene_draw(120, 40);
    assert_golden(&scene.grid, "explained-120x40");
    view_key(&scene.view, &scene.player, ' ', 1);
    ck_assert(!scene.view.explain && !scene.player.frozen);
    scene_draw(80, 24);
    ck_assert(!scene_shows("any key closes it"));
}
END_TEST

Suite *suite_ringtop_guide(void)
{
    Suite *suite = suite_create("ringtop_guide");
    TCase *tcase = tcase_create("ringtop guide");
    tcase_add_checked_fixture(tcase, scene_begin, scene_end);
    tcase_add_test(tcase, each_page_names_what_to_look_for);
    tcase_add_test(tcase, the_page_lives_behind_the_box);
    suite_add_tcase(suite, tcase);
    return suite;
}
