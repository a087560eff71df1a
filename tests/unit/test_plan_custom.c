/* SPDX-License-Identifier: MIT
 *
 * Custom plans: the conditions in the text, in the proof, in the price and in
 * the builder.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_plan_custom(void);

#define HEAD "custom ranks=3 chunks=2 name=mine\n"

static struct gw_plan *parse(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, strlen(text), "mine", 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return plan;
}

static void check_refused(const char *text, const char *reason)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, strlen(text), "mine", 0, &plan, &why);
    ck_assert_int_eq(err, GW_EDATA);
    ck_assert_msg(strstr(why.text, reason), "%s", why.text);
}

/* "": the plan is right. */
static void check_verdict(const char *text, enum gw_fault fault,
                          const char *sentence)
{
    struct gw_plan *plan = parse(text);
    struct gw_verdict *verdict = malloc(sizeof *verdict);
    ck_assert_ptr_nonnull(verdict);
    enum gw_err err = gw_plan_verify(plan, 0, verdict, NULL);
    ck_assert_int_eq(err, fault == GW_FAULT_NONE ? GW_OK : GW_EPLAN);
    ck_assert_int_eq(verdict->fault, fault);
    ck_assert_msg(strstr(verdict->sentence, sentence), "%s", verdict->sentence);
    free(verdict);
    gw_plan_destroy(&plan);
}

START_TEST(conditions_are_those_of_the_text)
{
    struct gw_plan *plan = parse(HEAD "has 0 c0..1 1 c1\n"
                                      "wants for i in 1..2: i c0\n");
    for (unsigned rank = 0; rank < 3; rank++)
        for (unsigned chunk = 0; chunk < 2; chunk++) {
            bool holds = rank == 0 || (rank == 1 && chunk == 1);
            bool wants = rank > 0 && chunk == 0;
            ck_assert_int_eq(gw_plan_holds(plan, rank, chunk), holds);
            ck_assert_int_eq(gw_plan_wants(plan, rank, chunk), wants);
        }
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_printed_plan_is_the_same_plan)
{
    char *text = NULL;
    size_t bytes;
    struct gw_plan *plan = parse(HEAD "has 0 c0..1 2 c1\nwants 1 c0..1\n"
                                      "step 0>1 c0..1 =\nstep 2>1 c1 +\n");
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_int_eq(gw_plan_print(plan, file, NULL), GW_OK);
    fclose(file);
    struct gw_plan *again = parse(text);
    ck_assert_uint_eq(gw_plan_hash(plan), gw_plan_hash(again));
    ck_assert_msg(strstr(text, "has   0 c0..1   2 c1\nwants   1 c0..1\n"), "%s",
                  text);
    gw_plan_destroy(&again);
    again = parse(HEAD "has 0 c0..1 2 c1\nwants 1 c0\n"
                       "step 0>1 c0..1 =\nstep 2>1 c1 +\n");
    ck_assert_uint_ne(gw_plan_hash(plan), gw_plan_hash(again));
    gw_plan_destroy(&again);
    gw_plan_destroy(&plan);
    free(text);
}
END_TEST

START_TEST(a_rank_without_data_may_add_and_forward)
{
    check_verdict(HEAD "has 0 c0 1 c0\nwants 0 c0 1 c0\n"
                       "step 0>2 c0 + 1>2 c0 +\nstep 2>0 c0 = 2>1 c0 =\n",
                  GW_FAULT_NONE, "");
}
END_TEST

