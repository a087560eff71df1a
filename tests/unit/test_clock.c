/* SPDX-License-Identifier: MIT
 *
 * The clock of a process whose rate changes: it never goes back or jumps, and
 * runs at the given rate; a wait for a time on this clock takes as long as the
 * clock does.
 */
#include <base/clock.h>

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

Suite *suite_clock(void);

static uint64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void nap_ms(unsigned ms)
{
    const struct timespec time = {.tv_nsec = (long)ms * 1000000};
    nanosleep(&time, NULL);
}

/* The two clocks are read in turn, so the bounds hold even if the thread is
 * preempted between the reads. */
static void runs_at(double rate)
{
    uint64_t real_before = real_ns(), before = gw_now_ns(),
             real_began = real_ns();
    nap_ms(30);
    uint64_t real_ends = real_ns(), after = gw_now_ns(), real_after = real_ns();
    double set_rate = (double)(after - before);
    ck_assert_double_ge(set_rate,
                        rate * (double)(real_ends - real_began) - 1000);
    ck_assert_double_le(set_rate,
                        rate * (double)(real_after - real_before) + 1000);
}

START_TEST(it_runs_at_the_given_rate)
{
    static const double rates[] = {1, 0.5, 2, 0.1, 10, 1};
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        if (i > 0)
            gw__clock_set_rate(rates[i]);
        runs_at(rates[i]);
    }
}
END_TEST

static _Atomic bool ends, fell;

static void *sample_clock(void *context)
{
    uint64_t last = 0;
    (void)context;
    while (!atomic_load(&ends)) {
        uint64_t now = gw_now_ns();
        if (now < last)
            atomic_store(&fell, true);
        last = now;
    }
    return NULL;
}

START_TEST(it_never_falls)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, sample_clock, NULL), 0);
    for (unsigned i = 0; i < 200; i++)
        gw__clock_set_rate(i % 2 ? 0.1 : 10);
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    ck_assert(!atomic_load(&fell));
}
END_TEST

START_TEST(a_wait_is_as_long_as_the_clock_needs)
{
    struct timespec at = gw__clock_until(12345678901ULL);
    ck_assert_int_eq(at.tv_sec, 12); /* unchanged while the rate is 1 */
    ck_assert_int_eq(at.tv_nsec, 345678901);
    gw__clock_set_rate(0.5);
    uint64_t real = real_ns();
    at = gw__clock_until(gw_now_ns() + 1000000000);
    double wait_s =
        (double)at.tv_sec + (double)at.tv_nsec / 1e9 - (double)real / 1e9;
    ck_assert_double_ge(wait_s, 2 - 1e-3);
    ck_assert_double_le(wait_s, 2 + (double)(real_ns() - real) / 1e9 + 1e-3);
}
END_TEST

Suite *suite_clock(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_test(tcase, it_runs_at_the_given_rate);
    tcase_add_test(tcase, it_never_falls);
    tcase_add_test(tcase, a_wait_is_as_long_as_the_clock_needs);
    suite_add_tcase(suite, tcase);
    return suite;
}
