/* SPDX-License-Identifier: MIT
 *
 * Sets of nodes as text and as bytes; see nodes.h.
 */
#include "nodes.h"

#include <gradwire/base.h>

#include <stdio.h>

bool gw_nodes_has(const struct gw_nodes *nodes, unsigned node)
{
    return node < GW__NODES_MAX && gw__nodes_has(nodes, node);
}

unsigned gw_nodes_count(const struct gw_nodes *nodes)
{
    return gw__nodes_count(*nodes);
}

struct gw_nodes gw__nodes_first(unsigned count)
{
    struct gw_nodes set = {{0}};
    for (unsigned w = 0; w < GW__NODE_WORDS && 64 * w < count; w++)
        set.words[w] = count - 64 * w >= 64
                           ? UINT64_MAX
                           : ((uint64_t)1 << (count - 64 * w)) - 1;
    return set;
}

/* Adds the nodes from `first` on, up to the last number. */
static void add_run(struct gw_nodes *set, unsigned first, unsigned length)
{
    struct gw_nodes run = gw__nodes_minus(gw__nodes_first(first + length),
                                          gw__nodes_first(first));
    *set = gw__nodes_or(*set, run);
}

/* The end of the run that begins with the node `first`. */
static unsigned run_end(const struct gw_nodes *set, unsigned first)
{
    uint64_t below = ((uint64_t)1 << first % 64) - 1;
    for (unsigned w = first / 64; w < GW__NODE_WORDS; w++, below = 0) {
        uint64_t gaps = ~(set->words[w] | below);
        if (gaps)
            return 64 * w + (unsigned)__builtin_ctzll(gaps);
    }
    return GW__NODES_MAX;
}

void gw__nodes_text(const struct gw_nodes *set, char *out, size_t room)
{
    size_t used = 0;
    unsigned first = gw__nodes_next(set, 0);
    out[0] = 0;
    while (first < GW__NODES_MAX && used + 16 < room) {
        unsigned end = run_end(set, first);
        if (end == first + 2) /* two are a list, more a range */
            end--;
        used += (size_t)(end - first == 1
                             ? snprintf(out + used, room - used, "%s%u",
                                        used ? ", " : "", first)
                             : snprintf(out + used, room - used, "%s%u-%u",
                                        used ? ", " : "", first, end - 1));
        first = gw__nodes_next(set, end);
    }
}

static unsigned ascending(const uint16_t *list, unsigned count)
{
    unsigned length = 1;
    while (length < count && list[length] == list[0] + length)
        length++;
    return length;
}

void gw__node_list_text(const uint16_t *list, unsigned count, char *out,
                        size_t room)
{
    enum { FEW = 16, SHORT = 2 };
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0, length; i < count && used < room; i += length) {
        length = count > FEW ? ascending(list + i, count - i) : 1;
        length = length > SHORT ? length : 1;
        used += (size_t)(length == 1
                             ? snprintf(out + used, room - used, " %u", list[i])
                             : snprintf(out + used, room - used, " %u-%u",
                                        list[i], list[i] + length - 1));
    }
}

/* ---- as a word ----
 *
 *   0 | one bit per node, 0 to 62
 *   10 | 2 zeros | three runs: 10 bits first, 10 bits length; 0: no run
 *   11 | hash
 */

enum { PACKED_RUNS = 3, RUN_BITS = 10, RUN_MASK = (1 << RUN_BITS) - 1 };
#define PACKED_AS_RUNS ((uint64_t)2 << 62)
#define PACKED_AS_HASH ((uint64_t)3 << 62)
_Static_assert(GW_NODES_MAX < 1 << RUN_BITS, "a length needs RUN_BITS");

static uint64_t hash_of(const struct gw_nodes *set)
{
    return gw_hash(set, sizeof *set, 0) | PACKED_AS_HASH;
}

