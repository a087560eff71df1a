/* SPDX-License-Identifier: MIT
 *
 * Conversion between simulation time and node time. With r = 10^6 + ppm, an
 * interval of d ns shows as floor(d r / 10^6), and an interval of w ns on the
 * clock has passed after ceil(w 10^6 / r): each is the exact inverse of the
 * other. Multiples of 10^6 (or r) are computed separately to avoid overflow.
 */
#include "node_clock.h"

#include <assert.h>

enum { MILLION = 1000000 };

uint64_t gw__clock_at(const struct gw__node_clock *clock, uint64_t time_ns)
{
    assert(time_ns >= clock->since_ns);
    uint64_t passed = time_ns - clock->since_ns;
    if (clock->ppm == 0)
        return clock->shown_ns + passed;
    uint64_t rate = (uint64_t)(MILLION + clock->ppm);
    return clock->shown_ns + passed / MILLION * rate +
           passed % MILLION * rate / MILLION;
}

uint64_t gw__clock_when(const struct gw__node_clock *clock, uint64_t shown_ns)
{
    if (shown_ns <= clock->shown_ns)
        return clock->since_ns;
    uint64_t wait = shown_ns - clock->shown_ns;
    if (wait > UINT64_MAX / 4)
        return UINT64_MAX;
    uint64_t rate = (uint64_t)(MILLION + clock->ppm);
    uint64_t rest = wait % rate * MILLION;
    return clock->since_ns + wait / rate * MILLION + (rest + rate - 1) / rate;
}

void gw__clock_rate(struct gw__node_clock *clock, uint64_t time_ns, int32_t ppm)
{
    assert(ppm >= -GW__CLOCK_PPM_MAX && ppm <= GW__CLOCK_PPM_MAX);
    clock->shown_ns = gw__clock_at(clock, time_ns);
    clock->since_ns = time_ns;
    clock->ppm = ppm;
}
