/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the routes: the data for planning. Loads include all
 * pending changes, so that no step is planned twice.
 */
#ifndef GW__CLUSTER_ROUTE_PARTS_H
#define GW__CLUSTER_ROUTE_PARTS_H

#include "route.h"

struct gw__plan_loads {
    struct gw_nodes eligible;            /* servers that may get slots */
    unsigned servers;                    /* their number */
    unsigned wanted;                     /* replicas per slot */
    unsigned placed;                     /* slots that have a primary */
    unsigned replicas[GW__ROUTE_NODES];  /* per server: its slots, */
    unsigned primaries[GW__ROUTE_NODES]; /* the slots of which it is primary, */
    unsigned learning[GW__ROUTE_NODES];  /* and the slots that it is learning */
};

/* How many slots two servers share. */
struct gw__shared_slots {
    uint16_t of[GW__ROUTE_NODES][GW__ROUTE_NODES];
};

static inline bool gw__has_node(const struct gw_nodes *nodes, unsigned node)
{
    return node < GW__ROUTE_NODES && gw__nodes_has(nodes, node);
}

/* The slot has no pending change. */
bool gw__route_is_idle(const struct gw__slot_route *slot);
/* The node is in sync for the slot or is learning it. */
bool gw__route_has(const struct gw__slot_route *slot, unsigned node);
/* How many of `nodes` are in sync. */
unsigned gw__route_count(const struct gw__slot_route *slot,
                         const struct gw_nodes *nodes);
void gw__route_drop(struct gw__slot_route *slot, unsigned node);
/* Makes a replica in sync the primary. */
void gw__route_lead(struct gw__slot_route *slot, unsigned node);

/* ---- route_place.c ---- */

/* Gives every slot that was never placed its first replicas. */
void gw__place_first(struct gw__routes *routes, struct gw__plan_loads *loads);
/* Makes learners and successors for replicas that are missing or will leave.
 * True: all replicas exist or are pending. */
bool gw__place_missing(struct gw__routes *routes, struct gw__plan_loads *loads);

/* ---- route_advice.c ---- */

/* The first advised one that does not have or learn it; GW__NO_NODE. */
unsigned gw__advised_next(const struct gw__routes *routes, unsigned slot,
                          const struct gw__plan_loads *loads);
/* Makes replacing learners, and successors, until all slots are in their
 * advised places. */
void gw__advice_follow(struct gw__routes *routes, struct gw__plan_loads *loads);

/* ---- route_balance.c ---- */

/* Makes replacing learners, and successors, until the load will be even. */
void gw__balance(struct gw__routes *routes, struct gw__plan_loads *loads);
/* Makes only successors. */
void gw__balance_primaries(struct gw__routes *routes,
                           struct gw__plan_loads *loads);

#endif
