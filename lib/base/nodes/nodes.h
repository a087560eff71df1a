/* SPDX-License-Identifier: MIT
 *
 * Sets of nodes as values: union, difference, iteration, and bytes. In messages
 * and logs a set is its runs of consecutive numbers, of which the sets of a
 * ring have few: a death splits at most one.
 *
 *     for (unsigned n = gw__nodes_next(&set, 0); n < GW__NODES_MAX;
 *          n = gw__nodes_next(&set, n + 1))
 */
#ifndef GW__BASE_NODES_H
#define GW__BASE_NODES_H

#include "base/bytes.h"

#include <gradwire/nodes.h>

enum { GW__NODES_MAX = GW_NODES_MAX, GW__NODE_WORDS = GW_NODES_MAX / 64 };

/* Does the set have the node, which is below GW__NODES_MAX? */
static inline bool gw__nodes_has(const struct gw_nodes *set, unsigned node)
{
    return set->words[node / 64] >> node % 64 & 1;
}

static inline void gw__nodes_add(struct gw_nodes *set, unsigned node)
{
    set->words[node / 64] |= (uint64_t)1 << node % 64;
}

static inline void gw__nodes_remove(struct gw_nodes *set, unsigned node)
{
    set->words[node / 64] &= ~((uint64_t)1 << node % 64);
}

/* The set of this node alone. */
static inline struct gw_nodes gw__nodes_only(unsigned node)
{
    struct gw_nodes set = {{0}};
    gw__nodes_add(&set, node);
    return set;
}

static inline struct gw_nodes gw__nodes_or(struct gw_nodes a, struct gw_nodes b)
{
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        a.words[w] |= b.words[w];
    return a;
}

static inline struct gw_nodes gw__nodes_and(struct gw_nodes a,
                                            struct gw_nodes b)
{
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        a.words[w] &= b.words[w];
    return a;
}

/* The nodes of `a` that are not in `b`. */
static inline struct gw_nodes gw__nodes_minus(struct gw_nodes a,
                                              struct gw_nodes b)
{
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        a.words[w] &= ~b.words[w];
    return a;
}

static inline bool gw__nodes_is_empty(struct gw_nodes set)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        any |= set.words[w];
    return any == 0;
}

static inline bool gw__nodes_equal(struct gw_nodes a, struct gw_nodes b)
{
    uint64_t other = 0;
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        other |= a.words[w] ^ b.words[w];
    return other == 0;
}

/* Is every node of `a` in `b`? */
static inline bool gw__nodes_within(struct gw_nodes a, struct gw_nodes b)
{
    return gw__nodes_is_empty(gw__nodes_minus(a, b));
}

static inline unsigned gw__nodes_count(struct gw_nodes set)
{
    unsigned count = 0;
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        count += (unsigned)__builtin_popcountll(set.words[w]);
    return count;
}

/* The first node of the set from `from` on; GW__NODES_MAX: none. */
static inline unsigned gw__nodes_next(const struct gw_nodes *set, unsigned from)
{
    for (unsigned w = from / 64; w < GW__NODE_WORDS; w++) {
        uint64_t word = set->words[w];
        if (w == from / 64)
            word &= UINT64_MAX << from % 64;
        if (word)
            return 64 * w + (unsigned)__builtin_ctzll(word);
    }
    return GW__NODES_MAX;
}

/* A set as a word: its nodes as bits if all are below 63, or up to three runs.
 * A set of more runs gets a hash, from which it cannot be unpacked. */
uint64_t gw__nodes_pack(const struct gw_nodes *set);
/* Can it not be unpacked? */
bool gw__nodes_is_hash(uint64_t packed);
/* False and an empty set: `packed` is a hash, or malformed. */
bool gw__nodes_unpack(uint64_t packed, struct gw_nodes *set);

/* Nodes 0 to `count` - 1, or all if there are not so many. */
struct gw_nodes gw__nodes_first(unsigned count);
/* "2", or "0-7, 9", as much as fits. */
void gw__nodes_text(const struct gw_nodes *set, char *out, size_t room);

/* A list in its order, as much as fits: " 0 1 3", and with more than 16 nodes
 * runs of ascending numbers, " 0-76 78-127". */
void gw__node_list_text(const uint16_t *list, unsigned count, char *out,
                        size_t room);

void gw__put_nodes(struct gw__writer *writer, const struct gw_nodes *set);
/* Bad if the runs are not those of gw__put_nodes. */
struct gw_nodes gw__get_nodes(struct gw__reader *reader);
/* One node. */
void gw__put_node(struct gw__writer *writer, unsigned node);
unsigned gw__get_node(struct gw__reader *reader);
/* A list without repetitions, as runs of ascending numbers. */
void gw__put_node_list(struct gw__writer *writer, const uint16_t *list,
                       unsigned count);
/* Returns the length; bad if it is above GW__NODES_MAX or a node is
 * repeated. */
unsigned gw__get_node_list(struct gw__reader *reader,
                           uint16_t list[GW__NODES_MAX]);

#endif
