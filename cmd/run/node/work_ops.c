/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Self-checking all-reduces: node i contributes 4^i to every element. In base
 * 4, digit i of a sum is then how often node i counts: 1 for a contributor and
 * 0 for the others. Any other digit is an error and shows its kind. 64 bits
 * have room for 31 nodes: a bank. Of 64 elements in a row, the last ones belong to
 * one bank each, and the others to nodes 0 to 30.
 */
#include "work.h"

#include <stdio.h>

enum { BANK_NODES = 31, POSITIONS = 64 };
_Static_assert(GW_RING_NODES <= BANK_NODES * POSITIONS, "a bank for each node");

/* The contribution of the node to elements of its bank. */
static int64_t power(unsigned node)
{
    return (int64_t)1 << (2 * (node % BANK_NODES));
}

static unsigned bank_of(size_t element)
{
    enum { BANKS = (GW_RING_NODES + BANK_NODES - 1) / BANK_NODES };
    unsigned from_end = POSITIONS - (unsigned)(element % POSITIONS);
    return from_end < BANKS ? from_end : 0;
}

enum gw_err work_ops_load(struct work *work, struct gw_error *why)
{
    work->type = GW_I64;
    work->count = work->order.bytes / sizeof(int64_t);
    if (work->count == 0)
        return gw_fail(why, GW_EINVAL,
                       "ops: the size must be at least %zu bytes",
                       sizeof(int64_t));
    work->mine = gw_alloc(work->count * sizeof(int64_t), why);
    return work->mine ? GW_OK : GW_ENOMEM;
}

void work_ops_contribute(struct work *work, unsigned node)
{
    int64_t *mine = work->mine;
    unsigned bank = node / BANK_NODES, first = bank ? POSITIONS - bank : 0;
    if (first < work->count && mine[first] == power(node))
        return; /* already filled, and never overwritten */
    for (size_t i = 0; i < work->count; i++)
        mine[i] = bank_of(i) == bank ? power(node) : 0;
}

/* Describes the first wrong element; all of the result counts as wrong. */
static enum gw_err blame(struct work *work, const struct gw_ring_result *result,
                         size_t element, int64_t sum, struct gw_error *why)
{
    unsigned wrong = GW_RING_NODES, times = 0;
    unsigned first = bank_of(element) * BANK_NODES;
    work->wrong += result->count;
    for (unsigned i = 0; i < BANK_NODES; i++) {
        unsigned node = first + i;
        unsigned digit = (unsigned)((uint64_t)sum >> (2 * i)) & 3;
        unsigned right = gw_nodes_has(&result->contributors, node);
        if (digit == right)
            continue;
        work->sums_lost += digit < right;
        work->sums_doubled += digit > right;
        if (wrong == GW_RING_NODES) {
            wrong = node;
            times = digit;
        }
    }
    return gw_fail(
        why, GW_EWRONG, "op %llu, element %zu: node %u counts %u times, and %s",
        (unsigned long long)result->op, element, wrong, times,
        gw_nodes_has(&result->contributors, wrong) ? "is a contributor"
                                                   : "is not a contributor");
}

enum gw_err work_evaluate(struct work *work,
                          const struct gw_ring_result *result,
                          struct gw_error *why)
{
    const int64_t *sums = result->data;
    int64_t expected[POSITIONS] = {0}; /* by bank */
    if (work->order.kind != WORK_OPS || work_is_whole(work) ||
        result->tag != WORK_STEP)
        return GW_OK;
    for (unsigned node = 0; node < GW_RING_NODES; node++)
        if (gw_nodes_has(&result->contributors, node))
            expected[node / BANK_NODES] += power(node);
    for (size_t i = 0; i < result->count; i++)
        if (sums[i] != expected[bank_of(i)])
            return blame(work, result, i, sums[i], why);
    return GW_OK;
}
