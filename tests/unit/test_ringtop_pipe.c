/* SPDX-License-Identifier: MIT
 *
 * The state that the live view makes of a pipeline's events. The pictures are
 * tested in test_ringtop_gantt.c.
 */
#include "pipe_tape.h"
#include "scene.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_pipe(void);

#define MS UINT64_C(1000000)

static const struct pipe_tape four = {.stages = 4,
                                      .micros = 8,
                                      .forward_ns = 5 * MS,
                                      .backward_ns = 5 * MS,
                                      .predicted_ns = 105 * MS};

static struct pipe *pipe_now(void)
{
    return &scene.state->pipe;
}

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

START_TEST(a_step_is_measured)
{
    struct pipe_total total;
    double predicted;
    pipe_tape_stages(&scene.tape, &four);
    pipe_tape_step(&scene.tape, &four, 0);
    feed();
    const struct pipe_step *step = pipe_complete(pipe_now());
    ck_assert_ptr_nonnull(step);
    ck_assert(pipe_current(pipe_now()) == step);
    ck_assert_uint_eq(pipe_took_ns(pipe_now(), step, 0), 110 * MS);
    ck_assert_double_eq_tol(pipe_bubble(pipe_now(), step, &predicted), 3.0 / 11,
                            1e-9);
    ck_assert_double_eq_tol(predicted, 1 - 80.0 / 105, 1e-9);
    ck_assert_uint_eq(pipe_now()->finished, 1);
    for (unsigned s = 0; s < 4; s++) {
        ck_assert_uint_eq(step->lanes[s].peak, 4 - s);
        ck_assert_uint_eq(step->lanes[s].held, 0);
        ck_assert_uint_eq(pipe_passes(pipe_now(), step, s), 16);
        pipe_total(pipe_now(), step, s, &total);
        ck_assert_double_eq_tol(total.busy, 80.0 / 110, 1e-9);
        ck_assert_double_eq_tol(total.busy + total.wait + total.rest, 1, 1e-9);
        ck_assert_double_eq_tol(total.rest, s * 5.0 / 110, 1e-9);
    }
    pipe_total(pipe_now(), step, 3, &total);
    ck_assert_uint_eq(total.waits_most_for, 2);
    pipe_total(pipe_now(), step, 0, &total);
    ck_assert_uint_eq(total.waits_most_for, 1);
}
END_TEST

/* A simulation's virtual time begins with 0. */
START_TEST(a_simulation_is_a_run)
{
    scene.tape.now_ns = 0;
    pipe_tape_stages(&scene.tape, &four);
    scene.tape.now_ns = 0;
    pipe_tape_step(&scene.tape, &four, 0);
    feed();
    const struct pipe_step *step = pipe_complete(pipe_now());
    ck_assert_ptr_nonnull(step);
    ck_assert_uint_eq(pipe_took_ns(pipe_now(), step, 0), 110 * MS);
}
END_TEST

START_TEST(what_stages_do_now)
{
    const struct pipe_pass *pass;
    uint32_t peer;
    pipe_tape_stages(&scene.tape, &four);
    feed();
    ck_assert_int_eq(pipe_doing(pipe_now(), 2, &pass, &peer), PIPE_IDLE);
    pipe_tape_step(&scene.tape, &four, 0);
    feed_until(1000000 + 4000 + 7 * MS); /* F1, F0, and two waiting */
    ck_assert_int_eq(pipe_doing(pipe_now(), 0, &pass, &peer), PIPE_WORKS);
    ck_assert_uint_eq(pass->micro, 1);
    ck_assert_int_eq(pipe_doing(pipe_now(), 1, &pass, &peer), PIPE_WORKS);
    ck_assert_int_eq(pipe_doing(pipe_now(), 2, &pass, &peer), PIPE_WAITS);
    ck_assert_uint_eq(peer, 1);
}
END_TEST

/* As in the previous step: stage 0 waits for B0 of stage 1. */
START_TEST(what_is_to_come_is_known_from_the_last_step)
{
    const struct pipe_pass *pass;
    uint32_t peer;
    pipe_tape_stages(&scene.tape, &four);
    pipe_tape_step(&scene.tape, &four, 0);
    feed();
    uint64_t begin_ns = scene.tape.now_ns;
    pipe_tape_step(&scene.tape, &four, 1);
    feed_until(begin_ns + 21 * MS);
    ck_assert_int_eq(pipe_doing(pipe_now(), 0, &pass, &peer), PIPE_WAITS);
    ck_assert_uint_eq(peer, 1);
    ck_assert_ptr_nonnull(pass);
    ck_assert_uint_eq(pass->micro, 0);
    ck_assert_uint_eq(pass->kind, GW_BACKWARD);
    scene.view.page = PAGE_PIPELINE;
    scene_draw(80, 24);
    ck_assert(scene_shows(" waits for s1"));
    ck_assert(scene_shows("    0   10 waits s1"));
    ck_assert_ptr_nonnull(pipe_last(pipe_now()));
    ck_assert_uint_eq(pipe_last(pipe_now())->step, 0);
}
END_TEST

