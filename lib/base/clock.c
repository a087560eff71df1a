/* SPDX-License-Identifier: MIT
 *
 * The one clock of all code that runs in real time; simulations have their own.
 *
 * Its rate can be changed (clock.h). Then it is linear, reported = reported_0 +
 * rate (real - real_0), and starts where the previous line ends. A reader that
 * sees a change in progress reads again (a sequence lock, whose number is odd
 * during a change). So a later reading is never smaller: time never goes back.
 */
#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static _Atomic unsigned sequence; /* 0: the rate was always 1 */
static _Atomic uint64_t real_0, reported_0;
static _Atomic double rate_now;

static uint64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t scale_time(uint64_t real)
{
    double since = (double)(real - atomic_load(&real_0));
    return atomic_load(&reported_0) +
           (uint64_t)(since * atomic_load(&rate_now));
}

uint64_t gw_now_ns(void)
{
    for (;;) {
        unsigned before = atomic_load(&sequence);
        uint64_t real = real_ns();
        uint64_t reported =
            __builtin_expect(before == 0, true) ? real : scale_time(real);
        if (__builtin_expect(
                before % 2 == 0 && before == atomic_load(&sequence), true))
            return reported;
        sched_yield();
    }
}

void gw__clock_set_rate(double rate)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    unsigned before = atomic_fetch_add(&sequence, 1);
    uint64_t real = real_ns(), reported = before ? scale_time(real) : real;
    atomic_store(&real_0, real);
    atomic_store(&reported_0, reported);
    atomic_store(&rate_now, rate);
    atomic_fetch_add(&sequence, 1);
    pthread_mutex_unlock(&lock);
}

struct timespec gw__clock_until(uint64_t ns)
{
    uint64_t real = ns;
    if (atomic_load(&sequence)) {
        uint64_t now = gw_now_ns();
        double left = ns > now ? (double)(ns - now) : 0;
        real = real_ns() + (uint64_t)(left / atomic_load(&rate_now));
    }
    return (struct timespec){.tv_sec = (time_t)(real / 1000000000),
                             .tv_nsec = (long)(real % 1000000000)};
}

void gw__clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
