/* SPDX-License-Identifier: MIT
 *
 * The cost features of a call, by textbook numbers; coefficients fitted to
 * measured times; and the coefficients used for other numbers of ranks.
 */
#include "coll/cost/cost_model.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_cost_model(void);

static struct gw_error why;
static char path[64];

static void begin(void)
{
    snprintf(path, sizeof path, "/tmp/gw-test-bill-%d.json", (int)getpid());
    setenv("GRADWIRE_CALIBRATION", path, 1);
}

static void end(void)
{
    unlink(path);
}

static struct gw__cost_features work_of(enum gw_collective collective,
                                        const char *name, unsigned ranks,
                                        size_t count, bool shm)
{
    struct gw_plan *plan;
    struct gw__cost_features work;
    struct gw_algo_args args = {.ranks = ranks};
    struct gw__setting setting = {.windows = shm, .shared = shm, .cores = 2};
    const struct gw_algo *algo = gw_algo_find(collective, name);
    ck_assert_int_eq(gw_plan_make(collective, name, &args, &plan, &why), GW_OK);
    ck_assert(
        gw__cost_features_of(plan, algo->direct, count, 4, &setting, &work));
    gw_plan_destroy(&plan);
    return work;
}

/* Calls in a loop: a call in which no rank waits for another has no turns. */
START_TEST(turns_are_what_a_loop_waits_for)
{
    for (unsigned p = 2; p <= 9; p++) {
        struct gw__cost_features ring =
            work_of(GW_ALLREDUCE, "ring", p, 64 * p, false);
        ck_assert_double_eq(ring.turns, 2 * (p - 1));
        ck_assert_double_eq(ring.messages, 2 * (p - 1) * p);
        ck_assert(ring.waits);
        struct gw__cost_features tree =
            work_of(GW_BROADCAST, "binomial", p, 64, false);
        ck_assert_double_eq(tree.turns, 0);
        ck_assert(!tree.waits);
        ck_assert_double_eq(work_of(GW_GATHER, "linear", p, 9, false).turns, 0);
        ck_assert_double_eq(
            work_of(GW_ALLREDUCE, "one_shot", p, 64, false).turns, 1);
    }
    /* A lent value makes its sender wait; one inside the message does not. */
    ck_assert_double_ge(work_of(GW_BROADCAST, "binomial", 4, 4096, true).turns,
                        1);
    ck_assert_double_eq(work_of(GW_BROADCAST, "binomial", 4, 8, true).turns, 0);
}
END_TEST

/* n floats per rank: each of the two loads two and stores one. */
START_TEST(memory_is_counted)
{
    struct gw__cost_features work =
        work_of(GW_ALLREDUCE, "one_shot", 2, 1000, true);
    ck_assert(work.passes);
    ck_assert_double_eq(work.moved_bytes, 3 * 4000);
    ck_assert_double_eq(work.set_bytes, 4 * 4000);
    ck_assert(work.eager);
    work = work_of(GW_ALLREDUCE, "one_shot", 2, 1 << 20, true);
    ck_assert(!work.eager);
    ck_assert_double_eq(work_of(GW_BARRIER, "direct", 4, 0, true).moved_bytes,
                        0);
}
END_TEST

/* n bytes of a root, in passes: it copies its own while the other rank loads;
 * with an engine it copies first. */
START_TEST(memory_of_a_root_is_counted)
{
    const double n = 4 << 20;
    struct gw__cost_features work =
        work_of(GW_BROADCAST, "direct", 2, 1 << 20, true);
    ck_assert(work.passes);
    ck_assert_double_eq(work.moved_bytes, 2 * n);
    work = work_of(GW_SCATTER, "linear", 2, 1 << 20, true);
    ck_assert_double_eq(work.moved_bytes, 2 * n);
    work = work_of(GW_BROADCAST, "binomial", 2, 1 << 20, true);
    ck_assert(!work.passes);
    ck_assert_double_eq(work.moved_bytes, 4 * n);
    /* All ranks push: each loads its input once and stores it at both. */
    work = work_of(GW_ALLGATHER, "direct", 2, 1 << 20, true);
    ck_assert_double_eq(work.moved_bytes, 3 * n);
}
END_TEST

