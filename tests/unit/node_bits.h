/* SPDX-License-Identifier: MIT
 *
 * For tests: sets of nodes below 64 as numbers, bit n for node n.
 */
#ifndef TESTS_NODE_BITS_H
#define TESTS_NODE_BITS_H

#include <base/nodes/nodes.h>

#include <check.h>

static inline struct gw_nodes node_set(uint64_t bits)
{
    return (struct gw_nodes){{bits}};
}

/* Fails if the set has a node from 64 on. */
static inline uint64_t node_bits(struct gw_nodes set)
{
    for (unsigned w = 1; w < GW__NODE_WORDS; w++)
        ck_assert_uint_eq(set.words[w], 0);
    return set.words[0];
}

#endif
