/* SPDX-License-Identifier: MIT
 *
 * The routes: the part of the registry that places the slots of the parameter
 * server. Pure and deterministic, as all of the registry.
 *
 * A slot has a primary, which serves it, and secondaries with the same data;
 * together they are the replicas in sync. A learner is copying it. `term` grows
 * with every change of a slot and fences it: a process that knows a newer term
 * refuses messages of an older one.
 *
 *   a server dies     it is removed from all its slots. Where it was primary,
 *                     the replica in sync that is primary of the fewest slots
 *                     follows. If no replica in sync is left, the slot is lost
 *                     (no primary) until it is restored.
 *   too few replicas  a server that does not have the slot becomes its learner
 *   uneven load       a slot gets a learner that will replace one of its
 *                     replicas (`leaver`), or a successor (`successor`): a replica
 *                     in sync that will become primary
 *   PROMOTE           proposed by the primary: the learner has everything, and
 *                     since before the proposal nothing was acknowledged
 *                     without the learner. The learner is in sync; a `leaver`
 *                     leaves (if that is the primary itself, which has stopped
 *                     serving before the proposal, the learner is primary)
 *   HANDOVER          proposed by a primary that has stopped serving: its
 *                     successor is primary
 *
 * A slot has one change at a time, and a server at most GW__ROUTE_LEARNERS
 * learners: the copies must not starve the pushes. Each slot counts as one,
 * unless a placement policy advises the places of slots (PLACE). A join moves
 * no more replicas than its fair share, and hardly ever more primaries. A death
 * changes the slots of the dead server; others follow only if the load would
 * otherwise differ by two or more.
 *
 *   route.c          the commands
 *   route_place.c    the first placement, and missing replicas
 *   route_balance.c  uneven load
 *   route_advice.c   the advised places, instead of even load
 *   route_table.c    tables, and the slot of a key
 *   route_bytes.c    encoding
 */
#ifndef GW__CLUSTER_ROUTE_H
#define GW__CLUSTER_ROUTE_H

#include "base/nodes/nodes.h"

#include <base/machine.h>
#include <gradwire/control.h>

/* Members of a parameter server have numbers below GW__ROUTE_NODES. */
enum {
    GW__ROUTE_LEARNERS = 4,
    GW__ROUTE_NODES = GW_NODES_MAX,
    GW__NO_NODE = 65535
};

struct gw__slot_route {
    uint64_t term;      /* 0: never placed */
    uint16_t primary;   /* GW__NO_NODE: lost, or not placed yet */
    uint16_t learner;   /* GW__NO_NODE: none */
    uint16_t leaver;    /* replaced by the learner; GW__NO_NODE: none */
    uint16_t successor; /* successor of the primary; GW__NO_NODE: none */
    uint16_t count;     /* replicas in sync, the primary first */
    uint16_t replica[GW_PS_REPLICAS_MAX + 1];
    uint16_t reserved; /* 0: there are no holes */
};

/* The advised places of slots; see route_advice.c. Entries from `slots` on are
 * not valid. */
struct gw__advice {
    unsigned slots; /* 0: no advice */
    /* The servers of each slot, the primary first; then GW__NO_NODE. */
    uint16_t node[GW_PS_SLOTS_MAX][GW_PS_REPLICAS_MAX];
};

struct gw__routes {
    uint64_t version;        /* grows with every change */
    unsigned slot_count;     /* 0: no parameter server yet */
    unsigned replicas;       /* wanted */
    unsigned servers;        /* needed before the slots are first placed */
    struct gw_nodes drained; /* servers that want to leave */
    struct gw__advice advice;
    struct gw__slot_route slots[GW_PS_SLOTS_MAX]; /* valid: slot_count */
    unsigned table_count;
    struct gw_ps_table_config tables[GW_PS_TABLES_MAX];
};

void gw__routes_init(struct gw__routes *routes);
/* Without a parameter server. Unlike gw__routes_init, it does not touch the
 * slots, which are large and not valid now. */
void gw__routes_clear(struct gw__routes *routes);
/* Copies only the slots and tables that exist. */
void gw__routes_copy(struct gw__routes *to, const struct gw__routes *from);
/* The slot as it is before its first placement. */
void gw__route_clear(struct gw__slot_route *slot);
/* Sets up the parameter server; may be repeated. GW_EINVAL: invalid numbers;
 * GW_EMISMATCH: it was set up differently. */
enum gw_err gw__routes_open(struct gw__routes *routes, unsigned slots,
                            unsigned replicas, unsigned servers,
                            struct gw_error *why);
/* Sets the active servers. Drops those that are gone, then takes the
 * next steps. True if anything has changed (and `version` has grown). */
bool gw__routes_servers(struct gw__routes *routes,
                        const struct gw_nodes *servers);
/* GW_EINVAL with a sentence, and no change: wrong term, learner or
 * successor. */
enum gw_err gw__routes_promote(struct gw__routes *routes, unsigned slot,
                               uint64_t term, unsigned learner,
                               const struct gw_nodes *servers,
                               struct gw_error *why);
enum gw_err gw__routes_handover(struct gw__routes *routes, unsigned slot,
                                uint64_t term, unsigned successor,
                                const struct gw_nodes *servers,
                                struct gw_error *why);
/* Sets the advised places of slots; may come before gw__routes_open. Without
 * slots in it, loads are balanced again. placement.h makes it. */
void gw__routes_advise(struct gw__routes *routes,
                       const struct gw__advice *advice,
                       const struct gw_nodes *servers);
/* Drains servers that want to leave: `drained` nodes get nothing new, and give
 * away their slots until they are gone. */
bool gw__routes_drain(struct gw__routes *routes, const struct gw_nodes *servers,
                      const struct gw_nodes *drained);
/* The servers that are in sync for, or are learning, some slot. */
struct gw_nodes gw__routes_nodes(const struct gw__routes *routes);
/* True if it is not in sync for, or learning, any slot. */
bool gw__routes_is_empty(const struct gw__routes *routes, unsigned node);
/* The table's number; creates the table if its name is new. GW_EMISMATCH,
 * GW_EINVAL, GW_ENOMEM. */
enum gw_err gw__routes_table(struct gw__routes *routes,
                             const struct gw_ps_table_config *config,
                             unsigned *table, struct gw_error *why);

bool gw__route_in_sync(const struct gw__slot_route *slot, unsigned node);
/* The slot of a key of the table: by hash for sparse, by range for dense
 * tables. */
unsigned gw__route_slot(const struct gw__routes *routes,
                        const struct gw_ps_table_config *table, uint64_t key);

/* GW_EINVAL: an invalid table. */
enum gw_err gw__route_check_table(const struct gw_ps_table_config *config,
                                  struct gw_error *why);
void gw__put_table(struct gw__writer *writer,
                   const struct gw_ps_table_config *table);
void gw__get_table(struct gw__reader *reader, struct gw_ps_table_config *table);
/* Advice for so many slots, without a server yet. */
void gw__advice_clear(struct gw__advice *advice, unsigned slots);
void gw__put_advice(struct gw__writer *writer, const struct gw__advice *advice);
/* Invalid if a slot names a server twice, or one that cannot exist. */
void gw__get_advice(struct gw__reader *reader, struct gw__advice *advice);
void gw__put_routes(struct gw__writer *writer, const struct gw__routes *routes);
/* Invalid if the bytes are not from gw__put_routes. */
void gw__get_routes(struct gw__reader *reader, struct gw__routes *routes);

#endif
