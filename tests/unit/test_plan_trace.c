/* SPDX-License-Identifier: MIT
 *
 * The trace of a plan: the matrix of contributors after each transfer.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_trace(void);

static struct gw_plan *parse(const char *text, unsigned ranks)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

START_TEST(a_trace_shows_the_sets_grow)
{
    struct gw_plan *plan = parse("allreduce ranks=3 chunks=3\n"
                                 "step 0>1 c0 + 1>2 c1 + 2>0 c2 +\n"
                                 "step 0>1 c2 + 1>2 c0 + 2>0 c1 +\n"
                                 "step 0>1 c1 = 1>2 c2 = 2>0 c0 =\n"
                                 "step 0>1 c0 = 1>2 c1 = 2>0 c2 =\n",
                                 0);
    static const unsigned counts[5][3][3] = {
        {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {{1, 1, 2}, {2, 1, 1}, {1, 2, 1}},
        {{1, 3, 2}, {2, 1, 3}, {3, 2, 1}}, {{3, 3, 2}, {2, 3, 3}, {3, 2, 3}},
        {{3, 3, 3}, {3, 3, 3}, {3, 3, 3}},
    };
    struct gw_plan_trace *trace;
    ck_assert_int_eq(gw_plan_trace_new(plan, &trace, NULL), GW_OK);
    ck_assert_uint_eq(gw_plan_trace_full(trace), 3);
    for (unsigned step = 0; step <= 4; step++) {
        if (step > 0)
            ck_assert_uint_eq(gw_plan_trace_step(trace), step);
        for (unsigned r = 0; r < 3; r++)
            for (unsigned c = 0; c < 3; c++)
                ck_assert_uint_eq(gw_plan_trace_count(trace, r, c),
                                  counts[step][r][c]);
    }
    ck_assert_uint_eq(gw_plan_trace_step(trace), 0);
    ck_assert_ptr_null(gw_plan_trace_next(trace));
    gw_plan_trace_destroy(&trace);
    ck_assert_ptr_null(trace);
    gw_plan_destroy(&plan);
}
END_TEST

/* In an exchange, writes show at once, but reads see the state before the
 * step. */
START_TEST(a_trace_goes_transfer_by_transfer)
{
    struct gw_plan *plan = parse("allreduce ranks=4 chunks=1\n"
                                 "step 0>1 c0 + 1>0 c0 + 2>3 c0 + 3>2 c0 +\n"
                                 "step 0>2 c0 + 2>0 c0 + 1>3 c0 + 3>1 c0 +\n",
                                 0);
    struct gw_plan_trace *trace;
    ck_assert_int_eq(gw_plan_trace_new(plan, &trace, NULL), GW_OK);
    ck_assert_ptr_eq(gw_plan_trace_next(trace), &plan->transfers[0]);
    ck_assert_uint_eq(gw_plan_trace_count(trace, 1, 0), 2);
    ck_assert_uint_eq(gw_plan_trace_count(trace, 0, 0), 1);
    ck_assert_uint_eq(gw_plan_trace_step(trace), 1);
    ck_assert(gw_plan_trace_has(trace, 0, 0, 1));
    ck_assert(!gw_plan_trace_has(trace, 0, 0, 2));
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(gw_plan_trace_next(trace));
    ck_assert_uint_eq(gw_plan_trace_step(trace), 0);
    ck_assert(gw_plan_trace_has(trace, 0, 0, 2));
    gw_plan_trace_destroy(&trace);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_trace_knows_the_owners)
{
    struct gw_plan *plan =
        parse("gather ranks=3 chunks=6\nstep 2>0 c4 = 2>0 c5 =\n", 0);
    struct gw_plan_trace *trace;
    ck_assert_int_eq(gw_plan_trace_new(plan, &trace, NULL), GW_OK);
    ck_assert_uint_eq(gw_plan_trace_full(trace), 1);
    ck_assert_uint_eq(gw_plan_trace_count(trace, 0, 4), 0);
    ck_assert_uint_eq(gw_plan_trace_step(trace), 1);
    ck_assert_uint_eq(gw_plan_trace_count(trace, 0, 4), 1);
    ck_assert(gw_plan_trace_has(trace, 0, 4, 2));
    ck_assert(!gw_plan_trace_has(trace, 0, 4, 0));
    ck_assert(gw_plan_trace_has(trace, 0, 1, 0));
    ck_assert(!gw_plan_trace_has(trace, 0, 2, 1));
    gw_plan_trace_destroy(&trace);
    gw_plan_destroy(&plan);
    plan = parse("allreduce ranks=16384 chunks=16777216\n", 0);
    ck_assert_int_eq(gw_plan_trace_new(plan, &trace, NULL), GW_ENOMEM);
    gw_plan_trace_destroy(&trace);
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_trace(void)
{
    Suite *suite = suite_create("plan_trace");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_trace_shows_the_sets_grow);
    tcase_add_test(t, a_trace_goes_transfer_by_transfer);
    tcase_add_test(t, a_trace_knows_the_owners);
    suite_add_tcase(suite, t);
    return suite;
}
