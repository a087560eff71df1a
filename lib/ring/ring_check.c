/* SPDX-License-Identifier: MIT
 *
 * Are the states of all members equal? Each member writes the digest and the
 * hash of its own state into a row of a table of zeros. One op of the ring
 * combines the tables, and all members see all rows.
 */
#include "ring_parts.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 2 }; /* digest of the results, hash of the state */

struct table {
    uint64_t rows[GW_RING_NODES][WORDS];
};

static bool equal(const struct table *t, unsigned a, unsigned b)
{
    return memcmp(t->rows[a], t->rows[b], sizeof t->rows[a]) == 0;
}

static unsigned count_like(const struct table *t, const struct gw_nodes *nodes,
                           unsigned node)
{
    unsigned like = 0;
    for (unsigned n = gw__nodes_next(nodes, 0); n < GW__NODES_MAX;
         n = gw__nodes_next(nodes, n + 1))
        like += equal(t, node, n);
    return like;
}

/* The first node with the most frequent row. */
static unsigned most_common(const struct table *t, const struct gw_nodes *nodes)
{
    unsigned best = gw__nodes_next(nodes, 0);
    for (unsigned node = gw__nodes_next(nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(nodes, node + 1)) {
        if (count_like(t, nodes, node) > count_like(t, nodes, best))
            best = node;
    }
    return best;
}

static enum gw_err compare_calls(const struct table *t,
                                 const struct gw_nodes *nodes, uint64_t op,
                                 struct gw_error *why)
{
    unsigned common = most_common(t, nodes);
    char others[128] = "";
    size_t used = 0;
    for (unsigned node = gw__nodes_next(nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(nodes, node + 1)) {
        if (equal(t, node, common) || used + 8 > sizeof others)
            continue;
        used += (size_t)snprintf(others + used, sizeof others - used, "%s%u",
                                 used ? ", " : "", node);
    }
    if (used == 0)
        return GW_OK;
    return gw_fail(
        why, GW_EWRONG,
        "before op %llu, the state of node %s differs from the majority",
        (unsigned long long)op, others);
}

enum gw_err gw_ring_check(struct gw_ring *ring, struct gw_error *why)
{
    const struct gw_ring_config *config = &ring->config;
    struct table mine, all;
    struct gw_ring_result result;
    memset(&mine, 0, sizeof mine);
    mine.rows[ring->session.node][0] = ring->digest;
    mine.rows[ring->session.node][1] =
        gw__keep_hash(config->state, config->state_bytes, 0);
    const struct gw_ring_call call = {.in = &mine,
                                      .out = &all,
                                      .count = GW_RING_NODES * WORDS,
                                      .type = GW_U64,
                                      .op = GW_BOR,
                                      .tag = GW__RING_OWN_TAG};
    enum gw_err err = gw__ring_op(ring, &call, &result, why);
    return err ? err
               : compare_calls(&all, &result.contributors, result.op, why);
}
