/* SPDX-License-Identifier: MIT
 *
 * Checks the shape of a plan without executing it: chunks or actions that do
 * not fit the collective, more peers in a step than `ports=` allows, and a
 * barrier's token that is written twice. (Repeated additions and replacements
 * are left to check_dataflow.c, which finds a rank that is counted twice.)
 */
#include "verify.h"

#include <stdlib.h>

bool gw__chunks_fit(const struct gw_plan *plan)
{
    uint64_t ranks = plan->ranks;
    switch (plan->collective) {
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
        return plan->chunks % ranks == 0;
    case GW_ALLTOALL:
        return plan->chunks % (ranks * ranks) == 0;
    case GW_BARRIER:
        return plan->chunks == 1;
    default:
        return true;
    }
}

/* The first transfer whose action does not fit, or the number of transfers. */
static uint32_t first_misfit(const struct gw__index *index)
{
    const struct gw_transfer *x = index->plan->transfers;
    bool barrier = index->plan->collective == GW_BARRIER;
    uint32_t t = 0;
    while (t < index->transfers && x[t].action <= GW_TOKEN &&
           (x[t].action == GW_TOKEN) == barrier)
        t++;
    return t;
}

static bool check_shape(const struct gw__index *index,
                        struct gw__finding *found)
{
    if (!gw__chunks_fit(index->plan)) {
        *found = (struct gw__finding){.fault = GW_FAULT_SHAPE,
                                      .transfer = UINT32_MAX};
        return false;
    }
    uint32_t t = first_misfit(index);
    if (t == index->transfers)
        return true;
    *found = (struct gw__finding){
        .fault = GW_FAULT_SHAPE, .step = index->step[t], .transfer = t};
    return false;
}

/* How many peers a rank has communicated with in a step. */
struct peers {
    uint32_t step; /* counted from 1 */
    unsigned to;
    unsigned from;
};

static struct peers *peers_in(struct peers *peers, uint32_t step)
{
    if (peers->step != step + 1)
        *peers = (struct peers){.step = step + 1};
    return peers;
}

static void check_peers(const struct gw__index *index, struct peers *peers,
                        uint32_t t, struct gw__finding *found)
{
    const struct gw_transfer *x = &index->plan->transfers[t];
    unsigned ports = index->plan->ports;
    uint32_t step = index->step[t];
    unsigned to = ++peers_in(&peers[x->src], step)->to;
    unsigned from = ++peers_in(&peers[x->dst], step)->from;
    if (ports == 0 || (to <= ports && from <= ports))
        return;
    struct gw__finding many = {
        .fault = GW_FAULT_PORTS,
        .step = step,
        .transfer = t,
        .rank = to > ports ? x->src : x->dst,
        .receives = to <= ports,
    };
    gw__finding_keep_first(found, &many);
}

/* `last` is the last transfer on each link so far, counted from 1. */
static void check_links(const struct gw__index *index, uint32_t *last,
                        struct peers *peers, struct gw__finding *found)
{
    for (uint32_t t = 0; t < index->transfers; t++) {
        uint32_t *before = &last[index->link[t]];
        bool again = *before && index->step[*before - 1] == index->step[t];
        if (!again && !gw__is_local(&index->plan->transfers[t]))
            check_peers(index, peers, t, found);
        else if (again && index->plan->transfers[t].action == GW_TOKEN) {
            struct gw__finding twice = {.fault = GW_FAULT_CONFLICT,
                                        .step = index->step[t],
                                        .transfer = t,
                                        .other = *before - 1};
            gw__finding_keep_first(found, &twice);
        }
        *before = t + 1;
    }
}

enum gw_err gw__check_shape(const struct gw__index *index,
                            struct gw__finding *found, struct gw_error *why)
{
    if (!check_shape(index, found))
        return GW_OK;
    struct peers *peers = calloc(index->plan->ranks, sizeof *peers);
    uint32_t *last = calloc((size_t)index->links + 1, sizeof *last);
    bool room = peers && last;
    if (room)
        check_links(index, last, peers, found);
    free(last);
    free(peers);
    return room ? GW_OK : gw_fail(why, GW_ENOMEM, "%u links", index->links);
}
