/* SPDX-License-Identifier: MIT
 *
 * The live view's record of a run: a member's failure stage by stage, and the
 * fate of the op that it interrupted.
 */
#include "ringtop/state/state.h"
#include "tape.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_story(void);

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

static void feed_all(void)
{
    for (size_t i = 0; i < tape.count; i++)
        state_event(state, &tape.events[i]);
    state_evaluate(state);
    tape.count = 0;
}

static const char *line(unsigned back)
{
    return event_log_at(&state->log, back)->text;
}

static unsigned count_of(unsigned rank, unsigned chunk)
{
    return op_copy(state_op(state), rank, chunk).count;
}

static void apply(uint32_t epoch, uint32_t step, uint32_t src, uint32_t dst,
                  uint32_t chunk, int64_t action)
{
    struct gw_event *event = tape_add(&tape, GW_EV_APPLY, dst, action);
    event->peer = src;
    event->op = 1;
    event->epoch = epoch;
    event->step = step;
    event->chunk = chunk;
}

/* ---- a failure ---- */

/* Rank 2 of 3 dies in the first op: its data has reached only rank 0's c2. */
static void die_in_op(void)
{
    for (unsigned r = 0; r < 3; r++)
        tape_add(&tape, GW_EV_OP_BEGIN, r, GW_ALLREDUCE)->op = 1;
    apply(0, 0, 0, 1, 0, 1);
    apply(0, 0, 2, 0, 2, 1);
    tape_add(&tape, GW_EV_FAILURE, 1, GW_BY_RESET)->peer = 2;
    tape_add(&tape, GW_EV_FAILURE, 0, GW_BY_SILENCE)->peer = 2;
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD)->epoch = 0;
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 2)->epoch = 1;
}

static void decide(int64_t fate)
{
    struct gw_event *event = tape_add(&tape, GW_EV_DECISION, GW_NONE, fate);
    event->op = 1;
    event->epoch = 1;
}

static void recover(unsigned rank, unsigned chunk, int64_t redone)
{
    struct gw_event *event = tape_add(&tape, GW_EV_RECOVERY, rank, redone);
    event->op = 1;
    event->epoch = 1;
    event->chunk = chunk;
}

static void end_op(void)
{
    for (unsigned r = 0; r < 2; r++) {
        struct gw_event *event = tape_add(&tape, GW_EV_OP_END, r, 0);
        event->op = 1;
        event->epoch = 1;
    }
}

START_TEST(stages_of_a_failure)
{
    die_in_op();
    feed_all();
    ck_assert_uint_eq(state->failovers.count, 1);
    const struct failover *f = &state->failovers.list[0];
    ck_assert_uint_eq(f->who, 2);
    ck_assert_uint_eq(f->noticed_by, 1);
    ck_assert(f->reached[VIEWED]);
    ck_assert(!f->reached[DECIDED]);
    ck_assert_uint_eq(f->time_ns[DECLARED_DEAD] - f->time_ns[NOTICED], 2000);
    ck_assert_uint_eq(state->epoch, 1);
    ck_assert_int_eq(state_condition(state, 2), RANK_DEAD);
    ck_assert_uint_eq(state_members(state), 2);
    ck_assert_str_eq(line(3),
                     "node 1 suspects node 2: its connection was reset");
    ck_assert_str_eq(line(2), "node 0 suspects node 2: no heartbeat");
    ck_assert_str_eq(line(1), "node 2 is declared dead");
    ck_assert_str_eq(line(0), "epoch 1: 2 members");
}
END_TEST

START_TEST(excluded_work_is_redone)
{
    die_in_op();
    decide(1);
    recover(0, 2, 1);
    recover(1, 0, 0);
    feed_all();
    ck_assert_uint_eq(count_of(0, 2), 1); /* from the input */
    ck_assert_uint_eq(count_of(1, 0), 2); /* kept */
    ck_assert(op_complete(state_op(state), 1, op_copy(state_op(state), 1, 0)));
    apply(1, 0, 1, 0, 2, 1);
    apply(1, 0, 1, 0, 0, 0);
    apply(1, 0, 0, 1, 1, 1);
    apply(1, 1, 0, 1, 2, 0);
    apply(1, 1, 1, 0, 1, 0);
    end_op();
    feed_all();
    for (unsigned r = 0; r < 2; r++)
        for (unsigned c = 0; c < 3; c++)
            ck_assert_uint_eq(count_of(r, c), 2);
    ck_assert_uint_eq(state->ops_doubled, 0);
    ck_assert(op_over(state_op(state)));
    const struct failover *f = &state->failovers.list[0];
    ck_assert(f->reached[RESUMED]);
    ck_assert_uint_eq(f->recovered.redone, 1);
    ck_assert_uint_eq(f->recovered.kept, 1);
    ck_assert_str_eq(line(1), "without node 2 after 13.0 us: chunks 1 kept, 1 "
                              "redone (copies 1 and 1)");
    ck_assert_str_eq(line(0), "op 1 allreduce: 18.0 us");
}
END_TEST