/* Samples generated from known coefficients, one of ten disturbed: the fit
 * predicts the others. */
START_TEST(prices_are_found_in_spite_of_outliers)
{
    enum { SAMPLES = 120 };
    static struct gw__sample samples[SAMPLES];
    double known[GW_COEFFICIENTS_MAX] = {3, 0.5, 0, 0.02},
           found[GW_COEFFICIENTS_MAX];
    uint64_t state = 7;
    for (unsigned k = 0; k < SAMPLES; k++) {
        for (unsigned i = 0; i < 4; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            samples[k].features[i] = i == 0 ? 1 : (double)(state >> 58) * i;
        }
        samples[k].us = gw__cost_us(samples[k].features, known);
        if (k % 10 == 0)
            samples[k].us *= 4;
    }
    ck_assert(gw__fit(samples, SAMPLES, found));
    for (unsigned k = 0; k < SAMPLES; k++) {
        double us = gw__cost_us(samples[k].features, known);
        ck_assert_double_eq_tol(gw__cost_us(samples[k].features, found) / us, 1,
                                0.05);
    }
    for (unsigned i = 0; i < GW_COEFFICIENTS_MAX; i++)
        ck_assert_double_ge(found[i], 0);
}
END_TEST

/* Coefficients of 2 and 8 ranks: those of 4 are half way, and 16 or more ranks
 * use those of 8. */
START_TEST(other_numbers_of_ranks_lie_between)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs_among("tcp", 4, &costs, &measured);
    ck_assert(!measured);
    memset(costs.coefficients, 0, sizeof costs.coefficients);
    costs.fitted_ranks = 2;
    costs.coefficients[0] = 1;
    ck_assert_int_eq(gw_costs_store("tcp", &costs, &why), GW_OK);
    costs.fitted_ranks = 8;
    costs.coefficients[0] = 3;
    ck_assert_int_eq(gw_costs_store("tcp", &costs, &why), GW_OK);
    const struct {
        unsigned ranks;
        double figure;
    } expected[] = {{2, 1}, {4, 2}, {8, 3}, {16, 3}, {1000, 3}};
    for (unsigned i = 0; i < 5; i++) {
        gw_costs_among("tcp", expected[i].ranks, &costs, &measured);
        ck_assert(measured && costs.fitted_ranks > 0);
        ck_assert_double_eq_tol(costs.coefficients[0], expected[i].figure,
                                1e-9);
    }
    gw_costs("tcp", &costs, &measured);
    ck_assert_uint_eq(costs.fitted_ranks, 0);
    gw_costs_among("ipc", 4, &costs, &measured);
    ck_assert(!measured);
    ck_assert_uint_eq(costs.fitted_ranks, 4);
}
END_TEST

/* A file of an older calibration has no coefficients, and gets no defaults. */
START_TEST(an_old_file_has_no_prices)
{
    struct gw_wire_costs costs;
    bool measured;
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("{\"wires\":{\"ipc\":{\"alpha_us\":17}}}", file);
    fclose(file);
    gw_costs_among("ipc", 4, &costs, &measured);
    ck_assert(measured);
    ck_assert_uint_eq(costs.fitted_ranks, 0);
    ck_assert_double_eq(costs.model.alpha_us, 17);
    gw_costs_among("tcp", 4, &costs, &measured);
    ck_assert(!measured && costs.fitted_ranks == 4);
}
END_TEST

START_TEST(old_names_of_coefficients_are_read)
{
    struct gw_wire_costs costs;
    bool measured;
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("{\"wires\":{\"shm\":{\"ranks\":{\"4\":{\"lend_us\":1.5,"
          "\"meet_us\":2.5,\"look_us\":3.5}}}}}",
          file);
    fclose(file);
    gw_costs_among("shm", 4, &costs, &measured);
    double sum = 0;
    for (unsigned i = 0; gw_coefficient_name(i, NULL); i++)
        sum += costs.coefficients[i];
    ck_assert_uint_eq(costs.fitted_ranks, 4);
    ck_assert_double_eq(sum, 7.5);
}
END_TEST

