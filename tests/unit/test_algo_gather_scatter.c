/* SPDX-License-Identifier: MIT
 *
 * All-gather and reduce-scatter: every algorithm, for every p that it supports,
 * verifies, cannot deadlock, and sends exactly the amounts of its formula. Both
 * collectives have one chunk per rank, so p-1 chunks are (p-1)/p n bytes.
 */
#include "algo_check.h"

#include <string.h>

Suite *suite_algo_gather_scatter(void);

struct spec {
    enum gw_collective collective;
    const char *name;
    unsigned (*rounds)(unsigned p);
    unsigned (*messages)(unsigned p); /* of every rank */
};

static unsigned one(unsigned p)
{
    return p > 1;
}

static unsigned others(unsigned p)
{
    return p - 1;
}

static unsigned half(unsigned p)
{
    return p / 2;
}

/* Two collectives, one expectation: every rank sends exactly p-1 chunks. */
static const struct spec specs[] = {
    {GW_ALLGATHER, "direct", one, others},
    {GW_ALLGATHER, "ring", others, others},
    {GW_ALLGATHER, "recursive_doubling", log2_ceil, log2_ceil},
    {GW_ALLGATHER, "bruck", log2_ceil, log2_ceil},
    {GW_ALLGATHER, "neighbor", half, half},
    {GW_ALLGATHER, "pat", log2_ceil, log2_ceil},
    {GW_REDUCE_SCATTER, "direct", one, others},
    {GW_REDUCE_SCATTER, "ring", others, others},
    {GW_REDUCE_SCATTER, "circulant", log2_ceil, log2_ceil},
};

static void check_counts(const struct spec *spec, const struct gw_algo *algo,
                         unsigned p)
{
    struct gw_algo_args args = {.ranks = p};
    struct gw_plan *plan = algo_plan(algo, &args);
    struct tally t = check_plan(plan);
    ck_assert_msg(plan->steps == spec->rounds(p), "%s p=%u: %u rounds",
                  spec->name, p, plan->steps);
    ck_assert_msg(t.least.messages == spec->messages(p) &&
                      t.most.messages == spec->messages(p),
                  "%s p=%u: %zu to %zu messages", spec->name, p,
                  t.least.messages, t.most.messages);
    ck_assert_msg(t.least.chunks == p - 1 && t.most.chunks == p - 1,
                  "%s p=%u: %zu to %zu chunks", spec->name, p, t.least.chunks,
                  t.most.chunks);
    gw_plan_destroy(&plan);
}

START_TEST(counts_and_verdict)
{
    const struct spec *spec = &specs[_i];
    const struct gw_algo *algo = gw_algo_find(spec->collective, spec->name);
    ck_assert_ptr_nonnull(algo);
    for (unsigned p = 1; p <= ALL_RANKS; p++)
        if (algo->valid(p))
            check_counts(spec, algo, p);
    for (unsigned i = 0; i < SOME_RANKS; i++)
        if (algo->valid(some_ranks[i]) && spec->rounds(256) <= 16)
            check_counts(spec, algo, some_ranks[i]);
}
END_TEST

/* Rounds, bytes and additions at their lower bounds, all at once. */
START_TEST(optimal_for_any_p)
{
    static const struct gw_cost_model model = {3, 2, 1};
    static const struct {
        enum gw_collective collective;
        const char *name;
    } optimal[] = {{GW_ALLGATHER, "bruck"},
                   {GW_ALLGATHER, "pat"},
                   {GW_REDUCE_SCATTER, "circulant"}};
    for (size_t i = 0; i < 3; i++)
        for (unsigned p = 1; p <= ALL_RANKS; p++) {
            const struct gw_algo *algo =
                gw_algo_find(optimal[i].collective, optimal[i].name);
            struct gw_algo_args args = {.ranks = p};
            struct gw_plan *plan = algo_plan(algo, &args);
            struct gw_price price;
            enum gw_err err = gw_plan_price(plan, 5, 4, &model, &price, NULL);
            ck_assert_int_eq(err, GW_OK);
            ck_assert_double_eq_tol(price.predicted_us, price.bound_us, 1e-9);
            gw_plan_destroy(&plan);
        }
}
END_TEST

START_TEST(valid_ranks)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++) {
        bool power = (p & (p - 1)) == 0, even = p % 2 == 0;
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            const char *name = specs[i].name;
            bool served = true;
            if (strcmp(name, "recursive_doubling") == 0)
                served = power;
            if (strcmp(name, "neighbor") == 0)
                served = even || p == 1;
            const struct gw_algo *algo =
                gw_algo_find(specs[i].collective, name);
            ck_assert_msg(algo->valid(p) == served, "%s p=%u", name, p);
        }
    }
}
END_TEST

START_TEST(refuses_ranks_that_it_does_not_serve)
{
    struct gw_algo_args args = {.ranks = 6};
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(
        gw_plan_make(GW_ALLGATHER, "recursive_doubling", &args, &plan, &why),
        GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "allgather recursive_doubling does not support 6 ranks");
    ck_assert_ptr_null(plan);
    args.ranks = 5;
    ck_assert_int_eq(gw_plan_make(GW_ALLGATHER, "neighbor", &args, &plan, &why),
                     GW_EINVAL);
}
END_TEST