START_TEST(input_and_weights_are_passes_of_their_own)
{
    struct pipe_tape split = four;
    split.splits = true;
    pipe_tape_stages(&scene.tape, &split);
    pipe_tape_step(&scene.tape, &split, 0);
    feed();
    const struct pipe_step *step = pipe_complete(pipe_now());
    ck_assert_ptr_nonnull(step);
    ck_assert_uint_eq(pipe_passes(pipe_now(), step, 1), 24);
    ck_assert_uint_eq(step->lanes[1].done[GW_BACKWARD_WEIGHT], 8);
}
END_TEST

/* Earlier events of the step are missing, so it is not counted. */
START_TEST(who_attaches_in_a_step_measures_the_next)
{
    pipe_tape_stages(&scene.tape, &four);
    feed();
    uint64_t begin_ns = scene.tape.now_ns;
    pipe_tape_step(&scene.tape, &four, 7);
    size_t seen = 0;
    while (scene.tape.events[seen].time_ns < begin_ns + 42 * MS)
        seen++;
    scene_feed(seen, scene.tape.count);
    scene.tape.count = 0;
    ck_assert_ptr_null(pipe_complete(pipe_now()));
    ck_assert(pipe_current(pipe_now())->partial);
    pipe_tape_step(&scene.tape, &four, 8);
    feed();
    ck_assert_ptr_nonnull(pipe_complete(pipe_now()));
    ck_assert_uint_eq(pipe_now()->finished, 1);
}
END_TEST

/* Stages that are introduced again in the middle of a step repeat the step. */
START_TEST(a_step_that_is_redone_begins_anew)
{
    pipe_tape_stages(&scene.tape, &four);
    pipe_tape_step(&scene.tape, &four, 0);
    feed();
    uint64_t begin_ns = scene.tape.now_ns;
    pipe_tape_step(&scene.tape, &four, 1);
    feed_until(begin_ns + 42 * MS);
    scene.tape.now_ns = begin_ns + 500 * MS;
    pipe_tape_stages(&scene.tape, &four);
    pipe_tape_step(&scene.tape, &four, 1);
    feed();
    scene.view.page = PAGE_EVENTS;
    scene_draw(80, 24);
    ck_assert(scene_shows("step 1 is repeated"));
    const struct pipe_step *step = pipe_complete(pipe_now());
    ck_assert_uint_eq(step->step, 1);
    ck_assert_uint_eq(pipe_took_ns(pipe_now(), step, 0), 110 * MS);
    ck_assert_uint_eq(pipe_now()->finished, 2);
}
END_TEST

START_TEST(another_run_begins_with_its_first_step)
{
    pipe_tape_stages(&scene.tape, &four);
    for (uint32_t step = 0; step < 3; step++)
        pipe_tape_step(&scene.tape, &four, step);
    pipe_tape_step(&scene.tape, &four, 0);
    feed();
    ck_assert_uint_eq(pipe_current(pipe_now())->step, 0);
    ck_assert_ptr_null(pipe_last(pipe_now()));
    struct pipe_tape two = {
        .stages = 2, .micros = 4, .forward_ns = MS, .backward_ns = MS};
    pipe_tape_stages(&scene.tape, &two);
    ck_assert_uint_eq(pipe_now()->stages, 4);
    feed();
    ck_assert_uint_eq(pipe_now()->stages, 2);
    ck_assert_ptr_null(pipe_current(pipe_now()));
}
END_TEST

/* Events of different processes are not ordered: an end may come after the next
 * begin. */
START_TEST(late_ends_find_their_step)
{
    pipe_tape_stages(&scene.tape, &four);
    pipe_tape_step(&scene.tape, &four, 0);
    size_t first = scene.tape.count;
    pipe_tape_step(&scene.tape, &four, 1);
    struct gw_event late = scene.tape.events[first - 1];
    scene.tape.events[first - 1] = scene.tape.events[first];
    scene.tape.events[first] = late;
    feed();
    ck_assert_uint_eq(pipe_now()->finished, 2);
    ck_assert_uint_eq(pipe_last(pipe_now())->step, 0);
}
END_TEST

START_TEST(replicas_are_not_mixed)
{
    pipe_tape_stages(&scene.tape, &four);
    size_t count = scene.tape.count;
    for (size_t i = 0; i < count; i++) {
        struct gw_event *event =
            tape_add(&scene.tape, GW_EV_STAGE, (uint32_t)(20 + i), 105 * MS);
        event->peer = (uint32_t)i;
        event->step = 4;
        event->op = 8;
        event->chunk = 1;
    }
    pipe_tape_step(&scene.tape, &four, 0);
    count = scene.tape.count;
    for (size_t i = 8; i < count; i++) {
        struct gw_event *copy = tape_add(&scene.tape, GW_EV_STEP, 0, 0);
        *copy = scene.tape.events[i];
        copy->rank += 10;
    }
    feed();
    ck_assert_uint_eq(pipe_now()->ranks[0], 10);
    ck_assert_uint_eq(pipe_now()->finished, 1);
}
END_TEST

