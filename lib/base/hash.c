/* SPDX-License-Identifier: MIT
 *
 * FNV-1a (Fowler, Noll, Vo): for fingerprints of small data, which must be the
 * same everywhere and need not be fast.
 */
#include <gradwire/base.h>

uint64_t gw_hash(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *byte = data;
    uint64_t hash = seed ? seed : 0xcbf29ce484222325U;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3U;
    return hash;
}
