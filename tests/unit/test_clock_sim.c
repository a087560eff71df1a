/* SPDX-License-Identifier: MIT
 *
 * The clock in virtual time against closed forms: order statistics for rounds
 * (David, Nagaraja, Order Statistics, 2003), the staleness of workers that do
 * not wait, the bound of SSP (Ho et al. 2013), dropped gradients (Chen et al.
 * 2016). Policies and learning: test_straggler.c.
 */
#include "play.h"

#include <check.h>
#include <stdlib.h>

Suite *suite_clock_sim(void);

static struct gw_error why;

static double harmonic(unsigned n)
{
    return n ? 1.0 / n + harmonic(n - 1) : 0;
}

/* ---- rounds ---- */

/* The time of a round in which all begin together. */
static double round_of(unsigned n, unsigned k, const char *law)
{
    char mode[16];
    snprintf(mode, sizeof mode, "kofn:%u", k);
    struct gw__clock_sim r = play_how(n, mode, 8000);
    r.give_up = true;
    play_times(n, law, NULL);
    play_run(&r, 7);
    ck_assert_uint_eq(play_result.items, k * r.rounds);
    ck_assert_uint_eq(play_result.dropped, (n - k) * r.rounds);
    ck_assert_uint_eq(play_result.updates, r.rounds);
    ck_assert_uint_eq(play_result.stale_max, 0);
    return play_round_s(&r);
}

/* The K-th of n exponential times of mean 1 is H_n - H_(n-K) (David, Nagaraja,
 * 4.6.1): with 16 needed, 3.38 of 16, 2.44 of 17, 2.00 of 18. */
