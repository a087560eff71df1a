/* SPDX-License-Identifier: MIT
 *
 * The pictures and the page of a pipeline in the live view.
 */
#include "pipe_tape.h"
#include "scene.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_gantt(void);

#define MS UINT64_C(1000000)

static const struct pipe_tape four = {.stages = 4,
                                      .micros = 8,
                                      .forward_ns = 5 * MS,
                                      .backward_ns = 5 * MS,
                                      .predicted_ns = 105 * MS};

/* Shows the events on the tape up to this time, and clears it. */
static void feed_until(uint64_t time_ns)
{
    size_t count = 0;
    while (count < scene.tape.count &&
           scene.tape.events[count].time_ns <= time_ns)
        count++;
    scene_feed(0, count);
    scene.tape.count = 0;
    state_time(scene.state, time_ns);
}

static void feed(void)
{
    scene_feed(0, scene.tape.count);
    scene.tape.count = 0;
}

/* Steps 3 and 4, and the beginning of step 5. */
static void feed_two_and(const struct pipe_tape *pipe, uint64_t until_ns)
{
    pipe_tape_stages(&scene.tape, pipe);
    feed();
    for (uint32_t step = 3; step < 5; step++) {
        pipe_tape_step(&scene.tape, pipe, step);
        feed();
        scene.tape.now_ns += MS;
    }
    uint64_t begin_ns = scene.tape.now_ns;
    pipe_tape_step(&scene.tape, pipe, 5);
    feed_until(begin_ns + until_ns);
}

static void golden(const char *name, enum page page, int width, int height)
{
    scene.view.page = page;
    scene_draw(width, height);
    assert_golden(&scene.grid, name);
}

START_TEST(golden_pipeline)
{
    feed_two_and(&four, 62 * MS);
    golden("pipeline-80x24", PAGE_PIPELINE, 80, 24);
    golden("pipeline-overview-80x24", PAGE_OVERVIEW, 80, 24);
    scene.picture.glyphs = &glyphs_ascii;
    golden("pipeline-120x40-ascii", PAGE_PIPELINE, 120, 40);
    golden("pipeline-40x10-ascii", PAGE_PIPELINE, 40, 10);
    golden("pipeline-overview-40x10-ascii", PAGE_OVERVIEW, 40, 10);
    scene.view.help = true;
    golden("pipeline-help-40x10-ascii", PAGE_PIPELINE, 40, 10);
}
END_TEST

START_TEST(golden_split)
{
    struct pipe_tape split = four;
    split.splits = true;
    split.backward_ns = 10 * MS;
    split.predicted_ns = 0;
    feed_two_and(&split, 27 * MS);
    golden("pipeline-split-160x24", PAGE_PIPELINE, 160, 24);
}
END_TEST

START_TEST(every_size_of_a_pipeline)
{
    static const int heights[] = {10, 11, 12, 13, 17, 24, 50, 200};
    struct pipe_tape wide = {
        .stages = 16, .micros = 32, .forward_ns = MS, .backward_ns = 2 * MS};
    feed_two_and(&wide, 62 * MS);
    for (int width = 40; width < 250; width += 1 + width / 8)
        for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
            scene_draw_all(width, heights[i]);
    scene.view.help = false;
    scene.view.page = PAGE_PIPELINE;
    scene.view.rank_top = 1000;
    scene_draw(40, 10);
    ck_assert(scene_shows(" s15 "));
}
END_TEST

START_TEST(the_page_is_there_when_there_is_a_pipeline)
{
    scene.view.page = PAGE_PIPELINE;
    scene_draw(80, 24);
    ck_assert(scene_shows("no pipeline reported yet"));
    scene.view.page = PAGE_CHUNKS;
    view_key(&scene.view, &scene.player, '\t', 0);
    ck_assert_int_eq(scene.view.page, PAGE_EVENTS);
    scene.view.page = PAGE_CHUNKS;
    scene.view.pipe = true;
    view_key(&scene.view, &scene.player, '\t', 0);
    ck_assert_int_eq(scene.view.page, PAGE_PIPELINE);
    pipe_tape_stages(&scene.tape, &four);
    feed();
    scene_draw(80, 24);
    ck_assert(scene_shows("no pass has begun yet"));
    ck_assert(scene_shows("pipeline 4x8"));
}
END_TEST

START_TEST(a_stage_that_is_missed_is_named)
{
    feed_two_and(&four, 62 * MS);
    struct gw_event *event =
        tape_add(&scene.tape, GW_EV_FAILURE, GW_NONE, GW_BY_EXIT);
    event->time_ns = scene.state->now_ns;
    event->peer = 12;
    feed();
    scene.view.page = PAGE_PIPELINE;
    scene_draw(80, 24);
    ck_assert(scene_shows("    2   12 SUSPECT"));
}
END_TEST

Suite *suite_ringtop_gantt(void)
{
    const TTest *const tests[] = {
        golden_pipeline,
        golden_split,
        every_size_of_a_pipeline,
        the_page_is_there_when_there_is_a_pipeline,
        a_stage_that_is_missed_is_named,
    };
    Suite *suite = suite_create("ringtop_gantt");
    TCase *tcase = tcase_create("ringtop gantt");
    tcase_add_checked_fixture(tcase, scene_begin, scene_end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
