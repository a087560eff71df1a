/* SPDX-License-Identifier: MIT
 *
 * Decides whether spinning pays. A futex or a poll costs a wake-up of several
 * microseconds, so polling is better for an answer that is about to come, but
 * only on a core that no other thread wants. There are two signs:
 *
 *   runnable threads   not more than cores; looked at now and then
 *   sched_yield        if it takes long, another thread has had our core: no
 *                      spinning for a while then, twice as long each time
 */
#include "messenger_parts.h"
#include "wire/crowd.h"

#include <sched.h>

enum { BURST = 64 };

static const uint64_t spin_ns = 50 * 1000U, long_yield_ns = 20 * 1000U;
static const uint64_t load_check_ns = 5 * 1000000U;
static const uint64_t least_penalty_ns = 20 * 1000000U;
static const uint64_t most_penalty_ns = 1000 * 1000000U;

void gw__messenger_spin_init(struct gw__messenger_spin *spin)
{
    cpu_set_t allowed;
    *spin = (struct gw__messenger_spin){.cores = 1};
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        spin->cores = (unsigned)CPU_COUNT(&allowed);
}

static bool pays(struct gw__messenger_spin *spin, uint64_t now_ns)
{
    if (spin->cores < 2 || now_ns < spin->not_before_ns)
        return false;
    if (now_ns - spin->checked_ns > load_check_ns) {
        spin->checked_ns = now_ns;
        spin->pays = gw__runnable_threads() <= spin->cores;
    }
    return spin->pays;
}

static void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* False: another thread had the core meanwhile. */
static bool yield(struct gw__messenger_spin *spin)
{
    uint64_t before_ns = gw_now_ns();
    sched_yield();
    uint64_t now_ns = gw_now_ns();
    if (now_ns - before_ns < long_yield_ns)
        return true;
    spin->penalty_ns =
        spin->penalty_ns ? 2 * spin->penalty_ns : least_penalty_ns;
    if (spin->penalty_ns > most_penalty_ns)
        spin->penalty_ns = most_penalty_ns;
    spin->not_before_ns = now_ns + spin->penalty_ns;
    return false;
}

/* Polls the transport's `ready`, which knows the cheapest check. */
bool gw__messenger_spin(struct gw__messenger *messenger, uint64_t deadline_ns)
{
    struct gw__messenger_spin *spin = &messenger->spin;
    uint64_t now_ns = gw_now_ns(), end_ns = now_ns + spin_ns;
    if (!pays(spin, now_ns))
        return false;
    end_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
    for (unsigned i = 1; i % BURST || gw_now_ns() < end_ns; i++) {
        if (messenger->ops->ready(messenger) ||
            atomic_load_explicit(&messenger->woken, memory_order_relaxed)) {
            spin->penalty_ns = 0;
            return true;
        }
        if (i % BURST)
            cpu_pause();
        else if (!yield(spin))
            return messenger->ops->ready(messenger);
    }
    return false;
}
