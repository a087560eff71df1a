/* SPDX-License-Identifier: MIT
 *
 * What the live view knows after events: the accumulation matrix equals the
 * plan's own trace, in whatever order events come; a double count is shouted;
 * chunks under way, who waits for whom, who is late.
 */
#include "ringtop/state.h"
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
    state_settle(state);
}

static void feed_all(void)
{
    feed(0, tape.count);
}

static struct copy copy(unsigned rank, unsigned chunk)
{
    return op_copy(state_op(state), rank, chunk);
}

/* Feeds events up to the end of `step`, counted from 1; the first after those
 * that were fed before is `from`. */
static size_t feed_step(size_t from, unsigned step)
{
    size_t end = from;
    while (end < tape.count && tape.events[end].kind != GW_EV_OP_END &&
           (tape.events[end].kind == GW_EV_OP_BEGIN ||
            tape.events[end].step < step))
        end++;
    feed(from, end);
    return end;
}

/* As in labs/plans/ring-allreduce-3.plan. */
static const char ring[] = "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n";

/* ---- the matrix ---- */

/* The view cannot know what a rank holds that it never sends on. */
static void compare(const struct gw_plan_trace *trace, const char *name)
{
    bool reduces = op_grows(state_op(state));
    for (unsigned r = 0; r < plan->ranks; r++)
        for (unsigned c = 0; c < plan->chunks; c++) {
            unsigned expected = gw_plan_trace_count(trace, r, c);
            unsigned seen = copy(r, c).count;
            bool unknown = !reduces && seen == 0 && expected == 1;
            ck_assert_msg(seen == expected || unknown,
                          "%s, p=%u: rank %u c%u: %u, not %u", name,
                          plan->ranks, r, c, seen, expected);
        }
}

static void follow_plan(const char *name)
{
    struct gw_plan_trace *trace;
    size_t fed = 0;
    ck_assert_int_eq(gw_plan_trace_new(plan, &trace, NULL), GW_OK);
    tape_op(&tape, plan, 1, 64);
    for (unsigned step = 1; step <= plan->steps; step++) {
        fed = feed_step(fed, step);
        ck_assert_uint_eq(gw_plan_trace_step(trace), step);
        compare(trace, name);
    }
    feed(fed, tape.count);
    ck_assert_uint_eq(state->ops_doubled, 0);
    ck_assert_uint_eq(state->ops_done, 1);
    ck_assert_uint_eq(state->flights.count, 0);
    gw_plan_trace_destroy(&trace);
}

START_TEST(follows_every_algorithm)
{
    size_t count;
    const struct gw_algo *algo = gw_algo_list(&count)[_i];
    for (unsigned ranks = 2; ranks <= 6; ranks++) {
        const struct gw_algo_args args = {.ranks = ranks,
                                          .root = ranks > 3 ? 2 : 0};
        if (!algo->valid(ranks))
            continue;
        ck_assert_int_eq(
            gw_plan_make(algo->collective, algo->name, &args, &plan, NULL),
            GW_OK);
        follow_plan(algo->name);
        teardown();
        setup();
    }
}
END_TEST

START_TEST(any_order_gives_the_same_matrix)
{
    plan = tape_ring(4);
    tape_op(&tape, plan, 1, 64);
    tape.count -= plan->ranks; /* no ends: the op stays open */
    tape_shuffle(&tape, plan->ranks, (uint64_t)_i);
    for (size_t i = 0; i < tape.count; i++)
        feed(i, i + 1);
    for (unsigned r = 0; r < 4; r++)
        for (unsigned c = 0; c < 4; c++)
            ck_assert_msg(op_complete(state_op(state), copy(r, c)),
                          "seed %d: rank %u c%u has %u", _i, r, c,
                          copy(r, c).count);
    ck_assert_msg(state->flights.count == 0, "seed %d", _i);
}
END_TEST

START_TEST(signs_of_a_ring)
{
    plan = tape_plan(ring);
    tape_op(&tape, plan, 1, 64);
    feed_step(0, 1);
    ck_assert_uint_eq(copy(1, 0).count, 2);
    ck_assert(!op_complete(state_op(state), copy(1, 0)));
    ck_assert_uint_eq(copy(0, 0).count, 1);
    ck_assert(sets_have(&state_op(state)->sets, 1, 0, 0));
    ck_assert(!sets_have(&state_op(state)->sets, 0, 0, 1));
}
END_TEST

/* ---- double counts ---- */

static const char twice[] = "allreduce ranks=3 chunks=1\n"
                            "step 0>1 c0 +\n"
                            "step 0>2 c0 +\n"
                            "step 1>2 c0 +\n"
                            "step 2>0 c0 =  2>1 c0 =\n";

static const struct entry *shout(void)
{
    for (unsigned i = 0; i < journal_count(&state->journal); i++)
        if (strstr(journal_at(&state->journal, i)->text, "DOUBLE"))
            return journal_at(&state->journal, i);
    return NULL;
}

START_TEST(a_double_count_is_shouted)
{
    plan = tape_plan(twice);
    tape_op(&tape, plan, 7, 64);
    size_t fed = feed_step(0, 2);
    ck_assert_ptr_null(shout());
    fed = feed_step(fed, 3);
    ck_assert_ptr_nonnull(shout());
    ck_assert_int_eq(shout()->weight, WEIGHT_BAD);
    ck_assert_str_eq(shout()->text,
                     "DOUBLE COUNT in op 7: rank 2 has rank 0 twice in c0, "
                     "step 3 from rank 1");
    ck_assert(copy(2, 0).doubled);
    ck_assert_uint_eq(copy(2, 0).count, 3);
    ck_assert(!copy(1, 0).doubled);
    feed(fed, tape.count);
    ck_assert(copy(1, 0).doubled); /* it was copied there */
    ck_assert_uint_eq(state->ops_doubled, 1);
    ck_assert_uint_eq(state->shapes.learned, 0);
}
END_TEST

