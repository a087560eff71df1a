/* SPDX-License-Identifier: MIT
 *
 * Yielding on a core that another process wants, too.
 */
#include "wire/crowd.h"

#include <check.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_crowd(void);

/* This process and its children run on one core. */
static void stay_on_one_core(void)
{
    cpu_set_t cores;
    size_t first = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof cores, &cores), 0);
    while (!CPU_ISSET(first, &cores))
        first++;
    CPU_ZERO(&cores);
    CPU_SET(first, &cores);
    ck_assert_int_eq(sched_setaffinity(0, sizeof cores, &cores), 0);
}

START_TEST(a_core_that_others_want_is_crowded_for_a_while)
{
    struct gw__crowd crowd = {0};
    stay_on_one_core();
    pid_t busy = fork();
    if (busy == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    ck_assert_int_gt(busy, 0);
    for (unsigned i = 0; i < 10000 && !gw__is_crowded(&crowd); i++)
        gw__crowd_yield(&crowd, 1);
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    ck_assert(gw__is_crowded(&crowd));
    unsigned sleeps = 0;
    for (; gw__is_crowded(&crowd); sleeps++)
        gw__crowd_slept(&crowd);
    ck_assert_uint_gt(sleeps, 1);
    gw__crowd_slept(&crowd);
    ck_assert(!gw__is_crowded(&crowd));
}
END_TEST

Suite *suite_crowd(void)
{
    Suite *s = suite_create("crowd");
    TCase *t = tcase_create("crowd");
    tcase_add_test(t, a_core_that_others_want_is_crowded_for_a_while);
    suite_add_tcase(s, t);
    return s;
}
