/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Detection of silent ranks (struct attention). A rank gives eight signs of
 * life per silence limit, and the supervisor checks as often. So a stopped rank
 * is found after one to one and a quarter limits.
 *
 * A rank that is silent but not stopped hangs, or waits for a CPU on a busy
 * machine. Only time distinguishes the two, so it is given several limits.
 */
#include "launch_parts.h"

#include <wire/process_inspect.h>

#include <limits.h>

static uint64_t sign_ns(const struct attention *attention)
{
    return attention->silence_ns / SIGNS_OF_LIFE;
}

void attention_begin(struct attention *attention, unsigned silence_ms,
                     uint64_t now_ns)
{
    *attention = (struct attention){
        .silence_ns = silence_ms * UINT64_C(1000000), .updated_ns = now_ns};
}

void attention_update(struct attention *attention, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - attention->updated_ns;
    uint64_t most_ns = 2 * sign_ns(attention);
    attention->updated_ns = now_ns;
    attention->clock_ns += passed_ns < most_ns ? passed_ns : most_ns;
}

bool attention_is_silent(const struct attention *attention,
                         uint64_t last_frame_ns)
{
    return attention->silence_ns > 0 &&
           attention->clock_ns - last_frame_ns >= attention->silence_ns;
}

/* A process whose state is unknown counts as stopped. */
static bool is_stopped(pid_t pid)
{
    return gw__process_watch_state((uint32_t)pid, 0) != GW__PROCESS_WATCH_AWAKE;
}

unsigned attention_confirms_dead(const struct attention *attention,
                                 uint64_t last_frame_ns, pid_t pid)
{
    uint64_t silences =
        attention_is_silent(attention, last_frame_ns)
            ? (attention->clock_ns - last_frame_ns) / attention->silence_ns
            : 0;
    if (silences == 0 || (silences < STARVED_SILENCES && !is_stopped(pid)))
        return 0;
    return silences < STARVED_SILENCES ? 1 : STARVED_SILENCES;
}

int attention_wait_ms(const struct attention *attention)
{
    uint64_t ms = sign_ns(attention) / 1000000;
    if (attention->silence_ns == 0)
        return -1;
    return ms == 0 ? 1 : ms < INT_MAX ? (int)ms : INT_MAX;
}
