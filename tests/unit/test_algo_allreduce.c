/* SPDX-License-Identifier: MIT
 *
 * All-reduce: every algorithm, for every p that it supports, verifies, cannot
 * deadlock, sends exactly the amounts of its formula, and ends with the same
 * bits on all ranks.
 */
#include "algo_check.h"

#include <string.h>

Suite *suite_algo_allreduce(void);

static const struct gw_algo *find(const char *name)
{
    const struct gw_algo *algo = gw_algo_find(GW_ALLREDUCE, name);
    ck_assert_msg(algo != NULL, "%s", name);
    return algo;
}

static struct gw_plan *plan_of(const char *name, unsigned p)
{
    return algo_plan(find(name), &(struct gw_algo_args){.ranks = p});
}

/* ---- algorithms in which all ranks send the same amounts ---- */

struct spec {
    const char *name;
    unsigned (*rounds)(unsigned p);
    unsigned (*messages)(unsigned p);
    unsigned (*chunks)(unsigned p); /* n is p chunks, or 1 for one_shot */
};

static unsigned one(unsigned p)
{
    return p > 1;
}

static unsigned two(unsigned p)
{
    return p > 1 ? 2 : 0;
}

static unsigned others(unsigned p)
{
    return p - 1;
}

static unsigned twice_others(unsigned p)
{
    return 2 * (p - 1);
}

static unsigned twice_log2(unsigned p)
{
    return 2 * log2_ceil(p);
}

static const struct spec specs[] = {
    {"one_shot", one, others, others},
    {"partitioned", two, twice_others, twice_others},
    {"ring", twice_others, twice_others, twice_others},
    {"circulant", twice_log2, twice_log2, twice_others},
    {"swing", twice_log2, twice_log2, twice_others},
};

static void check_counts(const struct spec *spec, const struct gw_algo *algo,
                         unsigned p)
{
    struct gw_plan *plan = algo_plan(algo, &(struct gw_algo_args){.ranks = p});
    struct tally t = check_plan(plan);
    ck_assert_msg(plan->steps == spec->rounds(p), "%s p=%u: %u rounds",
                  spec->name, p, plan->steps);
    ck_assert_msg(t.least.messages == spec->messages(p) &&
                      t.most.messages == spec->messages(p),
                  "%s p=%u: %zu to %zu messages", spec->name, p,
                  t.least.messages, t.most.messages);
    ck_assert_msg(t.least.chunks == spec->chunks(p) &&
                      t.most.chunks == spec->chunks(p),
                  "%s p=%u: %zu to %zu chunks", spec->name, p, t.least.chunks,
                  t.most.chunks);
    gw_plan_destroy(&plan);
}

START_TEST(counts_and_verdict)
{
    const struct spec *spec = &specs[_i];
    const struct gw_algo *algo = find(spec->name);
    for (unsigned p = 1; p <= ALL_RANKS; p++)
        if (algo->valid(p))
            check_counts(spec, algo, p);
    for (unsigned i = 0; i < SOME_RANKS; i++)
        if (algo->valid(some_ranks[i]) && spec->rounds(256) <= 16)
            check_counts(spec, algo, some_ranks[i]);
}
END_TEST

START_TEST(valid_ranks)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        for (unsigned p = 1; p <= ALL_RANKS; p++) {
            if (algos[i]->collective != GW_ALLREDUCE)
                continue;
            bool even_only = strcmp(algos[i]->name, "swing") == 0;
            bool served = !even_only || p == 1 || p % 2 == 0;
            ck_assert_msg(algos[i]->valid(p) == served, "%s p=%u",
                          algos[i]->name, p);
        }
}
END_TEST

START_TEST(described)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        if (algos[i]->collective == GW_ALLREDUCE)
            check_described(algos[i], ",one_shot,partitioned,main_replica,");
}
END_TEST

/* ---- trees and butterflies, where ranks differ ---- */

