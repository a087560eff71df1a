/* SPDX-License-Identifier: MIT
 *
 * A hash for data that stay in the process: sixteen bytes per multiplication,
 * both halves of the product combined (after Wang Yi, "wyhash", 2019). gw_hash,
 * which is the same everywhere, processes one byte at a time.
 */
#ifndef GW__BASE_MIX_H
#define GW__BASE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t gw__mix_words(uint64_t hash, uint64_t low, uint64_t high)
{
    __extension__ typedef unsigned __int128 gw__wide;
    gw__wide product = (gw__wide)(low ^ hash ^ UINT64_C(0xa0761d6478bd642f)) *
                       (high ^ UINT64_C(0xe7037ed1a0b428db));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Does not include the length. */
static inline uint64_t gw__mix_bytes(uint64_t hash, const void *data,
                                     size_t bytes)
{
    const unsigned char *at = data;
    uint64_t words[2];
    for (; bytes > sizeof words; at += sizeof words, bytes -= sizeof words) {
        memcpy(words, at, sizeof words);
        hash = gw__mix_words(hash, words[0], words[1]);
    }
    if (bytes == 0)
        return hash;
    memset(words, 0, sizeof words);
    memcpy(words, at, bytes);
    return gw__mix_words(hash, words[0], words[1]);
}

#endif
