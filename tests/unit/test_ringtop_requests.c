/* SPDX-License-Identifier: MIT
 *
 * The live view of working parameter servers: parts of the open round, requests
 * under way, replicas that copy a slot.
 */
#include "scene.h"

#include <check.h>

Suite *suite_ringtop_requests(void);

enum { S0 = 32, S1 = 33, EVERY_NS = 1000000 };

static void feed(void)
{
    static size_t fed;
    if (scene.state->events == 0)
        fed = 0;
    scene_feed(fed, scene.tape.count);
    fed = scene.tape.count;
}

/* The worker gets a part of this batch; its clock counts the items before. */
static void grant(unsigned worker, unsigned clock, unsigned batch,
                  unsigned part)
{
    struct gw_event *e = tape_add(&scene.tape, GW_EV_CLOCK, worker, 0);
    e->step = clock;
    e->epoch = 0;
    e->op = batch;
    e->chunk = part;
}

static void request(unsigned worker, unsigned server, unsigned id, int64_t kind)
{
    struct gw_event *e = tape_add(&scene.tape, GW_EV_REQUEST, worker, kind);
    e->peer = server;
    e->op = id;
    e->chunk = id % 8;
    scene.tape.now_ns += EVERY_NS;
}

static void answer(unsigned worker, unsigned id, int64_t code)
{
    tape_add(&scene.tape, GW_EV_REPLY, worker, code)->op = id;
    scene.tape.now_ns += EVERY_NS;
}

static void parts_are(const enum ps_part right[], unsigned count)
{
    feed();
    ck_assert_uint_eq(scene.state->ps.round.parts, count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(ps_part_of(&scene.state->ps, i), right[i]);
}

static unsigned in_flight(void)
{
    unsigned count = 0;
    feed();
    for (unsigned i = 0; i < PS_REQUESTS; i++)
        count += scene.state->ps.requests[i].used;
    return count;
}

START_TEST(parts_are_assigned_pushed_and_done)
{
    for (unsigned w = 0; w < 3; w++)
        grant(w, 7, 4, w);
    parts_are(
        (const enum ps_part[]){PART_ASSIGNED, PART_ASSIGNED, PART_ASSIGNED}, 3);
    request(1, S0, 1, 1);
    request(1, S1, 2, 1);
    answer(1, 1, 0);
    parts_are(
        (const enum ps_part[]){PART_ASSIGNED, PART_ASSIGNED, PART_ASSIGNED}, 3);
    answer(1, 2, 0);
    grant(2, 8, 5, 2); /* it has finished, and a new round is open */
    feed();
    ck_assert_uint_eq(scene.state->ps.round.batch, 5);
    grant(1, 8, 5, 0);
    grant(0, 8, 5, 1);
    request(0, S0, 3, 1);
    answer(0, 3, 0);
    grant(1, 9, 5, 3); /* kofn: one more of the same */
    tape_add(&scene.tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    parts_are((const enum ps_part[]){PART_DONE, PART_PUSHED, PART_FREE,
                                     PART_ASSIGNED},
              4);
}
END_TEST

/* A batch with one part assigned so far has as many parts as the last one. */
START_TEST(a_new_batch_has_the_parts_of_the_last_one)
{
    for (unsigned w = 0; w < 3; w++)
        grant(w, 7, 4, w);
    grant(0, 8, 5, 0);
    parts_are((const enum ps_part[]){PART_ASSIGNED, PART_FREE, PART_FREE}, 3);
    grant(1, 8, 5, 1);
    grant(0, 9, 6, 0); /* two parts made up the whole batch 5 */
    parts_are((const enum ps_part[]){PART_ASSIGNED, PART_FREE}, 2);
}
END_TEST

START_TEST(requests_end_with_their_answer_or_their_server)
{
    request(0, S0, 1, 1);
    request(0, S1, 2, 0);
    request(1, S1, 1, 2); /* another worker has its own count */
    ck_assert_uint_eq(in_flight(), 3);
    answer(0, 1, 0);
    answer(0, 1, 0);
    answer(1, 9, 0);
    ck_assert_uint_eq(in_flight(), 2);
    ck_assert_uint_eq(scene.state->ps.answers, 1);
    tape_add(&scene.tape, GW_EV_MEMBER, S1, GW_MEMBER_DEAD);
    ck_assert_uint_eq(in_flight(), 0);
    request(99, S0, 1, 1);
    request(0, 5, 1, 1);
    request(0, S0, 1, 9);
    ck_assert_uint_eq(in_flight(), 0);
    for (unsigned i = 0; i < 2 * PS_REQUESTS; i++)
        request(0, S0, i, 1);
    ck_assert_uint_eq(in_flight(), PS_REQUESTS);
}
END_TEST

START_TEST(golden_requests)
{
    for (unsigned w = 0; w < 3; w++)
        grant(w, 7, 4, w);
    request(0, S0, 1, 1);
    answer(0, 1, 0);
    request(1, S1, 2, 1);
    request(2, S0, 3, 0);
    tape_add(&scene.tape, GW_EV_SLOT, S0, GW_PS_PRIMARY)->chunk = 5;
    tape_add(&scene.tape, GW_EV_SLOT, S1, GW_PS_LEARNER)->chunk = 5;
    feed();
    scene.state->ps.slots[5].rows = 400;
    scene.state->ps.slots[5].learner_rows = 120;
    scene.view.page = PAGE_REQUESTS;
    scene_draw(80, 24);
    assert_golden(&scene.grid, "requests-80x24");
    scene.picture.glyphs = &glyphs_ascii;
    scene_draw(40, 10);
    assert_golden(&scene.grid, "requests-40x10-ascii");
}
END_TEST

Suite *suite_ringtop_requests(void)
{
    Suite *suite = suite_create("ringtop_requests");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, scene_begin, scene_end);
    tcase_add_test(t, parts_are_assigned_pushed_and_done);
    tcase_add_test(t, a_new_batch_has_the_parts_of_the_last_one);
    tcase_add_test(t, requests_end_with_their_answer_or_their_server);
    tcase_add_test(t, golden_requests);
    suite_add_tcase(suite, t);
    return suite;
}
