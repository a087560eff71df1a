/* SPDX-License-Identifier: MIT
 *
 * The state that the live view derives from events: chunks under way, ranks
 * that wait, late ranks, and the handling of unexpected input.
 */
#include "ringtop/state/state.h"
#include "tape.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_state(void);

static struct tape tape;
static struct state *state;
static struct gw_plan *plan;

static void setup(void)
{
    tape.count = 0;
    tape.now_ns = 1000000;
    plan = NULL;
    ck_assert_int_eq(state_new(&state, NULL), GW_OK);
}

static void teardown(void)
{
    state_destroy(&state);
    gw_plan_destroy(&plan);
}

static void feed(size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        state_event(state, &tape.events[i]);
    state_evaluate(state);
}

static void feed_all(void)
{
    feed(0, tape.count);
}

/* As in labs/plans/ring-allreduce-3.plan. */
static const char ring[] = "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n";

/* ---- under way ---- */

START_TEST(a_chunk_is_in_flight_between_send_and_apply)
{
    plan = tape_plan(ring);
    tape_op(&tape, plan, 1, 64);
    feed(0, 3 + 1);
    ck_assert_uint_eq(state->inflights.count, 1);
    const struct inflight *inflight = &state->inflights.list[0];
    ck_assert_uint_eq(inflight->src, 0);
    ck_assert_uint_eq(inflight->dst, 1);
    ck_assert_uint_eq(inflight->chunk, 0);
    feed(4, 3 + 3);
    ck_assert_uint_eq(state->inflights.count, 3);
    feed(6, 3 + 4);
    ck_assert_uint_eq(state->inflights.count, 2);
}
END_TEST

START_TEST(an_apply_before_its_send)
{
    plan = tape_ring(2);
    tape_op(&tape, plan, 1, 64);
    size_t send = 2, apply = 4;
    ck_assert_uint_eq(tape.events[apply].kind, GW_EV_APPLY);
    feed(0, 2);
    feed(apply, apply + 1);
    ck_assert(state->inflights.list[0].landed);
    feed(send, send + 1);
    ck_assert_uint_eq(state->inflights.count, 0);
}
END_TEST

START_TEST(progress_is_estimated_from_history)
{
    struct inflights inflights = {.usual_ns = 1000};
    const struct inflight inflight = {.since_ns = 5000};
    ck_assert_double_eq(inflight_progress(&inflights, &inflight, 5000), 0);
    ck_assert_double_eq(inflight_progress(&inflights, &inflight, 5250), 0.25);
    ck_assert_double_eq(inflight_progress(&inflights, &inflight, 9000), 1);
    ck_assert_double_eq(inflight_progress(&inflights, &inflight, 4000), 0);
}
END_TEST

START_TEST(more_than_there_is_room_for)
{
    for (uint32_t i = 0; i < INFLIGHTS_MAX + 5; i++) {
        struct gw_event *event = tape_add(&tape, GW_EV_SEND, 0, 1);
        event->peer = 1;
        event->step = i;
    }
    feed_all();
    ck_assert_uint_eq(state->inflights.count, INFLIGHTS_MAX);
    ck_assert_uint_eq(state->inflights.missed, 5);
}
END_TEST

/* ---- waits ---- */

START_TEST(waits_follow_from_the_last_op)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    size_t second = tape.count;
    tape_op(&tape, plan, 2, 64);
    feed(0, second);
    ck_assert_uint_eq(state->ranks[1].waits_on, GW_NONE);
    feed(second, second + 3);
    for (unsigned r = 0; r < 3; r++)
        ck_assert_uint_eq(state->ranks[r].waits_on, (r + 2) % 3);
    ck_assert_uint_eq(state_steps(state), 4);
    ck_assert_uint_eq(state_chunks(state), 3);
    feed(second + 3, tape.count);
    ck_assert_uint_eq(state->ranks[1].waits_on, GW_NONE);
}
END_TEST

START_TEST(another_size_is_another_shape)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    size_t second = tape.count;
    tape_op(&tape, plan, 2, 128);
    feed(0, second + 3);
    ck_assert_uint_eq(state->ranks[1].waits_on, GW_NONE);
    ck_assert_uint_eq(state_steps(state), 0);
}
END_TEST

START_TEST(what_a_rank_reports_counts_more)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    size_t second = tape.count;
    tape_op(&tape, plan, 2, 64);
    feed(0, second + 3);
    struct gw_event wait = {
        .kind = GW_EV_WAIT, .rank = 1, .peer = 2, .op = 2, .time_ns = 1};
    state_event(state, &wait);
    state_evaluate(state);
    ck_assert_uint_eq(state->ranks[1].waits_on, 2);
}
END_TEST

