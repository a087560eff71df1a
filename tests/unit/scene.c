/* SPDX-License-Identifier: MIT
 *
 * See scene.h.
 */
#include "scene.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct scene scene;

static const char ring[] = "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n";

void scene_begin(void)
{
    scene.tape.count = 0;
    scene.tape.now_ns = 1000000;
    scene.view = (struct view){.page = PAGE_OVERVIEW};
    player_init(&scene.player, false, 1);
    ck_assert_int_eq(state_new(&scene.state, NULL), GW_OK);
    scene.picture = (struct picture){
        .state = scene.state,
        .view = &scene.view,
        .player = &scene.player,
        .glyphs = &glyphs_utf8,
        .keys = true,
    };
}

void scene_end(void)
{
    state_destroy(&scene.state);
    player_fini(&scene.player);
    grid_fini(&scene.grid);
}

void scene_feed(size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        state_event(scene.state, &scene.tape.events[i]);
}

void scene_record(const char *text, uint32_t op)
{
    struct gw_plan *plan = tape_plan(text);
    tape_op(&scene.tape, plan, op, 3072);
    gw_plan_destroy(&plan);
}

void scene_draw(int width, int height)
{
    state_evaluate(scene.state);
    ck_assert_int_eq(grid_size(&scene.grid, width, height, NULL), GW_OK);
    draw(&scene.picture, &scene.grid);
}

bool scene_shows(const char *text)
{
    char *lines = grid_lines(&scene.grid);
    bool found = strstr(lines, text) != NULL;
    free(lines);
    return found;
}

void scene_feed_ring(void)
{
    scene_record(ring, 1);
    size_t second = scene.tape.count;
    scene_record(ring, 2);
    scene_feed(0, second + 3 + 6 + 3 + 1);
    state_time(scene.state, scene.state->now_ns + 400);
}

void scene_feed_failure(void)
{
    scene_record(ring, 1);
    scene_feed(0, 3 + 4);
    scene.tape.count = 0;
    scene.tape.now_ns += 10000000;
    tape_add(&scene.tape, GW_EV_FAILURE, 1, GW_BY_SILENCE)->peer = 2;
    scene.tape.now_ns += 5000000;
    tape_add(&scene.tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    scene.tape.now_ns += 1000000;
    tape_add(&scene.tape, GW_EV_EPOCH, GW_NONE, 2)->epoch = 1;
    struct gw_event *event = tape_add(&scene.tape, GW_EV_DECISION, GW_NONE, 1);
    event->op = 1;
    event->epoch = 1;
    for (uint32_t i = 0; i < 3; i++) {
        event = tape_add(&scene.tape, GW_EV_RECOVERY, 0, i == 2);
        event->op = 1;
        event->epoch = 1;
        event->chunk = i;
    }
    scene.tape.now_ns += 2000000;
    for (unsigned r = 0; r < 2; r++) {
        event = tape_add(&scene.tape, GW_EV_OP_END, r, 0);
        event->op = 1;
        event->epoch = 1;
    }
    scene_feed(0, scene.tape.count);
}

void scene_feed_losses(unsigned count)
{
    for (unsigned step = 1; step <= count; step++)
        tape_add(&scene.tape, GW_EV_LOSS, 0, 690000000 / (1 + step / 5))->step =
            step;
    scene_feed(0, scene.tape.count);
}

void scene_draw_all(int width, int height)
{
    for (unsigned page = 0; page < PAGES; page++)
        for (int help = 0; help < 3; help++) {
            scene.view.page = (enum page)page;
            scene.view.help = help == 1;
            scene.view.explain = help == 2;
            scene_draw(width, height);
        }
    scene.view.help = scene.view.explain = false;
}