START_TEST(described)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        if (algos[i]->collective == GW_ALLGATHER ||
            algos[i]->collective == GW_REDUCE_SCATTER)
            check_described(algos[i], ",direct,");
}
END_TEST

/* For a power of two: optimal. Otherwise two rounds more: the partners of
 * keepers send all their chunks, and no other rank sends more than p-1. */
START_TEST(recursive_halving_folds)
{
    const struct gw_algo *algo =
        gw_algo_find(GW_REDUCE_SCATTER, "recursive_halving");
    for (unsigned p = 1; p <= ALL_RANKS; p++) {
        struct gw_algo_args args = {.ranks = p};
        struct gw_plan *plan = algo_plan(algo, &args);
        struct tally t = check_plan(plan);
        unsigned keepers = 1U << log2_floor(p), partners = p - keepers;
        bool folds = partners > 0;
        ck_assert_uint_eq(plan->steps, log2_floor(p) + (folds ? 2 : 0));
        ck_assert_uint_eq(t.most.chunks, folds ? p : p - 1);
        ck_assert_uint_eq(t.least.chunks, p - 1);
        ck_assert_uint_eq(t.all.chunks, p * (p - 1) + partners);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* Ring and neighbour exchange send to neighbours only. */
START_TEST(only_neighbours_communicate)
{
    static const char *const names[] = {"ring", "neighbor"};
    for (size_t n = 0; n < 2; n++) {
        struct gw_algo_args args = {.ranks = 12};
        struct gw_plan *plan =
            algo_plan(gw_algo_find(GW_ALLGATHER, names[n]), &args);
        for (size_t i = 0; i < plan->transfer_count; i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            unsigned distance = (t->dst + 12U - t->src) % 12;
            ck_assert(distance == 1 || (n == 1 && distance == 11));
        }
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* The ring's text in four lines: block j ends at rank j. */
START_TEST(reduce_scatter_ring_of_three)
{
    struct gw_algo_args args = {.ranks = 3};
    struct gw_plan *plan =
        algo_plan(gw_algo_find(GW_REDUCE_SCATTER, "ring"), &args);
    ck_assert_uint_eq(plan->ports, 1);
    check_transfer(plan, 0, 0, 0, 1, 2);
    check_transfer(plan, 0, 1, 1, 2, 0);
    check_transfer(plan, 0, 2, 2, 0, 1);
    check_transfer(plan, 1, 0, 0, 1, 1);
    check_transfer(plan, 1, 1, 1, 2, 2);
    check_transfer(plan, 1, 2, 2, 0, 0);
    gw_plan_destroy(&plan);
}
END_TEST

/* Farthest first: step s sends to rank + 2^(rounds-1-s). */
START_TEST(pat_goes_far_first)
{
    struct gw_algo_args args = {.ranks = 21};
    struct gw_plan *plan = algo_plan(gw_algo_find(GW_ALLGATHER, "pat"), &args);
    for (unsigned step = 0; step < 5; step++) {
        const struct gw_transfer *t = &plan->transfers[plan->step_begin[step]];
        ck_assert_uint_eq((t->dst + 21U - t->src) % 21, 16U >> step);
    }
    gw_plan_destroy(&plan);
}
END_TEST

/* At most A blocks per message, and log2 A + P/A - 1 rounds. */
START_TEST(pat_aggregates_up_to_the_limit)
{
    const struct gw_algo *algo = gw_algo_find(GW_ALLGATHER, "pat");
    for (unsigned p = 2; p <= ALL_RANKS; p++)
        for (unsigned limit = 1; limit <= 40; limit++) {
            struct gw_algo_args args = {.ranks = p, .segments = limit};
            struct gw_plan *plan = algo_plan(algo, &args);
            unsigned places = 1U << log2_ceil(p);
            unsigned a = 1U << log2_floor(limit < places ? limit : places);
            ck_assert_uint_eq(plan->steps,
                              a == 1 ? p - 1 : log2_floor(a) + places / a - 1);
            for (unsigned step = 0; step < plan->steps; step++)
                ck_assert_uint_le(plan->step_begin[step + 1] -
                                      plan->step_begin[step],
                                  (size_t)a * p);
            ck_assert_uint_eq(check_plan(plan).most.chunks, p - 1);
            gw_plan_destroy(&plan);
        }
}
END_TEST

Suite *suite_algo_gather_scatter(void)
{
    Suite *suite = suite_create("algo_gather_scatter");
    TCase *tcase = tcase_create("algorithms");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, counts_and_verdict, 0,
                        sizeof specs / sizeof *specs);
    tcase_add_test(tcase, optimal_for_any_p);
    tcase_add_test(tcase, valid_ranks);
    tcase_add_test(tcase, refuses_ranks_that_it_does_not_serve);
    tcase_add_test(tcase, described);
    tcase_add_test(tcase, recursive_halving_folds);
    tcase_add_test(tcase, only_neighbours_communicate);
    tcase_add_test(tcase, reduce_scatter_ring_of_three);
    tcase_add_test(tcase, pat_goes_far_first);
    tcase_add_test(tcase, pat_aggregates_up_to_the_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}
