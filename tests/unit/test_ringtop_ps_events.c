/* SPDX-License-Identifier: MIT
 *
 * The live view of parameter servers from the events of a recording, without a
 * status: slots that move, are taken over or are lost; workers and their items.
 */
#include "scene.h"

#include <check.h>

Suite *suite_ringtop_ps_events(void);

enum { SERVER = PS_SERVER_NODE };

static void begin(void)
{
    scene_begin();
    scene.player.live = true;
    scene.view.may_control = true;
}

static void golden(const char *name, enum page page, int width, int height)
{
    scene.view.page = page;
    scene_draw(width, height);
    assert_golden(&scene.grid, name);
}

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
    /* As with a recording that was read in advance. */
    scene.state->ps.here = scene.state->failovers.ps = true;
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

/* Server 0 is killed, and server 1 takes over its slots; slot 5 had no other
 * replica. */
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
    ck_assert(f->reached[NOTICED] && f->reached[DECLARED_DEAD]);
    ck_assert(f->reached[RESUMED] && !f->reached[DECIDED]);
    /* At the last of its slots, not at the first. */
    ck_assert_uint_eq(f->time_ns[RESUMED], scene.tape.now_ns - 1000);
    scene.view.page = PAGE_EVENTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("server 0 is declared dead"));
    ck_assert(scene_shows("without server 0 after 25.0 ms"));
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(ps_primary(&scene.state->ps, i), 1);
    ck_assert_uint_eq(ps_lost(&scene.state->ps), 0);
}
END_TEST

START_TEST(the_last_replica_dies)
{
    feed_start();
    feed_death(1);
    ck_assert_uint_eq(ps_lost(&scene.state->ps), 1);
    ck_assert(scene.state->ps.slots[5].lost);
    /* The failure never ends, since one slot has no server. */
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
    works(0, 2, 1); /* a repetition: no item is finished */
    feed();
    ck_assert(f->reached[DECLARED_DEAD] && !f->reached[RESUMED]);
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
    works(1, 10, -1);                                    /* invalid */
    tape_add(&scene.tape, GW_EV_CLOCK, 1, 0)->step = 11; /* not an item */
    scene.tape.events[scene.tape.count - 1].op = GW_NONE;
    feed();
    const uint64_t *seen = ps_staleness(&scene.state->ps);
    ck_assert_uint_eq(seen[0], 3);
    ck_assert_uint_eq(seen[1], 2);
    ck_assert_uint_eq(seen[2], 1);
    ck_assert_uint_eq(seen[GW_PS_STALENESS_MAX], 1);
    ck_assert_uint_eq(scene.state->ps.workers[1].clock, 11);
    ck_assert(!scene.state->ps.workers[1].in_hand);
}
END_TEST

START_TEST(a_slot_moves)
{
    const struct ps_members *ps = &scene.state->ps;
    feed_start();
    slot(0, 5, GW_PS_LEARNER);
    slot(0, 5, GW_PS_SECONDARY);
    slot(1, 5, GW_PS_SECONDARY);
    feed();
    ck_assert_uint_eq(ps_unserved(ps), 1);
    slot(0, 5, GW_PS_PRIMARY);
    slot(1, 5, GW_PS_NOT_HERE);
    feed();
    ck_assert_uint_eq(ps_unserved(ps), 0);
    ck_assert_uint_eq(ps_lost(ps), 0);
    ck_assert_int_eq(ps_primary(ps, 5), 0);
    ck_assert_uint_eq(ps_count(ps, 0, GW_PS_PRIMARY), 4);
}
END_TEST

START_TEST(many)
{
    for (uint32_t s = 0; s < PS_SERVERS; s++)
        for (uint32_t i = 0; i < GW_PS_SLOTS_DEFAULT; i++)
            if (i % PS_SERVERS == s || (i + 1) % PS_SERVERS == s)
                slot(s, i,
                     i % PS_SERVERS == s ? GW_PS_PRIMARY : GW_PS_SECONDARY);
    for (uint32_t w = 0; w < PS_WORKERS; w++)
        works(w, w, (int64_t)w);
    feed();
    scene_draw_all(40, 10);
    scene_draw_all(200, 60);
    scene.view.help = false;
    scene.view.page = PAGE_OVERVIEW;
    scene_draw(80, 24);
    ck_assert(scene_shows("16 more servers; Up and Down scroll"));
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

Suite *suite_ringtop_ps_events(void)
{
    const TTest *const tests[] = {
        golden_of_events,
        a_takeover_ends_the_story,
        the_last_replica_dies,
        others_go_on_without_a_worker,
        staleness_is_counted,
        a_slot_moves,
        many,
    };
    Suite *suite = suite_create("ringtop_ps_events");
    TCase *tcase = tcase_create("ringtop member events");
    tcase_add_checked_fixture(tcase, begin, scene_end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