/* The lines of a cost breakdown add up to the cost that the choice used. */
START_TEST(a_cost_breakdown_adds_up)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs_among("ipc", 4, &costs, &measured);
    costs.fitted_ranks = 4;
    for (unsigned i = 0; gw_coefficient_name(i, NULL); i++)
        costs.coefficients[i] = 0.001 * (i + 1);
    ck_assert_int_eq(gw_costs_store("ipc", &costs, &why), GW_OK);
    struct gw_candidate list[32];
    struct gw_cost_line lines[GW_COEFFICIENTS_MAX];
    size_t n = gw_choose("ipc", GW_ALLREDUCE, 4, 3000, 4, list, 32);
    ck_assert_uint_gt(n, 5);
    for (size_t i = 0; i < n; i++) {
        double us = 0;
        size_t count =
            gw_cost_breakdown("ipc", list[i].algo, 4, 3000, 4, lines);
        ck_assert_uint_gt(count, 0);
        for (size_t k = 0; k < count; k++)
            us += lines[k].us;
        ck_assert_double_eq_tol(us / list[i].predicted_us, 1, 1e-9);
    }
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("{\"wires\":{\"ipc\":{}}}", file);
    fclose(file);
    ck_assert_uint_eq(gw_cost_breakdown("ipc", list[0].algo, 4, 3000, 4, lines),
                      0);
}
END_TEST

/* The chosen algorithm of an all-to-all of `bytes` among 4 ranks, and whether
 * another one was predicted to take less time. */
static const struct gw_algo *choose(const char *wire, size_t bytes,
                                    bool *against_prediction)
{
    struct gw_candidate list[32];
    size_t n = gw_choose(wire, GW_ALLTOALL, 4, bytes / 16, 4, list, 32);
    ck_assert_uint_gt(n, 1);
    *against_prediction = false;
    for (size_t i = 1; i < n; i++)
        if (!list[i].algo->baseline &&
            list[i].predicted_us < list[0].predicted_us) {
            *against_prediction = true;
            ck_assert_double_le(list[0].predicted_us,
                                1.15 * list[i].predicted_us);
        }
    return list[0].algo;
}

/* With the built-in costs, pairwise is predicted to take 46.8 us for 1 MiB, and
 * linear, one pass, 49.8 us. */
START_TEST(a_nearly_equal_pass_is_chosen)
{
    bool against;
    unlink(path);
    const struct gw_algo *algo = choose("shm", 1 << 20, &against);
    ck_assert_str_eq(algo->name, "linear");
    ck_assert(algo->direct && against);
    for (size_t bytes = 64; bytes <= 64 << 20; bytes *= 2) {
        algo = choose("shm", bytes, &against);
        ck_assert(algo->direct || !against);
        (void)choose("ipc", bytes, &against);
        ck_assert(!against);
    }
}
END_TEST

Suite *suite_cost_model(void)
{
    Suite *suite = suite_create("cost_model");
    TCase *cases = tcase_create("cost_breakdown");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, turns_are_what_a_loop_waits_for);
    tcase_add_test(cases, memory_is_counted);
    tcase_add_test(cases, memory_of_a_root_is_counted);
    tcase_add_test(cases, prices_are_found_in_spite_of_outliers);
    tcase_add_test(cases, other_numbers_of_ranks_lie_between);
    tcase_add_test(cases, an_old_file_has_no_prices);
    tcase_add_test(cases, old_names_of_coefficients_are_read);
    tcase_add_test(cases, a_cost_breakdown_adds_up);
    tcase_add_test(cases, a_nearly_equal_pass_is_chosen);
    suite_add_tcase(suite, cases);
    return suite;
}
