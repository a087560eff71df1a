/* SPDX-License-Identifier: MIT
 *
 * Finding algorithms and making plans by name: every algorithm of the list is
 * described and found, and an impossible plan is refused with a helpful
 * message.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_make(void);

START_TEST(each_algorithm_introduces_itself)
{
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++) {
        const struct gw_algo *algo = list[i];
        ck_assert_msg(strlen(algo->name) > 0, "algorithm %zu", i);
        ck_assert_msg(strlen(algo->summary) > 0, "%s", algo->name);
        ck_assert_msg(strlen(algo->formula) > 0, "%s", algo->name);
        ck_assert_msg(strlen(algo->source) > 0, "%s", algo->name);
        ck_assert_ptr_eq(gw_algo_find(algo->collective, algo->name), algo);
        ck_assert(i == 0 || list[i - 1]->collective <= algo->collective);
    }
}
END_TEST

START_TEST(one_rank_needs_no_step)
{
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++) {
        struct gw_algo_args args = {.ranks = 1};
        struct gw_plan *plan;
        struct gw_error why = {0};
        if (!list[i]->valid(1))
            continue;
        enum gw_err err = gw_plan_make(list[i]->collective, list[i]->name,
                                       &args, &plan, &why);
        ck_assert_msg(err == GW_OK, "%s: %s", list[i]->name, why.text);
        ck_assert_uint_eq(plan->steps, 0);
        ck_assert_uint_eq(plan->transfer_count, 0);
        gw_plan_destroy(&plan);
    }
}
END_TEST

static void refused(enum gw_collective collective, const char *name,
                    struct gw_algo_args args, const char *sentence)
{
    struct gw_plan *plan = (struct gw_plan *)&args;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_make(collective, name, &args, &plan, &why);
    ck_assert_int_eq(err, GW_EINVAL);
    ck_assert_int_eq(why.code, GW_EINVAL);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_ptr_null(plan);
}

START_TEST(unknown_name_lists_the_known)
{
    struct gw_algo_args args = {.ranks = 4};
    refused(GW_BROADCAST, "bogus", args,
            "broadcast has no algorithm \"bogus\"; use direct, binomial, "
            "chain, scatter_allgather, circulant, hierarchical");
    refused(GW_BARRIER, "", args,
            "barrier has no algorithm \"\"; use direct, dissemination");
    /* A name of another collective. */
    refused(GW_GATHER, "bruck", args,
            "gather has no algorithm \"bruck\"; use linear, binomial");
}
END_TEST

START_TEST(shape_out_of_range)
{
    refused(GW_REDUCE, "chain", (struct gw_algo_args){.ranks = 0},
            "reduce chain does not support 0 ranks");
    refused(GW_REDUCE, "chain", (struct gw_algo_args){.ranks = 16385},
            "reduce chain does not support 16385 ranks");
    refused(GW_SCATTER, "linear", (struct gw_algo_args){.ranks = 4, .root = 4},
            "the root is 4, but there are only 4 ranks, numbered from 0");
    refused(GW_BROADCAST, "chain",
            (struct gw_algo_args){.ranks = 4, .segments = 1 << 25},
            "a plan must have 1 to 16777216 chunks, not 33554432");
    refused(GW_ALLTOALL, "bruck", (struct gw_algo_args){.ranks = 16384},
            "a plan must have 1 to 16777216 chunks, not 268435456");
}
END_TEST

Suite *suite_plan_make(void)
{
    Suite *suite = suite_create("plan_make");
    TCase *list = tcase_create("list");
    tcase_add_test(list, each_algorithm_introduces_itself);
    tcase_add_test(list, one_rank_needs_no_step);
    suite_add_tcase(suite, list);
    TCase *refusals = tcase_create("refusals");
    tcase_add_test(refusals, unknown_name_lists_the_known);
    tcase_add_test(refusals, shape_out_of_range);
    suite_add_tcase(suite, refusals);
    return suite;
}
