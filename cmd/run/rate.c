/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See rate.h.
 */
#include "rate.h"

#define WINDOW_NS UINT64_C(500000000)
#define LEAST_NS  UINT64_C(100000000)

void rate_record(struct rate *rate, uint64_t count, uint64_t now_ns)
{
    if (!rate->at_ns[1] || count < rate->count[1])
        *rate = (struct rate){{now_ns, now_ns}, {count, count}};
    if (now_ns - rate->at_ns[1] < WINDOW_NS)
        return;
    rate->at_ns[0] = rate->at_ns[1];
    rate->count[0] = rate->count[1];
    rate->at_ns[1] = now_ns;
    rate->count[1] = count;
}

double rate_per_second(const struct rate *rate, uint64_t count, uint64_t now_ns)
{
    uint64_t passed_ns = rate->at_ns[0] ? now_ns - rate->at_ns[0] : 0;
    if (passed_ns < LEAST_NS || count < rate->count[0])
        return 0;
    return (double)(count - rate->count[0]) * 1e9 / (double)passed_ns;
}
