/* SPDX-License-Identifier: MIT
 *
 * Algorithms added to those of the library: refusals, lookup, and communicators
 * that run correct ones and refuse wrong ones.
 */
#include "must.h"
#include "ranks.h"

#include <plan/registry.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_added(void);

static bool any(unsigned ranks)
{
    return ranks > 0;
}

static bool even(unsigned ranks)
{
    return ranks % 2 == 0;
}

static unsigned one_chunk(const struct gw_algo_args *args)
{
    (void)args;
    return 1;
}

/* All-reduce by way of rank 0. */
static void emit_star(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned i = 1; i < args->ranks; i++)
        gw_builder_add(b, i, 0, 0, GW_ADD);
    gw_builder_step(b);
    for (unsigned i = 1; i < args->ranks; i++)
        gw_builder_add(b, 0, i, 0, GW_REPLACE);
}

static void emit_half_a_star(struct gw_builder *b,
                             const struct gw_algo_args *args)
{
    for (unsigned i = 1; i < args->ranks; i++)
        gw_builder_add(b, i, 0, 0, GW_ADD);
}

static void emit_nonsense(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_step(b);
    for (unsigned i = 0; i < 1000; i++) {
        gw_builder_add(b, i, i + args->ranks, i, GW_ADD);
        gw_builder_step(b);
    }
}

static void emit_no_action(struct gw_builder *b,
                           const struct gw_algo_args *args)
{
    gw_builder_add(b, 0, args->ranks - 1, 0, (enum gw_action)5);
}

static void emit_alias(struct gw_builder *b, const struct gw_algo_args *args)
{
    emit_star(b, args);
    gw_builder_name(b, "an \"alias\"");
}

static struct gw_algo star(void)
{
    return (struct gw_algo){.name = "star",
                            .collective = GW_ALLREDUCE,
                            .valid = any,
                            .chunks = one_chunk,
                            .emit = emit_star};
}

static struct gw_error why;

static void refused(struct gw_algo algo, const char *sentence)
{
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, sentence);
}

START_TEST(found_until_removed)
{
    size_t count, before;
    struct gw_algo algo = star();
    (void)gw_algo_list(&before);
    ck_assert_ptr_null(gw_algo_find(GW_ALLREDUCE, "star"));
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_OK);
    ck_assert_ptr_eq(gw_algo_find(GW_ALLREDUCE, "star"), &algo);
    ck_assert_ptr_null(gw_algo_find(GW_REDUCE, "star"));
    (void)gw_algo_list(&count);
    ck_assert_uint_eq(count, before);
    gw_algo_remove(&algo);
    ck_assert_ptr_null(gw_algo_find(GW_ALLREDUCE, "star"));
    gw_algo_remove(&algo);
}
END_TEST

START_TEST(numbers_keep)
{
    struct gw_algo first = star(), second = star();
    second.name = "second";
    size_t own;
    const struct gw_algo *const *list = gw_algo_list(&own);
    ck_assert_int_eq(gw_algo_add(&first, &why), GW_OK);
    ck_assert_int_eq(gw_algo_add(&second, &why), GW_OK);
    ck_assert_uint_eq(gw__algo_number(list[3]), 3);
    ck_assert_uint_eq(gw__algo_number(&second), own + 1);
    gw_algo_remove(&first);
    ck_assert_ptr_null(gw__algo_numbered((unsigned)own));
    ck_assert_ptr_eq(gw__algo_numbered((unsigned)own + 1), &second);
    ck_assert_ptr_eq(gw_algo_find(GW_ALLREDUCE, "second"), &second);
    ck_assert(gw__algo_is_added(&second));
    ck_assert(!gw__algo_is_added(list[own - 1]));
    gw_algo_remove(&second);
    ck_assert_ptr_null(gw__algo_numbered((unsigned)own + 1));
}
END_TEST

START_TEST(names_and_pointers)
{
    struct gw_algo algo = star();
    algo.name = "ring";
    refused(algo,
            "allreduce already has an algorithm \"ring\"; choose another name");
    algo.name = "a b";
    refused(algo, "an algorithm's name must be 1 to 39 characters of a-z, 0-9 "
                  "and _, not \"a b\"");
    algo.name = "a123456789b123456789c123456789d123456789";
    refused(algo, "an algorithm's name must be 1 to 39 characters of a-z, 0-9 "
                  "and _, not \"a123456789b123456789c123456789d123456789\"");
    algo.name = NULL;
    refused(algo, "an algorithm's name must be 1 to 39 characters of a-z, 0-9 "
                  "and _, not \"\"");
    algo = star();
    algo.collective = (enum gw_collective)77;
    refused(algo, "star: unknown collective 77");
    algo = star();
    algo.emit = NULL;
    refused(algo, "star: emit is NULL");
    algo = star();
    algo.chunks = NULL;
    refused(algo, "star: chunks is NULL");
    algo = star();
    algo.valid = NULL;
    refused(algo, "star: valid is NULL");
}
END_TEST