/* Redoing a chunk that was not reset counts a rank twice. */
START_TEST(redoing_too_little_is_a_double)
{
    die_in_op();
    decide(1);
    apply(1, 0, 0, 1, 0, 1);
    feed_all();
    ck_assert_uint_eq(state->ops_doubled, 1);
    ck_assert_str_eq(line(0), "DOUBLE COUNT in op 1: node 1 has node 0 twice "
                              "in c0, step 1 from node 0");
}
END_TEST

START_TEST(forward_wants_all_members)
{
    die_in_op();
    decide(0);
    feed_all();
    ck_assert_uint_eq(state_op(state)->full, 3);
    ck_assert_uint_eq(state_op(state)->members, 2);
    ck_assert_str_eq(line(0), "op 1: forward, with the dead member's data");
}
END_TEST

START_TEST(a_plain_communicator_only_loses)
{
    tape_add(&tape, GW_EV_LOST, 0, 0)->peer = 1;
    feed_all();
    const struct failover *f = &state->failovers.list[0];
    ck_assert(f->reached[NOTICED] && !f->reached[DECLARED_DEAD]);
    ck_assert_int_eq(state_condition(state, 1), RANK_LOST);
}
END_TEST

START_TEST(events_without_ranks)
{
    tape_add(&tape, GW_EV_FAILURE, GW_NONE, GW_BY_STALL);
    tape_add(&tape, GW_EV_MEMBER, GW_NONE, GW_MEMBER_DEAD);
    feed_all();
    ck_assert_uint_eq(state->failovers.count, 0);
    tape_add(&tape, GW_EV_FAILURE, GW_NONE, GW_BY_STALL)->peer = 1;
    feed_all();
    ck_assert_str_eq(line(0),
                     "the supervisor suspects node 1: it makes no progress");
}
END_TEST

START_TEST(it_comes_back)
{
    die_in_op();
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_JOINING);
    feed_all();
    ck_assert_int_eq(state_condition(state, 2), RANK_JOINING);
    ck_assert_uint_eq(state_members(state), 2);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_ALIVE);
    feed_all();
    ck_assert_uint_eq(state_members(state), 3);
    ck_assert_int_ne(state_condition(state, 2), RANK_SUSPECT);
}
END_TEST

START_TEST(more_failures_than_are_kept)
{
    for (unsigned i = 0; i < FAILOVERS_KEPT + 3; i++)
        tape_add(&tape, GW_EV_FAILURE, 0, GW_BY_EXIT)->peer = 100 + i;
    feed_all();
    ck_assert_uint_eq(state->failovers.count, FAILOVERS_KEPT);
    ck_assert_uint_eq(state->failovers.list[0].who, 103);
}
END_TEST

/* A new view repeats the completion of an op that ended at some members. */
START_TEST(an_op_that_is_completed_again_counts_once)
{
    die_in_op();
    end_op();
    tape.count--; /* rank 1 has not */
    tape.events[tape.count - 1].epoch = 0;
    decide(0);
    for (unsigned r = 0; r < 2; r++) {
        struct gw_event *event =
            tape_add(&tape, GW_EV_OP_BEGIN, r, GW_ALLREDUCE);
        event->op = 1;
        event->epoch = 1;
    }
    end_op();
    feed_all();
    ck_assert_uint_eq(state->ops_done, 1);
    ck_assert(op_over(state_op(state)));
    ck_assert_str_eq(line(0), "op 1 allreduce: 15.0 us");
    end_op();
    feed_all();
    ck_assert_uint_eq(state->ops_done, 1);
}
END_TEST

