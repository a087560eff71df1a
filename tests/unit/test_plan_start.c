/* SPDX-License-Identifier: MIT
 *
 * The verifier with an initial state: the contributor sets at the start of a
 * recovery plan, and the set that it must end with, determine its faults.
 */
#include <plan/start.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_start(void);

static struct gw_verdict verdict;

/* Verifies a text of two ranks and one chunk from these sets. */
static enum gw_err verify(const char *steps, uint64_t at0, uint64_t at1,
                          uint64_t full)
{
    char text[256];
    struct gw_plan *plan;
    struct gw_error why = {0};
    snprintf(text, sizeof text, "allreduce ranks=2 chunks=1\n%s", steps);
    ck_assert_msg(!gw_plan_parse(text, strlen(text), "t", 0, &plan, &why), "%s",
                  why.text);
    const struct gw__start start = {
        .sets = (struct gw_nodes[]){{{at0}}, {{at1}}}, .full = {{full}}};
    enum gw_err err = gw__plan_verify_from(plan, &start, 0, &verdict, NULL);
    gw_plan_destroy(&plan);
    return err;
}

START_TEST(contributors_need_not_be_ranks)
{
    const uint64_t far = (uint64_t)1 << 63;
    ck_assert_int_eq(
        verify("step 0>1 c0 +\nstep 1>0 c0 =\n", 5 | far, 16, 21 | far), GW_OK);
    ck_assert_int_eq(verify("step 0>1 c0 =\n", 5, 2, 5), GW_OK);
    ck_assert_int_eq(verify("", 5, 5, 5), GW_OK);
}
END_TEST

START_TEST(each_counts_once)
{
    ck_assert_int_eq(verify("step 0>1 c0 +\nstep 1>0 c0 =\n", 5, 20, 21),
                     GW_EPLAN);
    ck_assert_int_eq(verdict.fault, GW_FAULT_DOUBLE);
    ck_assert_str_eq(verdict.sentence,
                     "step 1: 0>1 c0 would count rank 2 twice");
}
END_TEST

START_TEST(the_end_is_exactly_the_set_that_was_decided)
{
    ck_assert_int_eq(verify("step 0>1 c0 =\n", 5, 2, 7), GW_EPLAN);
    ck_assert_int_eq(verdict.fault, GW_FAULT_INCOMPLETE);
    ck_assert_str_eq(verdict.sentence, "after step 1: rank 0 c0 lacks rank 1");
    ck_assert_int_eq(verify("step 0>1 c0 =\n", 13, 2, 5), GW_EPLAN);
    ck_assert_str_eq(verdict.sentence,
                     "after step 1: rank 0 c0 still has rank 3");
}
END_TEST

START_TEST(what_is_not_there_cannot_be_sent)
{
    ck_assert_int_eq(verify("step 0>1 c0 =\n", 0, 2, 2), GW_EPLAN);
    ck_assert_int_eq(verdict.fault, GW_FAULT_ABSENT);
    ck_assert_str_eq(verdict.history,
                     "start: rank 1 holds c0\nstep 1: 0>1 c0 =\n");
}
END_TEST

START_TEST(only_all_reduces_of_few)
{
    struct gw_plan *plan;
    struct gw_error why;
    const struct gw__start start = {.full = {{1}}};
    const char *text = "broadcast ranks=2 chunks=1\nstep 0>1 c0 =\n";
    ck_assert_int_eq(gw_plan_parse(text, strlen(text), "t", 0, &plan, NULL),
                     GW_OK);
    ck_assert_int_eq(gw__plan_verify_from(plan, &start, 0, &verdict, &why),
                     GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "a plan with its own start must be an allreduce of at most 576 ranks");
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_start(void)
{
    Suite *suite = suite_create("plan_start");
    TCase *t = tcase_create("all");
    tcase_add_test(t, contributors_need_not_be_ranks);
    tcase_add_test(t, each_counts_once);
    tcase_add_test(t, the_end_is_exactly_the_set_that_was_decided);
    tcase_add_test(t, what_is_not_there_cannot_be_sent);
    tcase_add_test(t, only_all_reduces_of_few);
    suite_add_tcase(suite, t);
    return suite;
}
