/* SPDX-License-Identifier: MIT
 *
 * Quantiles by nearest rank: always a sample, exact at the edges.
 */
#include "common/stats.h"

#include <check.h>
#include <math.h>

Suite *suite_stats(void);

START_TEST(sorting)
{
    double samples[] = {3, 1, 2, 2, -5};
    const double sorted[] = {-5, 1, 2, 2, 3};
    stats_sort(samples, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq(samples[i], sorted[i]);
    stats_sort(samples, 0);
}
END_TEST

START_TEST(median_is_a_sample)
{
    const double odd[] = {1, 2, 30}, even[] = {1, 2, 30, 40};
    ck_assert_double_eq(stats_quantile(odd, 3, 0.5), 2);
    ck_assert_double_eq(stats_quantile(even, 4, 0.5), 2);
    ck_assert_double_eq(stats_quantile(odd, 1, 0.5), 1);
}
END_TEST

/* Of 1..n, the 99th percentile is ceil(0.99 n). */
START_TEST(p99_by_formula)
{
    double samples[1000];
    for (int n = 1; n <= 1000; n++) {
        samples[n - 1] = n;
        ck_assert_double_eq(stats_quantile(samples, (size_t)n, 0.99),
                            ceil(0.99 * n));
    }
}
END_TEST

START_TEST(edges)
{
    const double samples[] = {1, 2, 3};
    ck_assert_double_eq(stats_quantile(samples, 3, 0), 1);
    ck_assert_double_eq(stats_quantile(samples, 3, 1), 3);
    ck_assert(isnan(stats_quantile(samples, 0, 0.5)));
}
END_TEST

Suite *suite_stats(void)
{
    Suite *suite = suite_create("stats");
    TCase *quantiles = tcase_create("quantiles");
    tcase_add_test(quantiles, sorting);
    tcase_add_test(quantiles, median_is_a_sample);
    tcase_add_test(quantiles, p99_by_formula);
    tcase_add_test(quantiles, edges);
    suite_add_tcase(suite, quantiles);
    return suite;
}
