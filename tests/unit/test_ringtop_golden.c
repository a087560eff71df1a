/* SPDX-License-Identifier: MIT
 *
 * The pictures of the live view, compared with files, and drawn at every size.
 */
#include "scene.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_golden(void);

/* ---- golden frames ---- */

START_TEST(golden_overview)
{
    scene_feed_ring();
    scene_draw(80, 24);
    assert_golden(&scene.grid, "overview-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "overview-40x10-ascii");
    scene_draw(120, 40);
    assert_golden(&scene.grid, "overview-120x40-ascii");
}
END_TEST

START_TEST(golden_ring)
{
    scene_feed_ring();
    scene.view.page = PAGE_RING;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "ring-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "ring-40x10-ascii");
}
END_TEST

START_TEST(golden_chunks)
{
    scene_feed_ring();
    scene.view.page = PAGE_CHUNKS;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "chunks-40x10");
}
END_TEST

START_TEST(golden_failover)
{
    scene_feed_failure();
    scene_draw(80, 24);
    assert_golden(&scene.grid, "dead-80x24");
    scene.view.page = PAGE_FAILOVER;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "failover-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "failover-40x10-ascii");
}
END_TEST

/* Becomes a view of `count` nodes, in this order. */
static void feed_view(uint32_t epoch, const unsigned *nodes, unsigned count)
{
    scene.tape.count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct gw_event *event =
            tape_add(&scene.tape, GW_EV_MEMBER, nodes[i], GW_MEMBER_ALIVE);
        event->epoch = epoch;
        event->step = i;
    }
    tape_add(&scene.tape, GW_EV_EPOCH, GW_NONE, count)->epoch = epoch;
    scene_feed(0, scene.tape.count);
}

/* A death, before the next view. */
static void feed_death(unsigned node, uint32_t epoch)
{
    scene.tape.count = 0;
    tape_add(&scene.tape, GW_EV_FAILURE, 2, GW_BY_EXIT)->peer = node;
    tape_add(&scene.tape, GW_EV_MEMBER, node, GW_MEMBER_DEAD)->epoch = epoch;
    scene_feed(0, scene.tape.count);
}

/* A chunk is half way from one node to another. */
static void feed_chunk(uint32_t epoch, unsigned from, unsigned to)
{
    scene.tape.count = 0;
    struct gw_event *event = tape_add(&scene.tape, GW_EV_SEND, from, 0);
    event->peer = to;
    event->epoch = epoch;
    event->op = 7;
    event->chunk = 5;
    scene_feed(0, scene.tape.count);
}

/* The picture shows the order of the view, which is not that of the numbers. */
START_TEST(golden_views)
{
    static const unsigned nodes[] = {0, 1, 2, 3}, rejoined[] = {0, 2, 3, 1},
                          joined[] = {0, 2, 3, 1, 4}, left[] = {2, 1, 4};
    scene.view.page = PAGE_RING;
    feed_view(1, nodes, 4);
    feed_death(1, 2);
    feed_view(3, rejoined, 4);
    feed_chunk(3, 1, 0);
    scene_draw(80, 24);
    assert_golden(&scene.grid, "rejoin-80x24");
    feed_view(4, joined, 5);
    feed_chunk(4, 1, 4);
    scene_draw(80, 24);
    assert_golden(&scene.grid, "join-80x24");
    feed_death(0, 5);
    feed_death(3, 5);
    feed_view(5, left, 3);
    feed_chunk(5, 4, 2);
    scene_draw(80, 24);
    assert_golden(&scene.grid, "two-deaths-80x24");
    scene.view.page = PAGE_OVERVIEW;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "two-deaths-overview-80x24");
}
END_TEST

START_TEST(golden_loss)
{
    scene_feed_losses(100);
    scene.view.page = PAGE_LOSS;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "loss-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "loss-40x10-ascii");
}
END_TEST

START_TEST(golden_help)
{
    scene.view.help = true;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "help-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "help-40x10-ascii");
}
END_TEST

START_TEST(golden_commands)
{
    scene_feed_failure();
    scene.player.live = true;
    scene.view.may_control = true;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "orders-80x24");
    scene.view.prompt = CONTROL_KILL;
    strcpy(scene.view.typed, "12");
    scene.picture.answer = "not to be seen while it is asked";
    scene_draw(80, 24);
    assert_golden(&scene.grid, "asking-80x24");
    scene.view.prompt = CONTROL_NONE;
    scene.picture.answer = "node 12 was killed: epoch 2, ring 0 1 3";
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "answer-40x10-ascii");
}
END_TEST