START_TEST(reduce_broadcast_counts)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++) {
        struct gw_plan *plan = plan_of("reduce_broadcast", p);
        struct tally t = check_plan(plan);
        ck_assert_uint_eq(plan->steps, 2 * log2_ceil(p));
        ck_assert_uint_eq(t.all.chunks, 2 * (p - 1));
        ck_assert_uint_eq(t.most.chunks, log2_ceil(p));
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* log2 p rounds of n; otherwise two rounds more, and n more for a keeper. n is
 * one chunk. */
START_TEST(recursive_doubling_counts)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++) {
        struct gw_plan *plan = plan_of("recursive_doubling", p);
        struct tally t = check_plan(plan);
        unsigned k = log2_floor(p), partners = p - (1U << k);
        bool folds = partners > 0;
        ck_assert_uint_eq(plan->steps, k + (folds ? 2 : 0));
        ck_assert_uint_eq(t.most.chunks, k + folds);
        ck_assert_uint_eq(t.least.chunks, folds ? 1 : k);
        ck_assert_uint_eq(t.all.chunks, (k << k) + 2 * partners);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* 2(q-1)/q n with q = 2^k keepers, and n more for a keeper with a partner. n is
 * q chunks. */
START_TEST(rabenseifner_counts)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++) {
        struct gw_plan *plan = plan_of("rabenseifner", p);
        struct tally t = check_plan(plan);
        unsigned k = log2_floor(p), q = 1U << k, partners = p - q;
        bool folds = partners > 0;
        ck_assert_uint_eq(plan->chunks, q);
        ck_assert_uint_eq(plan->steps, 2 * k + (folds ? 2 : 0));
        ck_assert_uint_eq(t.most.messages, 2 * k + folds);
        ck_assert_uint_eq(t.most.chunks, 2 * (q - 1) + (folds ? q : 0));
        ck_assert_uint_eq(t.all.chunks, 2 * q * (q - 1) + 2 * partners * q);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* n is 2k chunks; the default is k = 4. */
static void check_double_tree(unsigned p, unsigned segments)
{
    struct gw_algo_args args = {.ranks = p, .segments = segments};
    struct gw_plan *plan = algo_plan(find("double_tree"), &args);
    struct tally t = check_plan(plan);
    unsigned k = segments ? segments : 4;
    ck_assert_uint_eq(plan->chunks, 2 * k);
    ck_assert_uint_eq(plan->steps, p > 1 ? 2 * log2_ceil(p) + k - 1 : 0);
    ck_assert_uint_eq(t.all.chunks, 2 * (p - 1) * 2 * k);
    ck_assert_uint_le(t.most.chunks, 2 * 2 * k);
    gw_plan_destroy(&plan);
}

START_TEST(double_tree_counts)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++)
        for (unsigned segments = 0; segments <= 9; segments += 3)
            check_double_tree(p, segments);
    check_double_tree(8, 1);
    for (unsigned i = 0; i < SOME_RANKS; i++)
        check_double_tree(some_ranks[i], 0);
}
END_TEST

/* A rank that receives an addition in a tree is an inner node of it. Only
 * the two roots (first and last position of an odd p) may be inner in both
 * trees. */
