/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Buckets of bytes (rates.h).
 */
#include "rates.h"

#include <string.h>

static const uint64_t FIRST_NS = 1000, WIDEST_NS = 1000000000;

static uint64_t bucket_of(const struct rates *r, uint64_t now_ns)
{
    return now_ns > r->start_ns ? (now_ns - r->start_ns) / r->width_ns : 0;
}

static void widen_interval(struct rates *r)
{
    for (unsigned rank = 0; rank < RANKS_MAX; rank++) {
        uint64_t *bytes = r->bytes[rank];
        for (unsigned i = 0; i < RATE_BUCKETS / 2; i++)
            bytes[i] = bytes[2 * i] + bytes[2 * i + 1];
        memset(bytes + RATE_BUCKETS / 2, 0, RATE_BUCKETS / 2 * sizeof *bytes);
    }
    r->width_ns *= 2;
}

/* Drops the `count` oldest buckets. */
static void slide(struct rates *r, uint64_t count)
{
    unsigned gone = count < RATE_BUCKETS ? (unsigned)count : RATE_BUCKETS;
    for (unsigned rank = 0; rank < RANKS_MAX; rank++) {
        uint64_t *bytes = r->bytes[rank];
        memmove(bytes, bytes + gone, (RATE_BUCKETS - gone) * sizeof *bytes);
        memset(bytes + RATE_BUCKETS - gone, 0, gone * sizeof *bytes);
    }
    r->start_ns += count * r->width_ns;
}

void rates_time(struct rates *r, uint64_t now_ns)
{
    if (!r->begun) {
        r->begun = true;
        r->start_ns = now_ns;
        r->width_ns = FIRST_NS;
    }
    while (bucket_of(r, now_ns) >= RATE_BUCKETS && r->width_ns < WIDEST_NS)
        widen_interval(r);
    uint64_t bucket = bucket_of(r, now_ns);
    if (bucket >= RATE_BUCKETS)
        slide(r, bucket - RATE_BUCKETS + 1);
}

void rates_add(struct rates *r, unsigned rank, uint64_t now_ns, uint64_t bytes)
{
    rates_time(r, now_ns);
    if (rank < RANKS_MAX)
        r->bytes[rank][bucket_of(r, now_ns)] += bytes;
}

void rates_spread(struct rates *r, unsigned rank, uint64_t from_ns,
                  uint64_t now_ns, uint64_t bytes)
{
    rates_time(r, now_ns);
    if (rank >= RANKS_MAX || from_ns > now_ns)
        return;
    uint64_t first = bucket_of(r, from_ns), last = bucket_of(r, now_ns);
    uint64_t parts = last - first + 1;
    for (uint64_t i = 0; i < parts; i++)
        r->bytes[rank][first + i] += bytes / parts + (i < bytes % parts);
}

unsigned rates_used(const struct rates *r, uint64_t now_ns)
{
    if (!r->begun)
        return 0;
    uint64_t bucket = bucket_of(r, now_ns);
    return bucket < RATE_BUCKETS ? (unsigned)bucket + 1 : RATE_BUCKETS;
}

/* Time that the window spans. */
static double seconds(const struct rates *r, uint64_t now_ns)
{
    return r->begun && now_ns > r->start_ns
               ? (double)(now_ns - r->start_ns) * 1e-9
               : 0;
}

double rates_of(const struct rates *r, unsigned rank, uint64_t now_ns)
{
    double bytes = 0, span = seconds(r, now_ns);
    for (unsigned i = 0; i < RATE_BUCKETS && rank < RANKS_MAX; i++)
        bytes += (double)r->bytes[rank][i];
    return span > 0 ? bytes / span : 0;
}

double rates_total(const struct rates *r, uint64_t now_ns)
{
    double bytes = 0;
    if (!r->begun || now_ns <= r->start_ns)
        return 0;
    for (unsigned rank = 0; rank < RANKS_MAX; rank++)
        for (unsigned i = 0; i < RATE_BUCKETS; i++)
            bytes += (double)r->bytes[rank][i];
    return bytes * 1e9 / (double)(now_ns - r->start_ns);
}