START_TEST(golden_double)
{
    scene_record("allreduce ranks=3 chunks=1\n"
                 "step 0>1 c0 +\n"
                 "step 0>2 c0 +\n"
                 "step 1>2 c0 +\n"
                 "step 2>0 c0 =  2>1 c0 =\n",
                 1);
    scene_feed(0, scene.tape.count);
    scene_draw(80, 24);
    assert_golden(&scene.grid, "double-80x24");
}
END_TEST

/* ---- sizes ---- */

START_TEST(too_small)
{
    scene_draw(38, 9);
    ck_assert(scene_shows("terminal too small (38x9)"));
    scene_draw(39, 100);
    ck_assert(scene_shows("terminal too small (39x100)"));
    scene_draw(100, 9);
    ck_assert(scene_shows("terminal too small (100x9)"));
    scene_draw(40, 10);
    ck_assert(!scene_shows("too small"));
}
END_TEST

/* `make asan` detects drawing outside the grid. */
START_TEST(every_size)
{
    static const int heights[] = {1, 2, 9, 10, 11, 13, 17, 24, 50, 200};
    scene_feed_failure();
    scene_feed_losses(30);
    for (int width = 1; width < 200; width += 1 + width / 8)
        for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
            scene_draw_all(width, heights[i]);
    scene_draw_all(1000, 1000);
}
END_TEST

START_TEST(nothing_known_yet)
{
    scene_draw_all(40, 10);
    scene_draw_all(80, 24);
    scene.view.page = PAGE_OVERVIEW;
    scene.view.help = false;
    scene_draw(80, 24);
    ck_assert(scene_shows("no rank has reported yet"));
    ck_assert(scene_shows("no op yet"));
}
END_TEST

START_TEST(many_ranks)
{
    struct gw_plan *plan = tape_ring(24);
    tape_op(&scene.tape, plan, 1, 1 << 20);
    gw_plan_destroy(&plan);
    scene_feed(0, 24 + 24 + 5);
    scene_draw_all(80, 24);
    scene_draw_all(200, 60);
    scene.view.page = PAGE_OVERVIEW;
    scene.view.help = false;
    scene_draw(80, 24);
    ck_assert(scene_shows("more ranks; Up and Down scroll"));
    ck_assert(scene_shows("chunks 0 to "));
    scene.view.rank_top = 1000;
    scene.view.chunk_left = 1000;
    scene_draw(80, 24);
    ck_assert(scene_shows("   23 busy"));
    scene.view.page = PAGE_RING;
    scene_draw(40, 10);
    ck_assert(scene_shows("  c")); /* a list */
}
END_TEST

START_TEST(any_state_can_be_drawn)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    for (unsigned i = 0; i < 400; i++) {
        bool wild = gw_rng_below(&rng, 50) == 0;
        struct gw_event *event = tape_add(
            &scene.tape, (enum gw_event_kind)gw_rng_below(&rng, GW_EVENT_KINDS),
            (uint32_t)gw_rng_below(&rng, 7), (int64_t)gw_rng_below(&rng, 6));
        event->peer = (uint32_t)gw_rng_below(&rng, 7);
        event->op = (uint32_t)gw_rng_below(&rng, 4);
        event->epoch = (uint32_t)gw_rng_below(&rng, 3);
        event->step = wild ? (uint32_t)gw_rng_next(&rng)
                           : (uint32_t)gw_rng_below(&rng, 9);
        event->chunk = (uint32_t)gw_rng_below(&rng, wild ? 5000 : 9);
        event->bytes = gw_rng_next(&rng) >> gw_rng_below(&rng, 64);
        event->time_ns = wild ? gw_rng_next(&rng) / 2 : event->time_ns;
        state_event(scene.state, event);
        if (i % 20 == 0)
            scene_draw_all(40 + (int)gw_rng_below(&rng, 100),
                           10 + (int)gw_rng_below(&rng, 50));
    }
}
END_TEST

Suite *suite_ringtop_golden(void)
{
    const TTest *const tests[] = {
        golden_overview, golden_ring, golden_chunks,   golden_failover,
        golden_loss,     golden_help, golden_commands, golden_double,
        golden_views,    too_small,   every_size,      nothing_known_yet,
        many_ranks,
    };
    Suite *suite = suite_create("ringtop_golden");
    TCase *tcase = tcase_create("ringtop golden");
    tcase_add_checked_fixture(tcase, scene_begin, scene_end);
    tcase_add_loop_test(tcase, any_state_can_be_drawn, 0, 10);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