START_TEST(a_double_count_is_found_without_looking)
{
    struct gw_plan *right = tape_ring(3);
    plan = tape_plan(twice);
    tape_op(&tape, plan, 1, 64);
    tape_op(&tape, right, 2, 64);
    feed_all();
    ck_assert_uint_eq(state->ops_doubled, 1);
    ck_assert_ptr_nonnull(shout());
    gw_plan_destroy(&right);
}
END_TEST

START_TEST(the_same_transfer_twice_is_a_double)
{
    plan = tape_ring(2);
    tape_op(&tape, plan, 1, 64);
    for (size_t i = 0; i < tape.count; i++)
        if (tape.events[i].kind == GW_EV_APPLY) {
            state_event(state, &tape.events[i]);
            break;
        }
    feed_all();
    ck_assert_uint_eq(state->ops_doubled, 1);
}
END_TEST

/* ---- under way ---- */

START_TEST(a_chunk_is_under_way_between_send_and_apply)
{
    plan = tape_plan(ring);
    tape_op(&tape, plan, 1, 64);
    feed(0, 3 + 1);
    ck_assert_uint_eq(state->flights.count, 1);
    const struct flight *flight = &state->flights.list[0];
    ck_assert_uint_eq(flight->src, 0);
    ck_assert_uint_eq(flight->dst, 1);
    ck_assert_uint_eq(flight->chunk, 0);
    feed(4, 3 + 3);
    ck_assert_uint_eq(state->flights.count, 3);
    feed(6, 3 + 4);
    ck_assert_uint_eq(state->flights.count, 2);
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
    ck_assert(state->flights.list[0].landed);
    feed(send, send + 1);
    ck_assert_uint_eq(state->flights.count, 0);
}
END_TEST

START_TEST(progress_is_judged_by_experience)
{
    struct flights flights = {.usual_ns = 1000};
    const struct flight flight = {.since_ns = 5000};
    ck_assert_double_eq(flight_progress(&flights, &flight, 5000), 0);
    ck_assert_double_eq(flight_progress(&flights, &flight, 5250), 0.25);
    ck_assert_double_eq(flight_progress(&flights, &flight, 9000), 1);
    ck_assert_double_eq(flight_progress(&flights, &flight, 4000), 0);
}
END_TEST

START_TEST(more_than_there_is_room_for)
{
    for (uint32_t i = 0; i < FLIGHTS_MAX + 5; i++) {
        struct gw_event *event = tape_add(&tape, GW_EV_SEND, 0, 1);
        event->peer = 1;
        event->step = i;
    }
    feed_all();
    ck_assert_uint_eq(state->flights.count, FLIGHTS_MAX);
    ck_assert_uint_eq(state->flights.missed, 5);
}
END_TEST

/* ---- who waits ---- */

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

START_TEST(what_a_rank_says_counts_more)
{
    plan = tape_ring(3);
    tape_op(&tape, plan, 1, 64);
    size_t second = tape.count;
    tape_op(&tape, plan, 2, 64);
    feed(0, second + 3);
    struct gw_event wait = {
        .kind = GW_EV_WAIT, .rank = 1, .peer = 2, .op = 2, .time_ns = 1};
    state_event(state, &wait);
    state_settle(state);
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

START_TEST(ranks_become_known_on_the_way)
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
    ck_assert_str_eq(journal_at(&state->journal, 1)->text,
                     "op 1 failed at rank 0: peer lost");
    ck_assert_str_eq(journal_at(&state->journal, 0)->text,
                     "rank 1 misses rank 2: peer lost");
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
    ck_assert(state_op(state)->cut);
}
END_TEST

/* Whatever a recording holds. */
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
            state_settle(state);
    }
    state_settle(state);
    ck_assert_msg(state->rank_count <= RANKS_MAX, "seed %d", _i);
    ck_assert_msg(state->now_ns >= state->begin_ns, "seed %d", _i);
}
END_TEST

Suite *suite_ringtop_state(void)
{
    size_t algorithms;
    (void)gw_algo_list(&algorithms);
    Suite *suite = suite_create("ringtop_state");
    TCase *tcase = tcase_create("ringtop state");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, follows_every_algorithm, 0, (int)algorithms);
    tcase_add_loop_test(tcase, any_order_gives_the_same_matrix, 0, 50);
    tcase_add_loop_test(tcase, any_events_do_no_harm, 0, 20);
    const TTest *const tests[] = {
        signs_of_a_ring,
        a_double_count_is_shouted,
        a_double_count_is_found_without_looking,
        the_same_transfer_twice_is_a_double,
        a_chunk_is_under_way_between_send_and_apply,
        an_apply_before_its_send,
        progress_is_judged_by_experience,
        more_than_there_is_room_for,
        waits_follow_from_the_last_op,
        another_size_is_another_shape,
        what_a_rank_says_counts_more,
        a_recording_is_known_beforehand,
        ranks_become_known_on_the_way,
        conditions,
        another_run_begins_anew,
        bytes_are_counted,
        last_event_in_words,
        what_is_too_large_is_not_followed,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