/* Each pair of stages numbers its own calls, which begin with 0 repeatedly. */
START_TEST(what_stages_send_each_other_is_no_op)
{
    struct gw_event *event;
    pipe_tape_stages(&scene.tape, &four);
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t rank = 10; rank < 14; rank++) {
            tape_add(&scene.tape, GW_EV_OP_BEGIN, rank, GW_BROADCAST)->op = 1;
            event = tape_add(&scene.tape, GW_EV_SEND, rank, 1);
            event->peer = 10;
            event->bytes = 100;
            tape_add(&scene.tape, GW_EV_OP_END, rank, 0)->op = 1;
        }
    feed();
    ck_assert_uint_eq(state_members(scene.state), 4);
    ck_assert_uint_eq(scene.state->ops_done, 0);
    ck_assert_uint_eq(scene.state->ranks[12].sent_bytes, 200);
    scene.view.page = PAGE_OVERVIEW;
    scene_draw(80, 24);
    ck_assert(scene_shows(" 4 alive"));
}
END_TEST

START_TEST(many_passes_are_not_all_kept)
{
    enum { MICROS = 3000 };
    struct gw_event event = {
        .kind = GW_EV_STAGE, .peer = 0, .step = 1, .op = MICROS, .chunk = 1};
    state_event(scene.state, &event);
    event.chunk = 0;
    event.step = 0;
    for (unsigned i = 0; i < 2 * MICROS; i++) {
        event.value = i < MICROS ? GW_FORWARD : GW_BACKWARD;
        event.op = i % MICROS;
        for (int end = 0; end < 2; end++) {
            event.kind = end ? GW_EV_PASS_END : GW_EV_PASS_BEGIN;
            event.time_ns += 100;
            state_event(scene.state, &event);
        }
    }
    const struct pipe_lane *lane = &pipe_now()->steps[0].lanes[0];
    ck_assert_uint_eq(lane->count, PIPE_PASSES);
    ck_assert_uint_eq(pipe_done(lane), 2 * MICROS);
    ck_assert_ptr_null(pipe_complete(pipe_now()));
    scene_draw_all(80, 24);
}
END_TEST

START_TEST(nonsense_is_passed_over)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    for (unsigned i = 0; i < 2000; i++) {
        struct gw_event event = {
            .kind = GW_EV_STAGE + (uint32_t)gw_rng_below(&rng, 3),
            .time_ns = gw_rng_below(&rng, 10) ? i * 1000 : gw_rng_next(&rng),
            .value = (int64_t)gw_rng_below(&rng, 6) - 1,
            .rank = (uint32_t)gw_rng_below(&rng, 6),
            .peer = (uint32_t)gw_rng_below(&rng, 6),
            .op = (uint32_t)gw_rng_below(&rng, 5),
            .step = (uint32_t)gw_rng_below(&rng, 6),
            .chunk = (uint32_t)gw_rng_below(&rng, 3),
            .bytes = gw_rng_next(&rng) >> gw_rng_below(&rng, 64)};
        if (gw_rng_below(&rng, 50) == 0)
            event.op = event.step = event.peer = UINT32_MAX;
        if (event.kind == GW_EV_STAGE && gw_rng_below(&rng, 4) != 0)
            continue; /* otherwise no pipeline is shown */
        state_event(scene.state, &event);
        if (i % 100 == 0)
            scene_draw_all(40 + (int)gw_rng_below(&rng, 150),
                           10 + (int)gw_rng_below(&rng, 50));
    }
}
END_TEST

Suite *suite_ringtop_pipe(void)
{
    const TTest *const tests[] = {
        a_step_is_measured,
        a_simulation_is_a_run,
        what_stages_do_now,
        what_is_to_come_is_known_from_the_last_step,
        input_and_weights_are_passes_of_their_own,
        who_attaches_in_a_step_measures_the_next,
        a_step_that_is_redone_begins_anew,
        another_run_begins_with_its_first_step,
        late_ends_find_their_step,
        replicas_are_not_mixed,
        what_stages_send_each_other_is_no_op,
        many_passes_are_not_all_kept,
    };
    Suite *suite = suite_create("ringtop_pipe");
    TCase *tcase = tcase_create("ringtop pipe");
    tcase_add_checked_fixture(tcase, scene_begin, scene_end);
    tcase_add_loop_test(tcase, nonsense_is_passed_over, 0, 5);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