uint64_t gw__nodes_pack(const struct gw_nodes *set)
{
    uint64_t above = set->words[0] >> 63, packed = PACKED_AS_RUNS;
    for (unsigned w = 1; w < GW__NODE_WORDS; w++)
        above |= set->words[w];
    if (above == 0)
        return set->words[0];
    unsigned first = gw__nodes_next(set, 0);
    for (unsigned i = 0; first < GW__NODES_MAX; i++) {
        unsigned end = run_end(set, first);
        if (i == PACKED_RUNS)
            return hash_of(set);
        packed |= ((uint64_t)first << RUN_BITS | (end - first))
                  << i * 2 * RUN_BITS;
        first = gw__nodes_next(set, end);
    }
    return packed;
}

bool gw__nodes_is_hash(uint64_t packed)
{
    return (packed & PACKED_AS_HASH) == PACKED_AS_HASH;
}

bool gw__nodes_unpack(uint64_t packed, struct gw_nodes *set)
{
    *set = (struct gw_nodes){{packed}};
    if (packed >> 63 == 0)
        return true;
    set->words[0] = 0;
    for (unsigned i = 0; i < PACKED_RUNS; i++) {
        uint64_t run = packed >> i * 2 * RUN_BITS;
        unsigned length = (unsigned)(run & RUN_MASK);
        unsigned first = (unsigned)(run >> RUN_BITS & RUN_MASK);
        add_run(set, first, length);
    }
    if (gw__nodes_pack(set) == packed && !gw__nodes_is_hash(packed))
        return true;
    *set = (struct gw_nodes){{0}};
    return false;
}

/* ---- as bytes ---- */

static void put_run(struct gw__writer *w, unsigned first, unsigned length)
{
    gw__put_u16(w, first);
    gw__put_u16(w, length);
}

/* A run of at least one node; bad and empty if it leaves the range. */
static unsigned get_run(struct gw__reader *r, unsigned *first)
{
    *first = gw__get_u16_below(r, GW__NODES_MAX);
    unsigned length = gw__get_u16_below(r, GW__NODES_MAX + 1 - *first);
    gw__reader_demand(r, length > 0);
    return r->bad ? 0 : length;
}

void gw__put_nodes(struct gw__writer *w, const struct gw_nodes *set)
{
    unsigned runs = 0;
    for (unsigned n = gw__nodes_next(set, 0); n < GW__NODES_MAX; runs++)
        n = gw__nodes_next(set, run_end(set, n));
    gw__put_u16(w, runs);
    for (unsigned n = gw__nodes_next(set, 0); n < GW__NODES_MAX;
         n = gw__nodes_next(set, run_end(set, n)))
        put_run(w, n, run_end(set, n) - n);
}

struct gw_nodes gw__get_nodes(struct gw__reader *r)
{
    struct gw_nodes set = {{0}};
    unsigned runs = gw__get_u16_below(r, GW__NODES_MAX / 2 + 1), next = 0;
    for (unsigned i = 0; i < runs && !r->bad; i++) {
        unsigned first, length = get_run(r, &first);
        gw__reader_demand(r, first >= next);
        add_run(&set, first, length);
        next = first + length + 1;
    }
    if (r->bad)
        return (struct gw_nodes){{0}};
    return set;
}

void gw__put_node(struct gw__writer *w, unsigned node)
{
    gw__put_u16(w, node);
}

unsigned gw__get_node(struct gw__reader *r)
{
    return gw__get_u16_below(r, GW__NODES_MAX);
}

void gw__put_node_list(struct gw__writer *w, const uint16_t *list,
                       unsigned count)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < count; i += ascending(list + i, count - i))
        runs++;
    gw__put_u16(w, runs);
    for (unsigned i = 0; i < count; i += ascending(list + i, count - i))
        put_run(w, list[i], ascending(list + i, count - i));
}

unsigned gw__get_node_list(struct gw__reader *r, uint16_t list[GW__NODES_MAX])
{
    struct gw_nodes seen = {{0}};
    unsigned runs = gw__get_u16_below(r, GW__NODES_MAX + 1), count = 0;
    for (unsigned i = 0; i < runs && !r->bad; i++) {
        unsigned first, length = get_run(r, &first);
        for (unsigned k = 0; k < length && !r->bad; k++) {
            gw__reader_demand(r, !gw__nodes_has(&seen, first + k));
            gw__nodes_add(&seen, first + k);
            if (!r->bad)
                list[count++] = (uint16_t)(first + k);
        }
    }
    return r->bad ? 0 : count;
}