START_TEST(twice_and_too_many)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f",
                                        "g", "h", "i", "j", "k", "l",
                                        "m", "n", "o", "p", "q"};
    struct gw_algo algos[17];
    for (unsigned i = 0; i < 17; i++) {
        algos[i] = star();
        algos[i].name = names[i];
        ck_assert_int_eq(gw_algo_add(&algos[i], &why),
                         i < 16 ? GW_OK : GW_ENOMEM);
    }
    refused(algos[2],
            "allreduce already has an algorithm \"c\"; choose another name");
    for (unsigned i = 0; i < 16; i++)
        gw_algo_remove(&algos[i]);
    ck_assert_int_eq(gw_algo_add(&algos[16], &why), GW_OK);
    gw_algo_remove(&algos[16]);
}
END_TEST

static void make_fails(struct gw_algo algo, unsigned ranks, enum gw_err code,
                       const char *sentence)
{
    struct gw_plan *plan;
    struct gw_algo_args args = {.ranks = ranks};
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_OK);
    ck_assert_int_eq(
        gw_plan_make(algo.collective, algo.name, &args, &plan, &why), code);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_ptr_null(plan);
    gw_algo_remove(&algo);
}

START_TEST(a_plan_is_called_by_its_requested_name)
{
    struct gw_plan *plan;
    struct gw_algo_args args = {.ranks = 3};
    struct gw_algo algo = star();
    algo.emit = emit_alias;
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_OK);
    ck_assert_int_eq(gw_plan_make(GW_ALLREDUCE, "star", &args, &plan, &why),
                     GW_OK);
    ck_assert_str_eq(plan->algo, "star");
    gw_plan_destroy(&plan);
    gw_algo_remove(&algo);
}
END_TEST

START_TEST(violations_are_errors)
{
    struct gw_algo algo = star();
    algo.emit = emit_nonsense;
    make_fails(algo, 4, GW_EPLAN,
               "allreduce star of 4 ranks: step 1: 0>4: there are only 4 "
               "ranks, numbered from 0");
    algo.emit = emit_no_action;
    make_fails(algo, 4, GW_EPLAN,
               "allreduce star of 4 ranks: step 0: unknown action 5");
    algo = star();
    algo.valid = even;
    make_fails(algo, 3, GW_EINVAL, "allreduce star does not support 3 ranks");
}
END_TEST

static void call_star(struct gw_comm *comm, void *context)
{
    float in = (float)(gw_comm_rank(comm) + 1), out = 0;
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = &in,
                           .out = &out,
                           .count = 1,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .algo = "star"};
    const bool *right = context;
    MUST(gw_barrier(comm) == GW_OK);
    for (unsigned round = 0; round < 3 && *right; round++) {
        MUST(gw_run(comm, &call) == GW_OK);
        MUST(out > 5.5f && out < 6.5f); /* 1 + 2 + 3 */
    }
    if (!*right) {
        MUST(gw_run(comm, &call) == GW_EPLAN);
        MUST(strstr(gw_comm_error(comm)->text, "rank 1"));
    }
}

static void over(const char *wire, struct gw_algo algo, bool right)
{
    struct gw_comm_config config = {.wire = wire};
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_OK);
    run_ranks(&config, 3, call_star, &right);
    gw_algo_remove(&algo);
}

START_TEST(a_communicator_runs_it)
{
    struct gw_algo algo = star();
    over("shm", algo, true);
    over("ipc", algo, true);
    algo.direct = true; /* a false claim, which is ignored */
    over("shm", algo, true);
}
END_TEST

START_TEST(a_communicator_refuses_what_is_wrong)
{
    struct gw_algo algo = star();
    algo.emit = emit_half_a_star;
    over("shm", algo, false);
}
END_TEST

Suite *suite_plan_added(void)
{
    Suite *suite = suite_create("plan_added");
    TCase *names = tcase_create("plan_added_names");
    tcase_add_test(names, found_until_removed);
    tcase_add_test(names, numbers_keep);
    tcase_add_test(names, names_and_pointers);
    tcase_add_test(names, twice_and_too_many);
    suite_add_tcase(suite, names);
    TCase *use = tcase_create("plan_added_use");
    tcase_add_test(use, a_plan_is_called_by_its_requested_name);
    tcase_add_test(use, violations_are_errors);
    tcase_add_test(use, a_communicator_runs_it);
    tcase_add_test(use, a_communicator_refuses_what_is_wrong);
    suite_add_tcase(suite, use);
    return suite;
}
