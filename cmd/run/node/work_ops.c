/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Self-checking all-reduces: node i contributes 4^i to every element. In base
 * 4, digit i of a sum is then how often node i counts: 1 for a contributor and
 * 0 for the others. Any other digit is an error and shows its kind. 64 bits
 * have room for nodes 0 to 30.
 */
#include "work.h"

#include <stdio.h>

enum { ORACLE_NODES = 31 };

static int64_t power(unsigned node)
{
    return (int64_t)1 << (2 * node);
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
    int64_t value = node < ORACLE_NODES ? power(node) : 0;
    if (mine[0] == value)
        return; /* already filled, and never overwritten */
    for (size_t i = 0; i < work->count; i++)
        mine[i] = value;
}

/* Describes the first wrong element; all of the result counts as wrong. */
static enum gw_err blame(struct work *work, const struct gw_ring_result *result,
                         size_t element, int64_t sum, struct gw_error *why)
{
    unsigned wrong = ORACLE_NODES;
    unsigned times = 0;
    work->wrong += result->count;
    for (unsigned node = 0; node < ORACLE_NODES; node++) {
        unsigned digit = (unsigned)((uint64_t)sum >> (2 * node)) & 3;
        unsigned right = result->contributors >> node & 1;
        if (digit == right)
            continue;
        work->sums_lost += digit < right;
        work->sums_doubled += digit > right;
        if (wrong == ORACLE_NODES) {
            wrong = node;
            times = digit;
        }
    }
    return gw_fail(why, GW_EWRONG,
                   "op %llu, element %zu: node %u counts %u times, and %s",
                   (unsigned long long)result->op, element, wrong, times,
                   result->contributors >> wrong & 1 ? "is a contributor"
                                                     : "is not a contributor");
}

enum gw_err work_evaluate(struct work *work,
                          const struct gw_ring_result *result,
                          struct gw_error *why)
{
    const int64_t *sums = result->data;
    int64_t expected = 0;
    if (work->order.kind != WORK_OPS || work_is_whole(work) ||
        result->tag != WORK_STEP)
        return GW_OK;
    for (unsigned node = 0; node < ORACLE_NODES; node++)
        if (result->contributors >> node & 1)
            expected += power(node);
    for (size_t i = 0; i < result->count; i++)
        if (sums[i] != expected)
            return blame(work, result, i, sums[i], why);
    return GW_OK;
}