/* A view with a joiner has no decision: all restart with other chunks. */
START_TEST(a_view_without_a_decision_begins_anew)
{
    for (unsigned r = 0; r < 2; r++)
        tape_add(&tape, GW_EV_OP_BEGIN, r, GW_ALLREDUCE)->op = 1;
    apply(0, 0, 0, 1, 0, 1);
    apply(0, 0, 1, 0, 1, 1);
    tape_add(&tape, GW_EV_MEMBER, 5, GW_MEMBER_JOINING);
    tape_add(&tape, GW_EV_MEMBER, 5, GW_MEMBER_ALIVE);
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 3)->epoch = 1;
    static const unsigned ring[] = {0, 1, 5};
    for (unsigned i = 0; i < 3; i++) {
        struct gw_event *event =
            tape_add(&tape, GW_EV_OP_BEGIN, ring[i], GW_ALLREDUCE);
        event->op = 1;
        event->epoch = 1;
    }
    for (unsigned step = 0; step < 4; step++)
        for (unsigned i = 0; i < 3; i++)
            apply(1, step, ring[i], ring[(i + 1) % 3], (i + 3 - step % 3) % 3,
                  step < 2);
    apply(0, 1, 0, 1, 1, 1); /* late, of the old view */
    feed_all();
    ck_assert_uint_eq(state->ops_doubled, 0);
    ck_assert_uint_eq(state_op(state)->full, 3);
    ck_assert_uint_eq(state_op(state)->members, 3);
    ck_assert_uint_eq(state_chunks(state), 3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned c = 0; c < 3; c++)
            ck_assert_uint_eq(count_of(ring[i], c), 3);
}
END_TEST

/* With two ops under way the newer one is the interrupted one. */
START_TEST(resumed_by_the_slowest_survivor)
{
    die_in_op();
    decide(0);
    struct gw_event *newer = tape_add(&tape, GW_EV_DECISION, GW_NONE, 1);
    newer->op = 2;
    newer->epoch = 1;
    end_op(); /* of op 1 */
    feed_all();
    const struct failover *f = &state->failovers.list[0];
    ck_assert_uint_eq(f->op, 2);
    ck_assert_int_eq(f->fate, 1);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert(!f->reached[RESUMED]);
        struct gw_event *event = tape_add(&tape, GW_EV_OP_END, r, 0);
        event->op = 2;
        event->epoch = 1;
        feed_all();
    }
    ck_assert(f->reached[RESUMED]);
}
END_TEST

START_TEST(who_is_received_again_has_no_story)
{
    tape_add(&tape, GW_EV_OP_BEGIN, 1, GW_ALLREDUCE)->op = 1;
    tape_add(&tape, GW_EV_FAILURE, 0, GW_BY_SILENCE)->peer = 1;
    feed_all();
    ck_assert_int_eq(state_condition(state, 1), RANK_SUSPECT);
    ck_assert_uint_eq(state->failovers.count, 1);
    tape_add(&tape, GW_EV_OP_END, 1, 0)->op = 1;
    feed_all();
    ck_assert_int_ne(state_condition(state, 1), RANK_SUSPECT);
    ck_assert_uint_eq(state->failovers.count, 0);
    ck_assert_str_eq(line(0), "node 1 responds again");
    tape_add(&tape, GW_EV_FAILURE, 1, GW_BY_STALL)->peer = 1; /* itself */
    feed_all();
    ck_assert_uint_eq(state->failovers.count, 0);
    ck_assert_str_eq(line(0), "node 1: it makes no progress");
}
END_TEST

/* The others continue without it; it is alive, and comes back. */
START_TEST(parked_and_back)
{
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 3)->epoch = 1;
    for (unsigned r = 0; r < 3; r++)
        tape_add(&tape, GW_EV_MEMBER, r, GW_MEMBER_ALIVE)->epoch = 1;
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_PARKED)->epoch = 1;
    feed_all();
    ck_assert_uint_eq(state_members(state), 3);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD)->epoch = 2;
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 2)->epoch = 2;
    feed_all();
    ck_assert_int_eq(state_condition(state, 2), RANK_PARKED);
    ck_assert_uint_eq(state_members(state), 2);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_ALIVE)->epoch = 1; /* itself */
    feed_all();
    ck_assert_int_eq(state_condition(state, 2), RANK_JOINING);
    ck_assert_uint_eq(state_members(state), 2);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_ALIVE)->epoch = 3;
    feed_all();
    ck_assert_uint_eq(state_members(state), 3);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD)->epoch = 4;
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_PARKED)->epoch = 4;
    feed_all();
    ck_assert_int_eq(state_condition(state, 2), RANK_PARKED);
    ck_assert_uint_eq(state_members(state), 2);
    tape_add(&tape, GW_EV_FAILURE, GW_NONE, GW_BY_EXIT)->peer = 2;
    feed_all();
    ck_assert_int_eq(state_condition(state, 2), RANK_DEAD);
    tape_add(&tape, GW_EV_MEMBER, 1, GW_MEMBER_PARKED)->epoch = 3;
    feed_all(); /* without a report of its death */
    ck_assert_uint_eq(state_members(state), 1);
}
END_TEST

