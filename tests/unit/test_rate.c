/* SPDX-License-Identifier: MIT
 *
 * A rate follows a count that grows faster or slower within two windows.
 */
#include <check.h>
#include <run/rate.h>

#define MS UINT64_C(1000000)

/* `count` per millisecond every `step_ms`, for `ms`; returns the rate at the
 * end. */
static double advance(struct rate *rate, uint64_t *count, uint64_t *now_ns,
                      unsigned step_ms, unsigned ms)
{
    for (unsigned t = 0; t < ms; t += step_ms) {
        *now_ns += step_ms * MS;
        rate_record(rate, ++*count, *now_ns);
    }
    return rate_per_second(rate, *count, *now_ns);
}

START_TEST(follows)
{
    struct rate rate = {.at_ns = {0}};
    uint64_t count = 7, now_ns = 5 * MS;
    rate_record(&rate, count, now_ns);
    ck_assert_double_eq(rate_per_second(&rate, count, now_ns), 0);
    ck_assert_double_eq_tol(advance(&rate, &count, &now_ns, 10, 400), 100,
                            1e-9);
    ck_assert_double_eq_tol(advance(&rate, &count, &now_ns, 10, 3000), 100,
                            1e-9);
    ck_assert_double_eq_tol(advance(&rate, &count, &now_ns, 5, 1010), 200,
                            1e-9);
    /* Nothing any more. */
    ck_assert_double_lt(rate_per_second(&rate, count, now_ns + 10000 * MS), 20);
}
END_TEST

START_TEST(begins_again_with_another_process)
{
    struct rate rate = {.at_ns = {0}};
    uint64_t count = 0, now_ns = 1;
    advance(&rate, &count, &now_ns, 1, 2000);
    count = 0;
    rate_record(&rate, count, now_ns);
    ck_assert_double_eq(rate_per_second(&rate, count, now_ns), 0);
    ck_assert_double_eq_tol(advance(&rate, &count, &now_ns, 20, 400), 50, 1e-9);
}
END_TEST

Suite *suite_rate(void);
Suite *suite_rate(void)
{
    Suite *suite = suite_create("rate");
    TCase *tcase = tcase_create("rate");
    tcase_add_test(tcase, follows);
    tcase_add_test(tcase, begins_again_with_another_process);
    suite_add_tcase(suite, tcase);
    return suite;
}
