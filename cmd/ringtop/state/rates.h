/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recent send rate of each rank: one row of buckets per rank, all on one
 * clock. A recording may last a millisecond or an hour, so the buckets start
 * narrow and double their width as time goes on, until they are a second wide;
 * from then on the window slides.
 */
#ifndef RINGTOP_RATES_H
#define RINGTOP_RATES_H

#include "sets.h"

enum { RATE_BUCKETS = 16 };

struct rates {
    bool begun;
    uint64_t start_ns, width_ns; /* of the first bucket; of each bucket */
    uint64_t bytes[RANKS_MAX][RATE_BUCKETS];
};

/* Advances the time to `now_ns`. */
void rates_time(struct rates *rates, uint64_t now_ns);
void rates_add(struct rates *rates, unsigned rank, uint64_t now_ns,
               uint64_t bytes);
/* Distributes bytes evenly between two times, as the exact times are unknown.
 */
void rates_spread(struct rates *rates, unsigned rank, uint64_t from_ns,
                  uint64_t now_ns, uint64_t bytes);
/* The number of buckets up to now, 0 to RATE_BUCKETS. */
unsigned rates_used(const struct rates *rates, uint64_t now_ns);
/* Bytes per second of one rank, over the window. */
double rates_of(const struct rates *rates, unsigned rank, uint64_t now_ns);
/* Bytes per second of all ranks, over the window. */
double rates_total(const struct rates *rates, uint64_t now_ns);

#endif