START_TEST(attached_late)
{
    tape_add(&tape, GW_EV_MEMBER, 0, GW_MEMBER_ALIVE);
    tape_add(&tape, GW_EV_MEMBER, 1, GW_MEMBER_ALIVE);
    tape_add(&tape, GW_EV_MEMBER, 2, GW_MEMBER_DEAD);
    tape_add(&tape, GW_EV_EPOCH, GW_NONE, 2)->epoch = 7;
    for (size_t i = 0; i < tape.count; i++)
        tape.events[i].time_ns += 60000000000;
    state_resync(state, tape.events, tape.count, 0);
    ck_assert_uint_eq(state->failovers.count, 0);
    ck_assert_uint_eq(event_log_count(&state->log), 1);
    ck_assert_str_eq(line(0), "attached in epoch 7: 2 members");
    ck_assert_int_eq(state_condition(state, 2), RANK_DEAD);
    ck_assert(!state_minds(state, 2));
    tape.count = 0;
    tape.now_ns += 60000000000;
    tape_add(&tape, GW_EV_MEMBER, 1, GW_MEMBER_DEAD);
    feed_all();
    ck_assert(state_minds(state, 1)); /* died while the view watched */
    state_time(state, state->now_ns + 11000000000);
    ck_assert(!state_minds(state, 1));
    const struct gw_event epoch = {
        .kind = GW_EV_EPOCH, .rank = GW_NONE, .epoch = 9, .time_ns = 1};
    state_resync(state, &epoch, 1, 1500000000);
    ck_assert_str_eq(line(0),
                     "too many events: 1.50 s skipped; epoch 9: 1 member");
}
END_TEST

/* ---- log ---- */

START_TEST(ops_share_a_line)
{
    plan = tape_ring(2);
    for (uint32_t op = 1; op <= 5; op++)
        tape_op(&tape, plan, op, 64);
    feed_all();
    ck_assert_uint_eq(event_log_count(&state->log), 1);
    ck_assert_str_eq(line(0), "ops 1 to 5 allreduce 64: 11.0 us each");
    tape_op(&tape, plan, 6, 128); /* of another kind */
    feed_all();
    ck_assert_uint_eq(event_log_count(&state->log), 2);
    ck_assert_str_eq(line(0), "op 6 allreduce 128: 11.0 us");
}
END_TEST

START_TEST(losses_come_from_events)
{
    tape_add(&tape, GW_EV_STEP, 0, 7);
    tape_add(&tape, GW_EV_LOSS, 0, 693147181);
    tape_add(&tape, GW_EV_STEP, 1, 8);
    tape_add(&tape, GW_EV_LOSS, 1, 500000000);
    feed_all();
    ck_assert_uint_eq(state->losses.first_step, 7);
    ck_assert_uint_eq(state->losses.last_step, 8);
    ck_assert_double_eq(state->losses.last, 0.5);
    tape_add(&tape, GW_EV_LOSS, 1, 250000000)->step = 9;
    feed_all();
    ck_assert_uint_eq(losses_used(&state->losses), 3);
}
END_TEST

Suite *suite_ringtop_story(void)
{
    const TTest *const tests[] = {
        stages_of_a_failure,
        excluded_work_is_redone,
        redoing_too_little_is_a_double,
        forward_wants_all_members,
        a_plain_communicator_only_loses,
        events_without_ranks,
        it_comes_back,
        more_failures_than_are_kept,
        an_op_that_is_completed_again_counts_once,
        a_view_without_a_decision_begins_anew,
        resumed_by_the_slowest_survivor,
        who_is_received_again_has_no_story,
        parked_and_back,
        attached_late,
        ops_share_a_line,
        losses_come_from_events,
    };
    Suite *suite = suite_create("ringtop_story");
    TCase *tcase = tcase_create("ringtop story");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
