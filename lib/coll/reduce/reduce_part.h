/* SPDX-License-Identifier: MIT
 *
 * Parts of vectors, for levels without masked loads and stores, on
 * little-endian CPUs. A load puts words of 8 bytes together in registers:
 * narrow stores that a wide load then reads back would stall it (AVX2, eight
 * sources of 8 bytes: 12 ns instead of 51). A store goes in pieces of 16, 8, 4,
 * 2 and 1 bytes, as many as the length has ones.
 */
#ifndef GW__REDUCE_PART_H
#define GW__REDUCE_PART_H

#include "reduce_vector.h"

enum { WORD_BYTES = 8 };

INLINE uint64_t load_4(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE uint64_t load_2(const char *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The first `bytes` at most of a word; the rest is 0. Two loads that may
 * overlap meet at the last byte. */
INLINE uint64_t load_word(const char *p, size_t bytes)
{
    uint64_t x = 0;
    if (bytes >= WORD_BYTES)
        memcpy(&x, p, sizeof x);
    else if (bytes >= 4)
        x = load_4(p) | load_4(p + bytes - 4) << 8 * (bytes - 4);
    else if (bytes >= 2)
        x = load_2(p) | load_2(p + bytes - 2) << 8 * (bytes - 2);
    else if (bytes > 0)
        x = (unsigned char)*p;
    return x;
}

/* The first `bytes` at most of a vector; the rest is 0. */
INLINE vec load_part(const char *p, size_t bytes)
{
    vec x = {0};
    if (bytes >= VECTOR_BYTES)
        return load(p);
#pragma GCC unroll 4
    for (size_t i = 0; i < VECTOR_BYTES / WORD_BYTES; i++)
        if (bytes > i * WORD_BYTES)
            x[i] = load_word(p + i * WORD_BYTES, bytes - i * WORD_BYTES);
    return x;
}

INLINE void store_part(char *p, vec value, size_t bytes)
{
    char x[VECTOR_BYTES];
    const char *from = x;
    if (bytes >= VECTOR_BYTES) {
        store(p, value);
        return;
    }
    store(x, value);
#pragma GCC unroll 5
    for (size_t width = 16; width > 0; width /= 2)
        if (bytes & width) {
            memcpy(p, from, width);
            p += width;
            from += width;
        }
}

#endif
