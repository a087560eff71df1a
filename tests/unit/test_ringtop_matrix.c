/* SPDX-License-Identifier: MIT
 *
 * The accumulation matrix of the live view: it equals the plan's own trace for
 * every algorithm, for events in any order; and a double count is reported.
 */
#include "ringtop/state/state.h"
#include "tape.h"

#include <check.h>
#include <string.h>

Suite *suite_ringtop_matrix(void);

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

static struct copy copy(unsigned rank, unsigned chunk)
{
    return op_copy(state_op(state), rank, chunk);
}

/* Feeds events up to the end of `step`, counted from 1, beginning with `from`,
 * the first event after the previous call. */
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

/* The view cannot know the chunks that a rank never sends. */
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
    ck_assert_uint_eq(state->inflights.count, 0);
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

/* Values in scratch are not shown, but results of them are. */
START_TEST(follows_scratch)
{
    plan = tape_plan("allreduce ranks=3 chunks=3\n"
                     "step for i in 0..P-1: for d in 1..P-1:\n"
                     "    i>((i+d)%P).d c(i+d)%P = @(d-1)\n"
                     "step for i in 0..P-1: i>i.1 ci +\n"
                     "step for i in 0..P-1: i.2>i.1 ci +\n"
                     "step for i in 0..P-1: i.1>i ci =\n"
                     "step for i in 0..P-1: for d in 1..P-1: i>(i+d)%P ci =\n");
    follow_plan("scratch");
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
            ck_assert_msg(op_complete(state_op(state), r, copy(r, c)),
                          "seed %d: rank %u c%u has %u", _i, r, c,
                          copy(r, c).count);
    ck_assert_msg(state->inflights.count == 0, "seed %d", _i);
}
END_TEST

START_TEST(signs_of_a_ring)
{
    plan = tape_plan(ring);
    tape_op(&tape, plan, 1, 64);
    feed_step(0, 1);
    ck_assert_uint_eq(copy(1, 0).count, 2);
    ck_assert(!op_complete(state_op(state), 1, copy(1, 0)));
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
    for (unsigned i = 0; i < event_log_count(&state->log); i++)
        if (strstr(event_log_at(&state->log, i)->text, "DOUBLE"))
            return event_log_at(&state->log, i);
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

/* A recording may begin after the write of a scratch. */
START_TEST(an_unknown_scratch_is_not_a_double_count)
{
    plan = tape_plan("allreduce ranks=2 chunks=1\n"
                     "step 0>1.1 c0 =  1>0.1 c0 =\n"
                     "step 0.1>0 c0 +  1.1>1 c0 +\n");
    tape_op(&tape, plan, 1, 64);
    for (size_t i = 0; i < tape.count; i++)
        if (tape.events[i].kind != GW_EV_APPLY || tape.events[i].step > 0)
            feed(i, i + 1);
    ck_assert_uint_eq(state->ops_done, 1);
    ck_assert_ptr_null(shout());
    ck_assert_uint_eq(copy(0, 0).count, 1);
}
END_TEST

START_TEST(a_double_count_is_found_automatically)
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

Suite *suite_ringtop_matrix(void)
{
    size_t algorithms;
    (void)gw_algo_list(&algorithms);
    Suite *suite = suite_create("ringtop_matrix");
    TCase *tcase = tcase_create("ringtop matrix");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, follows_every_algorithm, 0, (int)algorithms);
    tcase_add_test(tcase, follows_scratch);
    tcase_add_loop_test(tcase, any_order_gives_the_same_matrix, 0, 50);
    const TTest *const tests[] = {
        signs_of_a_ring,
        a_double_count_is_shouted,
        an_unknown_scratch_is_not_a_double_count,
        a_double_count_is_found_automatically,
        the_same_transfer_twice_is_a_double,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
