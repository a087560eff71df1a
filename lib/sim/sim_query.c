/* SPDX-License-Identifier: MIT
 *
 * Queries about a network, for invariants and tests.
 */
#include "sim_parts.h"

#include <assert.h>

static const struct gw__sim_node *sim_node_at(const struct gw__sim *sim,
                                              uint32_t node)
{
    assert(node < sim->node_count);
    return &sim->nodes[node];
}

unsigned gw__sim_nodes(const struct gw__sim *sim)
{
    return sim->node_count;
}

uint64_t gw__sim_now(const struct gw__sim *sim)
{
    return sim->now_ns;
}

bool gw__sim_up(const struct gw__sim *sim, uint32_t node)
{
    return sim_node_at(sim, node)->up;
}

bool gw__sim_paused(const struct gw__sim *sim, uint32_t node)
{
    return sim_node_at(sim, node)->paused;
}

uint64_t gw__sim_clock(const struct gw__sim *sim, uint32_t node)
{
    return gw__clock_at(&sim_node_at(sim, node)->clock, sim->now_ns);
}

uint64_t gw__sim_incarnation(const struct gw__sim *sim, uint32_t node)
{
    return gw__sim_up(sim, node) ? sim_node_at(sim, node)->incarnation : 0;
}

const void *gw__sim_state(const struct gw__sim *sim, uint32_t node)
{
    return gw__sim_up(sim, node) ? sim_node_at(sim, node)->state : NULL;
}

const void *gw__sim_persisted(const struct gw__sim *sim, uint32_t node,
                              uint32_t key, size_t *bytes)
{
    return gw__disk_read(&sim_node_at(sim, node)->disk, key, bytes);
}

const struct gw__sim_counts *gw__sim_counts(const struct gw__sim *sim)
{
    return &sim->counts;
}

uint64_t gw__sim_hash(const struct gw__sim *sim)
{
    return sim->hash;
}

enum gw_err gw__sim_error(const struct gw__sim *sim, struct gw_error *why)
{
    if (why && sim->error.code)
        *why = sim->error;
    return sim->error.code;
}
