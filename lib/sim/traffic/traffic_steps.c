/* SPDX-License-Identifier: MIT
 *
 * Intersection of arithmetic progressions of chunks: the contents of a message
 * or of a rank are a few of them. Whether two have a chunk in common is asked
 * some hundred million times for a hundred thousand ranks. Nearly always one
 * stride is a multiple of the other, and then a remainder is enough.
 */
#include "traffic.h"

#include <assert.h>

static uint64_t inverse(uint64_t a, uint64_t modulus)
{
    int64_t x = 0, next = 1;
    uint64_t r = modulus, next_r = a % modulus;
    while (next_r != 0) {
        uint64_t quotient = r / next_r, rest = r % next_r;
        int64_t then = x - (int64_t)quotient * next;
        x = next;
        next = then;
        r = next_r;
        next_r = rest;
    }
    return x < 0 ? (uint64_t)(x + (int64_t)modulus) : (uint64_t)x;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The stride of `wide` is a multiple of that of `narrow`. The common chunks, if
 * any, are those of `wide` from begin to end. */
static bool intersects_multiple(const struct gw__steps *wide,
                                const struct gw__steps *narrow, uint32_t begin,
                                uint32_t end)
{
    uint32_t first = wide->first;
    uint32_t ahead =
        first > narrow->first ? first - narrow->first : narrow->first - first;
    if (narrow->stride > 1 && ahead % narrow->stride != 0)
        return false;
    if (first >= begin)
        return first <= end;
    return end - begin >= wide->stride ||
           (begin - first + wide->stride - 1) / wide->stride * wide->stride <=
               end - first;
}

/* The first common number that is not before either beginning, by the Chinese
 * remainder theorem: x = a + k a.stride, with k (a.stride/common) = (b -
 * a)/common modulo b.stride/common. */
static bool intersects_any(const struct gw__steps *a, const struct gw__steps *b,
                           uint64_t begin, uint64_t end)
{
    uint64_t common = divisor(a->stride, b->stride);
    bool behind = b->first < a->first;
    uint64_t ahead = behind ? a->first - b->first : b->first - a->first;
    if (ahead % common != 0)
        return false;
    uint64_t modulus = b->stride / common, k = 0;
    if (modulus > 1) {
        uint64_t want = ahead / common % modulus;
        if (behind && want > 0)
            want = modulus - want;
        k = want * inverse(a->stride / common, modulus) % modulus;
    }
    uint64_t x = a->first + k * a->stride;
    uint64_t period = a->stride * modulus;
    assert(period > 0); /* strides are at least 1 */
    if (x < begin)
        x += (begin - x + period - 1) / period * period;
    return x <= end;
}

bool gw__steps_intersect(const struct gw__steps *a, const struct gw__steps *b)
{
    uint32_t begin = a->first > b->first ? a->first : b->first;
    uint32_t end = a->last < b->last ? a->last : b->last;
    if (begin > end)
        return false;
    if (a->stride == b->stride || a->stride % b->stride == 0)
        return intersects_multiple(a, b, begin, end);
    if (b->stride % a->stride == 0)
        return intersects_multiple(b, a, begin, end);
    return intersects_any(a, b, begin, end);
}

bool gw__steps_cover(const struct gw__steps *all, const struct gw__steps *some)
{
    return some->first >= all->first && some->last <= all->last &&
           (some->first - all->first) % all->stride == 0 &&
           (some->last - some->first == 0 || some->stride % all->stride == 0);
}
