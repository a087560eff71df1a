/* SPDX-License-Identifier: MIT
 *
 * Scans: their plans for every number of ranks, counted by formula, and plans
 * that the verifier must refuse because a rank has other inputs than those of
 * the ranks before it. test_coll.c runs them.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <string.h>

Suite *suite_algo_scan(void);

static unsigned log2_up(unsigned p)
{
    unsigned rounds = 0;
    while (1U << rounds < p)
        rounds++;
    return rounds;
}

static struct gw_plan *make(enum gw_collective collective, const char *algo,
                            unsigned ranks, unsigned segments)
{
    const struct gw_algo_args args = {.ranks = ranks, .segments = segments};
    struct gw_plan *plan;
    struct gw_verdict verdict;
    struct gw_error why = {0};
    ck_assert_msg(gw_plan_make(collective, algo, &args, &plan, &why) == GW_OK,
                  "%s", why.text);
    ck_assert_msg(gw_plan_verify(plan, 0, &verdict, &why) == GW_OK, "%s %u: %s",
                  algo, ranks, why.text);
    return plan;
}

START_TEST(rounds_and_transfers_follow_the_formulas)
{
    for (unsigned p = 1; p <= 70; p++)
        for (unsigned k = 1; k <= 5; k += 2) {
            struct gw_plan *plan = make(GW_SCAN, "chain", p, k);
            ck_assert_uint_eq(plan->steps, p > 1 ? k + p - 2 : 0);
            ck_assert_uint_eq(plan->transfer_count, (size_t)k * (p - 1));
            gw_plan_destroy(&plan);
            plan = make(GW_EXSCAN, "chain", p, k);
            ck_assert_uint_eq(plan->steps,
                              p > 2 ? 1 + k + p - 3 : (unsigned)(p > 1));
            gw_plan_destroy(&plan);
            plan = make(GW_SCAN, "hillis_steele", p, 0);
            ck_assert_uint_eq(plan->steps, log2_up(p));
            gw_plan_destroy(&plan);
            plan = make(GW_EXSCAN, "hillis_steele", p, 0);
            ck_assert_uint_eq(plan->steps,
                              p > 1 ? 1 + log2_up(p - 1) : log2_up(p));
            gw_plan_destroy(&plan);
            plan = make(GW_SCAN, "recursive_doubling", p, 0);
            ck_assert_uint_eq(plan->steps, log2_up(p));
            gw_plan_destroy(&plan);
            plan = make(GW_SCAN, "direct", p, 0);
            ck_assert_uint_eq(plan->transfer_count, (size_t)p * (p - 1) / 2);
            gw_plan_destroy(&plan);
            plan = make(GW_EXSCAN, "direct", p, 0);
            ck_assert_uint_eq(plan->transfer_count, (size_t)p * (p - 1) / 2);
            gw_plan_destroy(&plan);
        }
}
END_TEST

/* The last rank of each lower half sends p/2, p/4, ... times. */
START_TEST(recursive_doubling_merges_groups)
{
    struct gw_plan *plan = make(GW_SCAN, "recursive_doubling", 16, 0);
    ck_assert_uint_eq(plan->transfer_count, 16 / 2 * 4);
    for (size_t t = plan->step_begin[3]; t < plan->step_begin[4]; t++)
        ck_assert_uint_eq(plan->transfers[t].src, 7);
    gw_plan_destroy(&plan);
}
END_TEST

static void refused(const char *text, enum gw_fault fault, const char *sentence)
{
    struct gw_plan *plan;
    struct gw_verdict verdict;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_plan_parse(text, strlen(text), "t", 0, &plan, &why),
                     GW_OK);
    ck_assert_int_eq(gw_plan_verify(plan, 0, &verdict, &why), GW_EPLAN);
    ck_assert_int_eq(verdict.fault, fault);
    ck_assert_str_eq(why.text, sentence);
    gw_plan_destroy(&plan);
}

START_TEST(other_inputs_are_refused)
{
    refused("scan ranks=3 chunks=1\nstep 0>1 c0 +\nstep 0>2 c0 +\n",
            GW_FAULT_INCOMPLETE, "after step 2: rank 2 c0 lacks rank 1");
    refused("scan ranks=3 chunks=1\nstep 0>1 c0 + 0>2 c0 + 1>2 c0 +\n"
            "step 2>1 c0 =\n",
            GW_FAULT_INCOMPLETE, "after step 2: rank 1 c0 still has rank 2");
    refused("scan ranks=2 chunks=1\nstep 0>1 c0 + 1>0 c0 =\n",
            GW_FAULT_INCOMPLETE, "after step 1: rank 0 c0 lacks rank 0");
    refused("exscan ranks=3 chunks=1\nstep 0>1 c0 = 1>2 c0 =\n",
            GW_FAULT_INCOMPLETE, "after step 1: rank 2 c0 lacks rank 0");
    refused("exscan ranks=2 chunks=1\nstep 0>1 c0 +\n", GW_FAULT_INCOMPLETE,
            "after step 1: rank 1 c0 still has rank 1");
    refused("exscan ranks=3 chunks=1\nstep 0>1 c0 = 1>2 c0 = 0>2 c0 +\n",
            GW_FAULT_CONFLICT,
            "step 1: 1>2 c0 = and 0>2 c0 + replace and add to rank 2's c0");
    refused("exscan ranks=3 chunks=1\nstep 0>1 c0 = 0>2 c0 + 1>2 c0 =\n",
            GW_FAULT_CONFLICT,
            "step 1: 0>2 c0 + and 1>2 c0 = replace and add to rank 2's c0");
}
END_TEST

Suite *suite_algo_scan(void)
{
    Suite *suite = suite_create("algo_scan");
    TCase *tests = tcase_create("plans");
    tcase_add_test(tests, rounds_and_transfers_follow_the_formulas);
    tcase_add_test(tests, recursive_doubling_merges_groups);
    tcase_add_test(tests, other_inputs_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
