/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the routes: what is planned with. Loads are counted as
 * they will be when all that is under way has ended, so that no step is planned
 * twice.
 */
#ifndef GW__CLUSTER_ROUTE_PARTS_H
#define GW__CLUSTER_ROUTE_PARTS_H

#include "route.h"

struct gw__plan_loads {
    uint64_t eligible;                 /* servers that may get something */
    unsigned servers;                  /* how many of them */
    unsigned wanted;                   /* replicas of a slot */
    unsigned placed;                   /* slots that have a primary */
    unsigned replicas[GW__NODES_MAX];  /* of each server: slots, */
    unsigned primaries[GW__NODES_MAX]; /* of which primary, */
    unsigned learning[GW__NODES_MAX];  /* and being copied to it now */
};

static inline bool gw__has_node(uint64_t nodes, unsigned node)
{
    return node < GW__NODES_MAX && nodes >> node & 1;
}

/* Nothing is being changed about it. */
bool gw__route_is_idle(const struct gw__slot_route *slot);
/* Is in sync for the slot or learns it. */
bool gw__route_has(const struct gw__slot_route *slot, unsigned node);
/* How many of these are in sync. */
unsigned gw__route_count(const struct gw__slot_route *slot, uint64_t nodes);
void gw__route_drop(struct gw__slot_route *slot, unsigned node);
/* One in sync, to the front. */
void gw__route_lead(struct gw__slot_route *slot, unsigned node);

void gw__loads_count(struct gw__plan_loads *loads,
                     const struct gw__routes *routes, uint64_t eligible);

/* ---- route_place.c ---- */

/* Gives every slot that was never placed its first replicas. */
void gw__place_first(struct gw__routes *routes, struct gw__plan_loads *loads);
/* Learners and heirs where replicas are missing or are to go. True: nothing is
 * missing any more, nor on its way. */
bool gw__place_missing(struct gw__routes *routes, struct gw__plan_loads *loads);

/* ---- route_advice.c ---- */

/* Who of `eligible` is advised to have the slot, the primary first: at most so
 * many. Returns how many. */
unsigned gw__advised(const struct gw__routes *routes, unsigned slot,
                     uint64_t eligible, unsigned most,
                     uint8_t out[GW_PS_REPLICAS_MAX]);
/* The first of them that neither has nor learns it; GW__NO_NODE. */
unsigned gw__advised_next(const struct gw__routes *routes, unsigned slot,
                          const struct gw__plan_loads *loads);
/* Learners that replace others, and heirs, until all is as it is advised. */
void gw__advice_follow(struct gw__routes *routes, struct gw__plan_loads *loads);

/* ---- route_balance.c ---- */

/* Learners that replace others, and heirs, until the load will be even. */
void gw__balance(struct gw__routes *routes, struct gw__plan_loads *loads);
/* Heirs only. */
void gw__balance_primaries(struct gw__routes *routes,
                           struct gw__plan_loads *loads);

#endif
