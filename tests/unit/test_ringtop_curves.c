/* SPDX-License-Identifier: MIT
 *
 * The curves of the live view, in a bounded number of points: bytes sent and
 * losses.
 */
#include "ringtop/state/losses.h"
#include "ringtop/state/rates.h"

#include <check.h>

Suite *suite_ringtop_curves(void);

static struct rates rates;
static struct losses losses;

static void setup(void)
{
    rates = (struct rates){0};
    losses = (struct losses){0};
}

/* ---- rates ---- */

static uint64_t bytes_in_buckets(unsigned rank)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < RATE_BUCKETS; i++)
        bytes += rates.bytes[rank][i];
    return bytes;
}

START_TEST(buckets_widen_and_lose_nothing)
{
    for (uint64_t i = 0; i < 10000; i++)
        rates_add(&rates, 3, 5000 + i * 100000, 10); /* a second in all */
    ck_assert_uint_eq(bytes_in_buckets(3), 100000);
    ck_assert_uint_eq(rates.width_ns, 1000 << 16);
    double rate = rates_total(&rates, 5000 + 1000000000);
    ck_assert_double_eq_tol(rate, 100000, 1);
}
END_TEST

START_TEST(what_came_between_is_spread)
{
    rates_time(&rates, 0);
    rates_time(&rates, 16 * 1000000000ULL - 1);
    uint64_t width = rates.width_ns, sum = 0;
    rates_spread(&rates, 1, 2 * width, 6 * width, 103);
    for (unsigned i = 2; i <= 6; i++) {
        ck_assert_uint_ge(rates.bytes[1][i], 20);
        ck_assert_uint_le(rates.bytes[1][i], 21);
        sum += rates.bytes[1][i];
    }
    ck_assert_uint_eq(sum, 103);
    ck_assert_uint_eq(bytes_in_buckets(1), 103);
    rates_spread(&rates, 1, 7 * width, 6 * width, 50); /* backwards: ignored */
    ck_assert_uint_eq(bytes_in_buckets(1), 103);
    /* Bytes from before the window count in its first bucket. */
    rates_spread(&rates, 2, 0, 1000 * width, 32);
    ck_assert_uint_eq(bytes_in_buckets(2), 32);
    double rate = rates_of(&rates, 2, 1000 * width);
    double window = (double)(1000 * width - rates.start_ns) * 1e-9;
    ck_assert_double_eq_tol(rate, 32 / window, 1e-6);
}
END_TEST

START_TEST(the_window_slides_at_last)
{
    for (uint64_t s = 0; s < 100; s++)
        rates_add(&rates, 0, s * 1000000000, 7);
    ck_assert_uint_ge(rates.width_ns, 1000000000);
    ck_assert_uint_lt(bytes_in_buckets(0), 7 * 2 * RATE_BUCKETS);
    ck_assert_uint_gt(bytes_in_buckets(0), 7 * RATE_BUCKETS / 2);
    rates_time(&rates, UINT64_MAX / 2);
    ck_assert_uint_eq(bytes_in_buckets(0), 0);
}
END_TEST

/* ---- losses ---- */

START_TEST(losses_are_averaged_when_there_are_many)
{
    for (uint64_t step = 0; step < 4 * LOSS_POINTS; step++)
        losses_add(&losses, step, (double)(step % 4));
    ck_assert_uint_eq(losses.stride, 4);
    ck_assert_uint_eq(losses_used(&losses), LOSS_POINTS);
    for (unsigned i = 0; i < LOSS_POINTS; i++)
        ck_assert_double_eq(losses.sum[i] / losses.count[i], 1.5);
}
END_TEST

START_TEST(another_training_is_another_curve)
{
    losses_add(&losses, 100, 1);
    losses_add(&losses, 99, 1); /* a late rank */
    ck_assert_uint_eq(losses.last_step, 100);
    losses_add(&losses, 1, 2);
    ck_assert_uint_eq(losses.last_step, 1);
    ck_assert_uint_eq(losses_used(&losses), 1);
}
END_TEST

Suite *suite_ringtop_curves(void)
{
    Suite *suite = suite_create("ringtop_curves");
    TCase *tcase = tcase_create("ringtop curves");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, buckets_widen_and_lose_nothing);
    tcase_add_test(tcase, what_came_between_is_spread);
    tcase_add_test(tcase, the_window_slides_at_last);
    tcase_add_test(tcase, losses_are_averaged_when_there_are_many);
    tcase_add_test(tcase, another_training_is_another_curve);
    suite_add_tcase(suite, tcase);
    return suite;
}
