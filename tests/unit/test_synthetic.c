/* SPDX-License-Identifier: MIT
 *
 * Synthetic work: it takes the requested time, of the clock or of a core.
 */
#include <gradwire/pipe.h>

#include <check.h>
#include <time.h>

enum { SECOND_NS = 1000000000 };

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* However late it wakes, it never takes less than requested, except to make up
 * for the lateness of the previous one. */
START_TEST(sleeping_takes_its_time)
{
    struct gw_synthetic synthetic = {
        .forward_us = 1000, .input_us = 700, .weight_us = 300};
    const struct gw_stage_work *w = gw_synthetic_work();
    uint64_t begin = gw_now_ns(), used = cpu_ns();
    for (unsigned i = 0; i < 10; i++) {
        ck_assert(!w->forward(&synthetic, 0, i, NULL, NULL, NULL));
        ck_assert(
            !w->backward(&synthetic, 0, i, GW_BACKWARD, NULL, NULL, NULL));
        ck_assert(!w->backward(&synthetic, 0, i, GW_BACKWARD_INPUT, NULL, NULL,
                               NULL));
        ck_assert(!w->backward(&synthetic, 0, i, GW_BACKWARD_WEIGHT, NULL, NULL,
                               NULL));
    }
    ck_assert_uint_ge(gw_now_ns() - begin, 30U * 1000000);
    ck_assert_uint_lt(cpu_ns() - used, 25U * 1000000); /* it sleeps */
    ck_assert_uint_eq(w->elements(&synthetic, 0, 0), 0);
}
END_TEST

START_TEST(spinning_uses_a_core)
{
    struct gw_synthetic synthetic = {
        .spin = true, .forward_us = 2000, .message_elements = 5};
    const struct gw_stage_work *w = gw_synthetic_work();
    ck_assert(!w->forward(&synthetic, 0, 0, NULL, NULL, NULL)); /* calibrates */
    uint64_t used = cpu_ns();
    for (unsigned i = 0; i < 5; i++)
        ck_assert(!w->forward(&synthetic, 0, i, NULL, NULL, NULL));
    ck_assert_uint_ge(cpu_ns() - used, 10U * 1000000);
    ck_assert_uint_lt(cpu_ns() - used, 100U * 1000000);
    ck_assert_uint_eq(w->elements(&synthetic, 0, 0), 5);
}
END_TEST

Suite *suite_synthetic(void);

Suite *suite_synthetic(void)
{
    Suite *suite = suite_create("synthetic");
    TCase *tcase = tcase_create("synthetic work");
    tcase_add_test(tcase, sleeping_takes_its_time);
    tcase_add_test(tcase, spinning_uses_a_core);
    suite_add_tcase(suite, tcase);
    return suite;
}