START_TEST(a_recording_is_known_beforehand)
{
    struct state *scout;
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    ck_assert_int_eq(state_new(&scout, NULL), GW_OK);
    for (size_t i = 0; i < tape.count; i++)
        state_event(scout, &tape.events[i]);
    state_learn(state, scout);
    state_destroy(&scout);
    feed(0, 1);
    ck_assert_uint_eq(state_members(state), 3);
    ck_assert_uint_eq(state_steps(state), 4);
    ck_assert_uint_eq(state_op(state)->full, 3);
    ck_assert_int_eq(state_condition(state, 0), RANK_BUSY);
    ck_assert_int_eq(state_condition(state, 1), RANK_LATE);
}
END_TEST

START_TEST(ranks_become_known_gradually)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    feed(0, 1);
    ck_assert_uint_eq(state_op(state)->full, 1);
    feed(1, 3);
    ck_assert_uint_eq(state_op(state)->full, 3);
    ck_assert(!op_over(state_op(state)));
    feed(3, tape.count);
    ck_assert(op_over(state_op(state)));
}
END_TEST

/* ---- conditions ---- */

START_TEST(conditions)
{
    tape_add(&tape, GW_EV_OP_BEGIN, 0, GW_ALLREDUCE)->op = 1;
    tape_add(&tape, GW_EV_OP_BEGIN, 1, GW_ALLREDUCE)->op = 1;
    tape_add(&tape, GW_EV_OP_BEGIN, 2, GW_ALLREDUCE)->op = 1;
    feed_all();
    ck_assert_int_eq(state_condition(state, 0), RANK_BUSY);
    ck_assert_int_eq(state_condition(state, 3), RANK_UNKNOWN);
    size_t fed = tape.count;
    tape_add(&tape, GW_EV_OP_END, 0, GW_ELOST)->op = 1;
    tape_add(&tape, GW_EV_OP_END, 1, 0)->op = 1;
    tape_add(&tape, GW_EV_LOST, 1, 0)->peer = 2;
    feed(fed, tape.count);
    ck_assert_int_eq(state_condition(state, 0), RANK_FAILED);
    ck_assert_int_eq(state_condition(state, 1), RANK_IDLE);
    ck_assert_int_eq(state_condition(state, 2), RANK_LOST);
    ck_assert_uint_eq(state->ops_failed, 1);
    ck_assert_str_eq(event_log_at(&state->log, 1)->text,
                     "op 1 failed at rank 0: peer lost");
    ck_assert_str_eq(event_log_at(&state->log, 0)->text,
                     "rank 1 suspects rank 2: peer lost");
}
END_TEST

START_TEST(another_run_begins_anew)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    tape_op(&tape, plan, 2, 64);
    tape_op(&tape, plan, 1, 64); /* another communicator */
    feed_all();
    ck_assert_uint_eq(state->ops_done, 3);
    ck_assert_uint_eq(state_op(state)->op, 1);
    ck_assert_uint_eq(state->ops_doubled, 0);
}
END_TEST

START_TEST(another_run_of_fewer_ranks)
{
    struct state *scout;
    struct gw_plan *fewer = tape_ring(2);
    plan = tape_ring(4);
    tape_op(&tape, plan, 1, 64);
    size_t second = tape.count;
    tape_op(&tape, fewer, 1, 64);
    feed(0, second + 1);
    ck_assert_uint_eq(state_members(state), 1);
    feed(second + 1, tape.count);
    ck_assert_uint_eq(state_members(state), 2);
    ck_assert_uint_eq(state->ops_done, 2);
    state_destroy(&state); /* with a known plan: from the start */
    ck_assert_int_eq(state_new(&state, NULL), GW_OK);
    ck_assert_int_eq(state_new(&scout, NULL), GW_OK);
    for (size_t i = 0; i < tape.count; i++)
        state_event(scout, &tape.events[i]);
    state_learn(state, scout);
    state_destroy(&scout);
    ck_assert_uint_eq(state_members(state), 4);
    feed_all();
    ck_assert_uint_eq(state->ops_done, 2);
    gw_plan_destroy(&fewer);
}
END_TEST

START_TEST(bytes_are_counted)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    feed_all();
    ck_assert_uint_eq(state->ranks[0].sent_bytes, 4 * 1024);
    ck_assert_uint_eq(state->ranks[2].received_bytes, 4 * 1024);
}
END_TEST

