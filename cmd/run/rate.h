/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The current growth of a count: over the last one to two windows, so that the
 * rate follows changes and does not jump with each count. Pure: the caller has
 * the clock.
 */
#ifndef RATE_H
#define RATE_H

#include <stdint.h>

struct rate {
    /* The counts at the beginning of the previous and the current window; time
     * 0: not yet. */
    uint64_t at_ns[2], count[2];
};

/* Notes the count at this time. A count that has fallen starts again. */
void rate_record(struct rate *rate, uint64_t count, uint64_t now_ns);
/* The rate per second at this count; 0: too little time has passed. */
double rate_per_second(const struct rate *rate, uint64_t count,
                       uint64_t now_ns);

#endif