START_TEST(double_tree_is_complementary)
{
    for (unsigned p = 2; p <= ALL_RANKS; p++) {
        struct gw_plan *plan = plan_of("double_tree", p);
        bool inner[ALL_RANKS][2] = {{false}};
        unsigned both = 0;
        for (size_t i = 0; i < plan->transfer_count; i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            if (t->action == GW_ADD)
                inner[t->dst][t->chunk / (plan->chunks / 2)] = true;
        }
        for (unsigned r = 0; r < p; r++)
            both += inner[r][0] && inner[r][1];
        ck_assert_msg(both <= p % 2, "p=%u: %u", p, both);
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(too_many_segments_are_refused)
{
    struct gw_algo_args args = {.ranks = 4, .segments = 1U << 31};
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(
        gw_plan_make(GW_ALLREDUCE, "double_tree", &args, &plan, &why),
        GW_EINVAL);
    ck_assert_ptr_null(plan);
}
END_TEST

/* ---- swing ---- */

/* The paper's partners: 1, -1, 3, -5 for even ranks, the other way for odd
 * ones. */
START_TEST(swing_partners)
{
    static const unsigned partner_of_0[] = {1, 15, 3, 11};
    static const unsigned partner_of_1[] = {0, 2, 14, 6};
    struct gw_plan *plan = plan_of("swing", 16);
    for (unsigned step = 0; step < 8; step++)
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            unsigned s = step < 4 ? step : 7 - step;
            if (t->src == 0)
                ck_assert_uint_eq(t->dst, partner_of_0[s]);
            if (t->src == 1)
                ck_assert_uint_eq(t->dst, partner_of_1[s]);
            ck_assert_int_eq(t->action, step < 4 ? GW_ADD : GW_REPLACE);
        }
    gw_plan_destroy(&plan);
}
END_TEST

/* Halves for a power of two: p/2, p/4, ... blocks per message. */
START_TEST(swing_halves)
{
    struct gw_plan *plan = plan_of("swing", 32);
    for (unsigned step = 0; step < 10; step++) {
        unsigned s = step < 5 ? step : 9 - step;
        ck_assert_uint_eq(plan->step_begin[step + 1] - plan->step_begin[step],
                          32 * (16U >> s));
    }
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- hierarchical ---- */

/* The largest number of chunks that a rank sends to other racks. */
static size_t most_across(const struct gw_plan *plan, unsigned group)
{
    size_t most = 0;
    for (unsigned r = 0; r < plan->ranks; r++) {
        size_t across = 0;
        for (size_t i = 0; i < plan->transfer_count; i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            across += t->src == r && t->dst / group != r / group;
        }
        most = across > most ? across : most;
    }
    return most;
}

/* n is p chunks if the group divides p. */
START_TEST(hierarchical_counts)
{
    for (unsigned p = 1; p <= ALL_RANKS; p++)
        for (unsigned g = 1; g <= p; g++) {
            struct gw_algo_args args = {.ranks = p, .group = g};
            struct gw_plan *plan = algo_plan(find("hierarchical"), &args);
            struct tally t = check_plan(plan);
            unsigned h = p / g, rest = p % g;
            ck_assert_uint_eq(plan->chunks, g * h);
            ck_assert_uint_eq(plan->steps,
                              2 * (g - 1) + 2 * (h - 1) + (rest ? 2 : 0));
            if (rest == 0) {
                ck_assert_uint_eq(t.most.chunks, 2 * (p - 1));
                ck_assert_uint_eq(t.least.chunks, 2 * (p - 1));
                ck_assert_uint_eq(most_across(plan, g), 2 * (h - 1));
            }
            gw_plan_destroy(&plan);
        }
}
END_TEST

START_TEST(hierarchical_default_group)
{
    static const struct {
        unsigned ranks, steps;
    } cases[] = {
        {1, 0},        {2, 2}, /* prime: one ring */
        {7, 12},               /* prime */
        {12, 4 + 6},           /* 3 ranks in 4 racks */
        {16, 6 + 6},           /* 4 in 4 */
        {256, 30 + 30}         /* 16 in 16 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_plan *plan = plan_of("hierarchical", cases[i].ranks);
        ck_assert_uint_eq(plan->steps, cases[i].steps);
        check_plan(plan);
        gw_plan_destroy(&plan);
    }
    struct gw_algo_args more = {.ranks = 5, .group = 9};
    struct gw_plan *plan = algo_plan(find("hierarchical"), &more);
    ck_assert_uint_eq(plan->steps, 8);
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- the same bits on all ranks ---- */

/* Runs the plan in lock-step on one double per (rank, chunk); the sums of a
 * step follow the plan's order. */
static void play(const struct gw_plan *plan, double *now, double *before)
{
    size_t chunks = plan->chunks, bytes = plan->ranks * chunks * sizeof *now;
    for (unsigned step = 0; step < plan->steps; step++) {
        memcpy(before, now, bytes);
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            double in = before[t->src * chunks + t->chunk];
            double *out = &now[t->dst * chunks + t->chunk];
            *out = t->action == GW_ADD ? *out + in : in;
        }
    }
}

static void check_same_bits(const struct gw_algo *algo, unsigned p)
{
    struct gw_plan *plan = algo_plan(algo, &(struct gw_algo_args){.ranks = p});
    size_t count = (size_t)p * plan->chunks;
    double *now = malloc(count * sizeof *now);
    double *before = malloc(count * sizeof *before);
    ck_assert(now && before);
    struct gw_rng rng;
    gw_rng_seed(&rng, 7);
    for (size_t i = 0; i < count; i++)
        now[i] = gw_rng_unit(&rng);
    play(plan, now, before);
    for (unsigned r = 1; r < p; r++)
        ck_assert_msg(memcmp(now, now + r * plan->chunks,
                             plan->chunks * sizeof *now) == 0,
                      "%s p=%u seed=7: rank %u differs from rank 0", algo->name,
                      p, r);
    free(now);
    free(before);
    gw_plan_destroy(&plan);
}

/* Except one_shot, where each rank adds by itself and the executor fixes the
 * order. */
START_TEST(same_bits_everywhere)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        for (unsigned p = 2; p <= ALL_RANKS; p++)
            if (algos[i]->collective == GW_ALLREDUCE && algos[i]->valid(p) &&
                strcmp(algos[i]->name, "one_shot") != 0)
                check_same_bits(algos[i], p);
}
END_TEST

Suite *suite_algo_allreduce(void)
{
    Suite *suite = suite_create("algo_allreduce");
    TCase *tcase = tcase_create("algorithms");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, counts_and_verdict, 0,
                        sizeof specs / sizeof *specs);
    tcase_add_test(tcase, valid_ranks);
    tcase_add_test(tcase, described);
    tcase_add_test(tcase, reduce_broadcast_counts);
    tcase_add_test(tcase, recursive_doubling_counts);
    tcase_add_test(tcase, rabenseifner_counts);
    tcase_add_test(tcase, double_tree_counts);
    tcase_add_test(tcase, double_tree_is_complementary);
    tcase_add_test(tcase, too_many_segments_are_refused);
    tcase_add_test(tcase, swing_partners);
    tcase_add_test(tcase, swing_halves);
    tcase_add_test(tcase, hierarchical_counts);
    tcase_add_test(tcase, hierarchical_default_group);
    tcase_add_test(tcase, same_bits_everywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}