START_TEST(last_event_in_words)
{
    char text[96];
    plan = tape_plan(ring);
    tape_op(&tape, plan, 1, 64);
    state_last_text(state, text, sizeof text);
    ck_assert_str_eq(text, "nothing yet");
    feed(0, 3);
    state_last_text(state, text, sizeof text);
    ck_assert_str_eq(text, "op_begin: rank 2, op 1");
    feed(3, 4);
    state_last_text(state, text, sizeof text);
    ck_assert_str_eq(text, "rank 0 sends c0 to rank 1, step 1");
    feed(4, 7);
    state_last_text(state, text, sizeof text);
    ck_assert_str_eq(text, "rank 1 adds c0 from rank 0, step 1");
}
END_TEST

/* ---- limits ---- */

START_TEST(what_is_too_large_is_not_followed)
{
    tape_add(&tape, GW_EV_OP_BEGIN, RANKS_MAX, GW_ALLREDUCE)->op = 1;
    tape_add(&tape, GW_EV_OP_BEGIN, 0, GW_ALLREDUCE)->op = 1;
    struct gw_event *event = tape_add(&tape, GW_EV_APPLY, 0, 1);
    event->peer = 1;
    event->op = 1;
    event->step = 0;
    event->chunk = CHUNKS_MAX;
    feed_all();
    ck_assert_uint_eq(state->beyond, 1);
    ck_assert_uint_eq(state->rank_count, 2);
    ck_assert(state_op(state)->truncated);
}
END_TEST

/* Whatever a recording contains. */
START_TEST(any_events_do_no_harm)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t field[6];
        for (unsigned f = 0; f < 6; f++)
            field[f] =
                (uint32_t)(gw_rng_below(&rng, 20) == 0 ? gw_rng_next(&rng)
                                                       : gw_rng_below(&rng, 5));
        struct gw_event event = {
            .time_ns =
                gw_rng_below(&rng, 30) ? i * 1000 : gw_rng_next(&rng) / 2,
            .bytes = gw_rng_next(&rng) >> gw_rng_below(&rng, 64),
            .value = (int64_t)gw_rng_below(&rng, 8) - 2,
            .kind = (uint32_t)gw_rng_below(&rng, GW_EVENT_KINDS),
            .rank = field[0],
            .peer = field[1],
            .epoch = field[2],
            .op = field[3],
            .step = field[4],
            .chunk = field[5],
        };
        state_event(state, &event);
        if (i % 64 == 0)
            state_evaluate(state);
    }
    state_evaluate(state);
    ck_assert_msg(state->rank_count <= RANKS_MAX, "seed %d", _i);
    ck_assert_msg(state->now_ns >= state->begin_ns, "seed %d", _i);
}
END_TEST

/* Member 2 becomes the first; later the order changes again. */
START_TEST(the_ring_has_its_order)
{
    unsigned order[RANKS_MAX];
    for (unsigned r = 0; r < 3; r++)
        tape_add(&tape, GW_EV_MEMBER, r, GW_MEMBER_ALIVE);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_ALIVE)->step = 0;
    feed_all();
    ck_assert_uint_eq(state_ring(state, order), 3);
    ck_assert(order[0] == 2 && order[1] == 0 && order[2] == 1);
    for (unsigned i = 0; i < 3; i++)
        tape_add(&tape, GW_EV_MEMBER, (1 + i) % 3, GW_MEMBER_ALIVE)->step = i;
    feed_all();
    ck_assert_uint_eq(state_ring(state, order), 3);
    ck_assert(order[0] == 1 && order[1] == 2 && order[2] == 0);
}
END_TEST

Suite *suite_ringtop_state(void)
{
    Suite *suite = suite_create("ringtop_state");
    TCase *tcase = tcase_create("ringtop state");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, any_events_do_no_harm, 0, 20);
    const TTest *const tests[] = {
        a_chunk_is_in_flight_between_send_and_apply,
        an_apply_before_its_send,
        progress_is_estimated_from_history,
        more_than_there_is_room_for,
        waits_follow_from_the_last_op,
        another_size_is_another_shape,
        what_a_rank_reports_counts_more,
        a_recording_is_known_beforehand,
        ranks_become_known_gradually,
        conditions,
        another_run_begins_anew,
        another_run_of_fewer_ranks,
        bytes_are_counted,
        last_event_in_words,
        the_ring_has_its_order,
        what_is_too_large_is_not_followed,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
