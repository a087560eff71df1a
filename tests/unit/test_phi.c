/* SPDX-License-Identifier: MIT
 *
 * Phi-accrual: the formula, its tail beyond the range of doubles, and which
 * intervals it learns from.
 */
#include <cluster/detector/phi.h>

#include <check.h>
#include <math.h>

Suite *suite_phi(void);

static const uint64_t MS = 1000000;
static const struct gw__phi_config threshold = {20000000, 5000000, 100000000};

static double milli(uint64_t ms, const struct gw__phi *phi)
{
    return gw__phi_now(phi, ms * MS);
}

/* P(Z > z) from tables and, far out, from 50-digit arithmetic. */
START_TEST(the_tail_is_that_of_the_normal_distribution)
{
    static const struct {
        double z, phi;
    } known[] = {{0, 0.30102999566},   {1.2815515655446, 1},
                 {2.3263478740408, 2}, {5.6120012441748, 8},
                 {10, 23.1180534055},  {37.5, 307.336737075},
                 {40, 349.437006459}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_double_eq_tol(gw__phi_tail(known[i].z), known[i].phi, 1e-7);
    ck_assert_double_lt(gw__phi_tail(-9), 1e-12);
    ck_assert(isfinite(gw__phi_tail(1e6)));
}
END_TEST

START_TEST(the_tail_grows_and_has_no_step)
{
    double before = gw__phi_tail(-3);
    for (int thousandth = -3000; thousandth < 60000; thousandth++) {
        double z = thousandth / 1000.0, phi = gw__phi_tail(z);
        ck_assert_msg(phi >= before, "falls at z = %f", z);
        ck_assert_msg(phi - before < 0.06, "jumps at z = %f", z);
        before = phi;
    }
}
END_TEST

START_TEST(a_silence_is_measured_by_mean_and_deviation)
{
    struct gw__phi phi;
    uint64_t now = 1000 * MS;
    gw__phi_begin(&phi, &threshold, now);
    for (unsigned i = 0; i < 2 * GW__PHI_WINDOW; i++) {
        now += (i % 2 ? 50 : 30) * MS; /* mean 40, deviation 10 */
        gw__phi_beat(&phi, now);
    }
    /* The expected 20 ms count as one of 65. */
    double n = GW__PHI_WINDOW + 1, mean = (40.0 * GW__PHI_WINDOW + 20) / n;
    double away =
        sqrt((100.0 * GW__PHI_WINDOW + 400) / n - (mean - 40) * (mean - 40));
    double z = (250 - mean - 100) / away;
    ck_assert_double_eq_tol(gw__phi_now(&phi, now + 250 * MS), gw__phi_tail(z),
                            1e-6);
    ck_assert_double_lt(gw__phi_now(&phi, now + 100 * MS), 1e-4);
}
END_TEST

/* Far longer than the threshold: a stop that the member survived. */
START_TEST(a_long_interval_raises_the_threshold_and_a_stop_does_not)
{
    struct gw__phi phi;
    uint64_t now = 1000 * MS;
    gw__phi_begin(&phi, &threshold, now);
    for (unsigned i = 0; i < 10; i++)
        gw__phi_beat(&phi, now += 20 * MS);
    ck_assert_double_gt(gw__phi_now(&phi, now + 200 * MS), 8);
    gw__phi_beat(&phi, now += 5000 * MS);
    ck_assert_double_gt(gw__phi_now(&phi, now + 200 * MS), 8);
    gw__phi_beat(&phi, now += 150 * MS);
    ck_assert_double_lt(gw__phi_now(&phi, now + 300 * MS), 8);
    ck_assert_double_gt(gw__phi_now(&phi, now + 500 * MS), 8);
}
END_TEST

START_TEST(clockwork_teaches_no_impatience)
{
    struct gw__phi phi;
    gw__phi_begin(&phi, &threshold, 0);
    for (uint64_t i = 1; i <= 500; i++)
        gw__phi_beat(&phi, 20 * MS * i);
    /* Deviation 0, but the floor is 5 ms: phi 8 comes 5.6 of them later. */
    ck_assert_double_lt(milli(10000 + 120 + 27, &phi), 8);
    ck_assert_double_gt(milli(10000 + 120 + 29, &phi), 8);
}
END_TEST

START_TEST(data_ends_a_silence_and_teaches_nothing)
{
    struct gw__phi phi;
    gw__phi_begin(&phi, &threshold, 0);
    for (uint64_t i = 1; i <= 100; i++) {
        gw__phi_beat(&phi, 20 * MS * i);
        for (uint64_t j = 1; j < 19; j++)
            gw__phi_alive(&phi, 20 * MS * i + j * MS);
    }
    ck_assert_uint_eq(gw__phi_silence(&phi, 2020 * MS), 2 * MS);
    for (unsigned i = 0; i < GW__PHI_WINDOW; i++)
        ck_assert_uint_eq(phi.intervals[i], 20 * MS);
}
END_TEST

START_TEST(intervals_come_in_their_order_with_the_newest_last)
{
    struct gw__phi phi;
    uint64_t intervals[GW__PHI_WINDOW], now = 1;
    gw__phi_begin(&phi, &threshold, 0);
    gw__phi_beat(&phi, now);
    ck_assert_uint_eq(gw__phi_intervals(&phi, intervals), 0);
    for (unsigned i = 1; i <= GW__PHI_WINDOW + 10; i++) {
        unsigned kept = i < GW__PHI_WINDOW ? i : GW__PHI_WINDOW;
        now += i * MS;
        gw__phi_beat(&phi, now);
        ck_assert_uint_eq(gw__phi_intervals(&phi, intervals), kept);
        ck_assert_uint_eq(intervals[kept - 1], i * MS);
        ck_assert_uint_eq(intervals[0], (i - kept + 1) * MS);
    }
}
END_TEST

START_TEST(sleep_of_the_observer_is_no_silence_of_a_peer)
{
    struct gw__phi phi;
    gw__phi_begin(&phi, &threshold, 0);
    gw__phi_beat(&phi, 20 * MS);
    gw__phi_shift(&phi, 300 * MS, 340 * MS);
    ck_assert_uint_eq(gw__phi_silence(&phi, 340 * MS), 20 * MS);
    gw__phi_beat(&phi, 341 * MS);
    ck_assert_uint_eq(phi.intervals[0], 21 * MS);
    gw__phi_shift(&phi, 900 * MS, 350 * MS); /* never into the future */
    ck_assert_uint_eq(gw__phi_silence(&phi, 350 * MS), 0);
    gw__phi_begin(&phi, &threshold, 400 * MS); /* a grace: begins later */
    gw__phi_shift(&phi, 50 * MS, 350 * MS);
    ck_assert_uint_eq(gw__phi_silence(&phi, 410 * MS), 10 * MS);
}
END_TEST

Suite *suite_phi(void)
{
    Suite *suite = suite_create("phi");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_tail_is_that_of_the_normal_distribution);
    tcase_add_test(t, the_tail_grows_and_has_no_step);
    tcase_add_test(t, a_silence_is_measured_by_mean_and_deviation);
    tcase_add_test(t, a_long_interval_raises_the_threshold_and_a_stop_does_not);
    tcase_add_test(t, clockwork_teaches_no_impatience);
    tcase_add_test(t, data_ends_a_silence_and_teaches_nothing);
    tcase_add_test(t, intervals_come_in_their_order_with_the_newest_last);
    tcase_add_test(t, sleep_of_the_observer_is_no_silence_of_a_peer);
    suite_add_tcase(suite, t);
    return suite;
}