START_TEST(wrong_plans_are_refused)
{
    check_verdict(HEAD "has 0 c0\nwants 1 c0 2 c0\nstep 0>1 c0 =\n",
                  GW_FAULT_INCOMPLETE, "rank 2 c0 lacks rank 0");
    check_verdict(HEAD "has 0 c0 1 c0\nwants 2 c0\nstep 0>2 c0 =\n",
                  GW_FAULT_INCOMPLETE, "rank 2 c0 lacks rank 1");
    check_verdict(HEAD "has 0 c0\nwants 1 c0\nstep 1>2 c0 =\n", GW_FAULT_ABSENT,
                  "rank 1 does not hold c0");
    check_verdict(HEAD "has 0 c0 1 c0\nwants 1 c0\nstep 0>1 c0 +\n"
                       "step 0>1 c0 +\n",
                  GW_FAULT_DOUBLE, "would count rank 0 twice");
    check_verdict(HEAD "wants 1 c0\n", GW_FAULT_INCOMPLETE, "rank 1");
}
END_TEST

START_TEST(texts_are_refused_with_their_place)
{
    check_refused("allreduce ranks=2 chunks=1\nhas 0 c0\n",
                  "mine:2:1: `has` is only for custom");
    check_refused(HEAD "step has 0 c0\n", "mine:2:6: `has` cannot be inside");
    check_refused(HEAD "wants step 0>1 c0 =\n",
                  "mine:2:7: a step cannot be inside `has`");
    check_refused(HEAD "has 3 c0\n", "mine:2:5: rank 3 must be in 0..2");
    check_refused(HEAD "has 0 c1..2\n", "c2 must be in 0..1");
    check_refused(HEAD "has 0>1 c0 =\n", "expected a chunk");
    check_refused(HEAD "wants\n", "mine:2:1: this condition is empty");
}
END_TEST

START_TEST(the_bound_follows_from_the_conditions)
{
    const struct gw_cost_model model = {1, 1, 0};
    struct gw_price price;
    struct gw_plan *plan =
        parse(HEAD "has 0 c0..1\nwants 1 c0 2 c1\nstep 0>1 c0 = 0>2 c1 =\n");
    ck_assert_int_eq(gw_plan_price(plan, 100, 1, &model, &price, NULL), GW_OK);
    /* Rank 0 sends both halves; one round would do. */
    ck_assert_double_eq_tol(price.bound_us, 101, 1e-9);
    ck_assert_double_eq_tol(price.predicted_us, 102, 1e-9);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_builder_checks_conditions)
{
    struct gw_builder *builder;
    struct gw_plan *plan;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_builder_new(GW_ALLREDUCE, 2, 1, 0, &builder, NULL),
                     GW_OK);
    gw_builder_condition(builder, 0, 0, GW_HAS);
    ck_assert_int_eq(gw_builder_finish(&builder, &plan, &why), GW_EPLAN);
    ck_assert_int_eq(gw_builder_new(GW_CUSTOM, 2, 1, 0, &builder, NULL), GW_OK);
    gw_builder_condition(builder, 2, 0, GW_HAS);
    ck_assert_int_eq(gw_builder_finish(&builder, &plan, &why), GW_EPLAN);
    ck_assert_msg(strstr(why.text, "only 2 ranks"), "%s", why.text);
    ck_assert_int_eq(gw_builder_new(GW_CUSTOM, 2, 1, 0, &builder, NULL), GW_OK);
    gw_builder_condition(builder, 0, 0, GW_HAS | GW_WANTS);
    ck_assert_int_eq(gw_builder_finish(&builder, &plan, &why), GW_OK);
    ck_assert(gw_plan_holds(plan, 0, 0) && gw_plan_wants(plan, 0, 0));
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_custom(void)
{
    Suite *suite = suite_create("plan_custom");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, conditions_are_those_of_the_text);
    tcase_add_test(tests, a_printed_plan_is_the_same_plan);
    tcase_add_test(tests, a_rank_without_data_may_add_and_forward);
    tcase_add_test(tests, wrong_plans_are_refused);
    tcase_add_test(tests, texts_are_refused_with_their_place);
    tcase_add_test(tests, the_bound_follows_from_the_conditions);
    tcase_add_test(tests, a_builder_checks_conditions);
    suite_add_tcase(suite, tests);
    return suite;
}
