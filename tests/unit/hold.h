/* SPDX-License-Identifier: MIT
 *
 * For tests: holdings from sets as numbers (node_bits.h).
 */
#ifndef TESTS_HOLD_H
#define TESTS_HOLD_H

#include "node_bits.h"

#include <cluster/registry/registry.h>

/* A chunk per place: chunk c has sets[c], and is final if bit c is set. */
static inline struct gw__holdings hold(const struct gw__places *places,
                                       const uint64_t *sets, uint64_t finals)
{
    struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    struct gw__holdings holdings;
    for (unsigned c = 0; c < places->count; c++)
        held[c] = (struct gw__held_chunk){node_set(sets[c]), finals >> c & 1};
    gw__holdings_pack(&holdings, places, held, places->count);
    return holdings;
}

/* As in an op of all members before the flush, with one set for the first chunk
 * and another one for the others. */
static inline struct gw__holdings
hold_before(const struct gw__registry *registry, uint64_t set0, uint64_t set1,
            uint64_t finals)
{
    const struct gw__flush *flush = &registry->flush;
    uint64_t sets[GW__REPORT_CHUNKS_MAX], each = 0;
    uint16_t places[GW__NODES_MAX];
    unsigned nodes[GW__NODES_MAX], count;
    count =
        gw__ring_places(flush->before, flush->before_count, UINT64_MAX, places);
    for (unsigned i = 0; i < count; i++) {
        nodes[i] = places[i];
        sets[i] = i == 0 ? set0 : set1;
        each |= (finals >> (i > 0) & 1) << i;
    }
    return hold(&(const struct gw__places){count, nodes}, sets, each);
}

#endif