START_TEST(exponential_rounds)
{
    static const struct {
        unsigned n, k;
    } cases[] = {{16, 16}, {17, 16}, {18, 16}, {20, 16}, {4, 1}, {1, 1}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        play_expect_close(round_of(cases[i].n, cases[i].k, "exp:1s"),
                          harmonic(cases[i].n) -
                              harmonic(cases[i].n - cases[i].k),
                          0.03, "exp");
    play_expect_close(harmonic(16), 3.38, 0.001, "H16");
    play_expect_close(harmonic(17) - 1, 2.44, 0.001, "H17 - H1");
    play_expect_close(harmonic(18) - 1.5, 2.00, 0.003, "H18 - H2");
}
END_TEST

/* Uniform: K/(n+1) of the way (David, Nagaraja, 2.2). Pareto: n!/(n-K)!
 * gamma(n-K+1-1/b) / gamma(n+1-1/b) (Malik 1966). */
START_TEST(other_rounds)
{
    play_expect_close(round_of(9, 9, "uniform:1s,2s"), 1.9, 0.01,
                      "uniform, 9 of 9");
    play_expect_close(round_of(9, 5, "uniform:1s,2s"), 1.5, 0.01,
                      "uniform, 5 of 9");
    play_expect_close(round_of(8, 3, "fixed:250ms"), 0.25, 1e-9, "fixed");
    double b = 4, n = 12, k = 9;
    double pareto = exp(lgamma(n + 1) - lgamma(n - k + 1) +
                        lgamma(n - k + 1 - 1 / b) - lgamma(n + 1 - 1 / b));
    play_expect_close(round_of(12, 9, "pareto:1s,4"), pareto, 0.03,
                      "pareto, 9 of 12");
    /* The larger of two normal ones: mean + deviation / sqrt(pi). */
    play_expect_close(round_of(2, 2, "normal:1s,100ms"), 1 + 0.1 / sqrt(M_PI),
                      0.01, "normal");
}
END_TEST

/* Two workers, K = 1, and the late one finishes in vain. Exponential times are
 * memoryless, so the first to end, after 1/2, is equally often the worker of
 * this round, which closes it, or the late one, which then begins: 1/2 + 1/2
 * 1/2. */
START_TEST(who_is_late_finishes)
{
    struct gw__clock_sim r = play_how(2, "kofn:1", 20000);
    play_times(2, "exp:1s", NULL);
    play_run(&r, 3);
    play_expect_close(play_round_s(&r), 0.75, 0.03, "1 of 2, finished");
    play_expect_close(round_of(2, 1, "exp:1s"), 0.5, 0.03, "1 of 2, given up");
}
END_TEST

START_TEST(bsp_waits_for_the_slowest)
{
    struct gw__clock_sim r = play_how(4, "bsp", 100);
    r.pull_ns = 100000000;
    r.push_ns = 200000000;
    play_times(4, "fixed:1s", "3:4");
    play_run(&r, 1);
    play_expect_close(play_round_s(&r), 4.3, 1e-9, "pull + 4 + push");
    ck_assert_uint_eq(play_result.items, 400);
    ck_assert_uint_eq(play_result.stale_max + play_result.ahead_max, 0);
    for (unsigned i = 0; i < 4; i++)
        play_expect_close((double)play_result.workers[i].waited_ns / 1e9,
                          i < 3 ? 99 * 3 : 1e-99, i < 3 ? 0.02 : 1, "waited");
}
END_TEST

/* Slow for a while only. */
START_TEST(slow_for_a_while)
{
    struct gw__clock_sim r = play_how(4, "bsp", 100);
    play_times(4, "fixed:1s", "0-1:3@10s-40s");
    play_run(&r, 1);
    play_expect_close((double)play_result.ended_ns / 1e9, 10 + 10 * 3 + 80,
                      1e-9, "phases");
}
END_TEST

/* ---- without rounds ---- */

/* Between two items of worker i come N - N_i updates of others for its N_i own:
 * weighted by N_i / N that is n - 1, for any speeds. */
START_TEST(asp_sees_n_minus_1_less)
{
    static const char *const slows[] = {NULL, "0:3", "0-3:7,5:2"};
    for (unsigned i = 0; i < 3; i++) {
        struct gw__clock_sim r = play_how(16, "asp", 2000);
        play_times(16, "exp:1s", slows[i]);
        play_run(&r, 5);
        play_expect_close((double)play_result.stale_sum /
                              (double)play_result.items,
                          15, 0.01, "staleness");
        ck_assert_uint_eq(play_result.dropped, 0);
        ck_assert_uint_eq(play_result.updates, play_result.items);
        for (unsigned w = 0; w < 16; w++)
            ck_assert_uint_eq(play_result.workers[w].waited_ns, 0);
    }
}
END_TEST

/* Each at its own pace: (n - 1 + 1/s) items in a second. */
START_TEST(asp_adds_up_paces)
{
    struct gw__clock_sim r = play_how(4, "asp", 1000);
    play_times(4, "fixed:1s", "0:4");
    play_run(&r, 1);
    play_expect_close((double)play_result.items /
                          ((double)play_result.ended_ns / 1e9),
                      3.25, 0.01, "items a second");
}
END_TEST

START_TEST(ssp_keeps_its_bound)
{
    for (unsigned bound = 0; bound <= 8; bound++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            char mode[16];
            snprintf(mode, sizeof mode, "ssp:%u", bound);
            struct gw__clock_sim r = play_how(8, mode, 300);
            play_times(8, "pareto:500ms,2", "2:3");
            play_run(&r, seed);
            ck_assert_uint_eq(play_result.ahead_max, bound);
            ck_assert_uint_le(play_result.gap_max, bound + 1);
        }
}
END_TEST

/* A constant straggler sets the pace of ssp, for any bound. */
START_TEST(ssp_goes_with_the_slowest)
{
    struct gw__clock_sim r = play_how(4, "ssp:3", 3000);
    play_times(4, "fixed:1s", "1:4");
    play_run(&r, 1);
    play_expect_close(play_round_s(&r), 4, 0.01, "ssp");
}
END_TEST

/* ---- words ---- */

START_TEST(words_are_checked)
{
    static const char *const bad_laws[] = {
        "",          "exp",         "exp:",          "exp:1s,2s",
        "gauss:1s",  "normal:1s",   "uniform:2s,1s", "pareto:1s,1",
        "fixed:0ms", "pareto:1s,x", "exp:x"};
    static const char *const bad_slows[] = {
        "x",      "0",         "0:",   "0:0",  "4:2",  "2-1:",         "1-4:2",
        "0:2@1s", "0:2@2s-1s", "0:-1", "0:2x", "-1:2", "0:2@1s-2s-3s", "0:nan"};
    struct sim_time time;
    for (unsigned i = 0; i < sizeof bad_laws / sizeof *bad_laws; i++)
        ck_assert_msg(sim_time_parse(bad_laws[i], &time, &why) == GW_EINVAL,
                      "%s", bad_laws[i]);
    for (unsigned i = 0; i < sizeof bad_slows / sizeof *bad_slows; i++)
        ck_assert_msg(sim_slow_parse(bad_slows[i], 4, &play_drawn, &why) ==
                          GW_EINVAL,
                      "%s", bad_slows[i]);
    ck_assert_int_eq(sim_slow_parse("0:2,1-3:1.5@0s-2s", 4, &play_drawn, &why),
                     GW_OK);
    ck_assert_uint_eq(play_drawn.slow_count, 2);
}
END_TEST

Suite *suite_clock_sim(void)
{
    Suite *suite = suite_create("clock_sim");
    TCase *rounds = tcase_create("rounds");
    tcase_add_test(rounds, exponential_rounds);
    tcase_add_test(rounds, other_rounds);
    tcase_add_test(rounds, who_is_late_finishes);
    tcase_add_test(rounds, bsp_waits_for_the_slowest);
    tcase_add_test(rounds, slow_for_a_while);
    tcase_add_test(rounds, asp_sees_n_minus_1_less);
    tcase_add_test(rounds, asp_adds_up_paces);
    tcase_add_test(rounds, ssp_keeps_its_bound);
    tcase_add_test(rounds, ssp_goes_with_the_slowest);
    tcase_add_test(rounds, words_are_checked);
    suite_add_tcase(suite, rounds);
    return suite;
}
