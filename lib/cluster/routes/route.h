/* SPDX-License-Identifier: MIT
 *
 * Where the slots of the parameter server are: the part of the registry that
 * places them. Pure and deterministic, as all of the registry.
 *
 * A slot has a primary, which serves it, and secondaries that hold the same;
 * together the replicas in sync. A learner is copying it. `term` grows with
 * every change of a slot and fences it: who speaks for an older term is
 * refused by whoever knows of a newer one.
 *
 *   a server dies     it leaves all its slots; where it was primary, the
 *                     replica in sync that is primary of the fewest slots
 *                     follows. Nobody in sync left: the slot is lost (no
 *                     primary) until it is restored.
 *   too few replicas  a server that does not have the slot becomes its learner
 *   uneven load       a slot gets a learner that will replace one of its
 *                     replicas (`leaver`), or an heir: a replica in sync that
 *                     is to become primary
 *   PROMOTE           said by the primary: the learner has everything, and
 *                     from before it said so nothing was acknowledged without
 *                     the learner. The learner is in sync; a `leaver` leaves
 *                     (when it is the primary itself, which has stopped
 *                     serving before it said so, the learner is primary)
 *   HANDOVER          said by a primary that has stopped serving: its heir is
 *                     primary
 *
 * One change of a slot at a time, and at most GW__ROUTE_LEARNERS learners a
 * server: the copies must not starve the pushes. Each slot counts as one,
 * unless somebody who knows better advises where slots are to be (PLACE). A
 * join moves no more replicas than its fair share, and hardly ever more
 * primaries. A death changes the slots of the dead; others follow only where
 * the load would else differ by two or more.
 *
 *   route.c          the commands
 *   route_place.c    slots placed first, and what is missing
 *   route_balance.c  uneven load
 *   route_advice.c   where they are advised to be, instead of even load
 *   route_table.c    tables, and which slot a key belongs to
 *   route_bytes.c    routes as bytes
 */
#ifndef GW__CLUSTER_ROUTE_H
#define GW__CLUSTER_ROUTE_H

#include "base/bytes.h"

#include <base/machine.h>
#include <gradwire/control.h>

enum { GW__ROUTE_LEARNERS = 4, GW__NO_NODE = 255 };

struct gw__slot_route {
    uint64_t term;   /* 0: was never placed */
    uint8_t primary; /* GW__NO_NODE: lost, or not placed yet */
    uint8_t count;   /* replicas in sync, the primary first */
    uint8_t replica[GW_PS_REPLICAS_MAX + 1];
    uint8_t learner; /* GW__NO_NODE: none */
    uint8_t leaver;  /* whom the learner replaces; GW__NO_NODE: nobody */
    uint8_t heir;    /* who is to become primary; GW__NO_NODE: nobody */
};

/* Where slots are to be; see route_advice.c. */
struct gw__advice {
    unsigned slots; /* 0: there is none */
    /* Who is to have each, the primary first; then GW__NO_NODE. */
    uint8_t node[GW_PS_SLOTS_MAX][GW_PS_REPLICAS_MAX];
};

struct gw__routes {
    uint64_t version;    /* grows with every change of anything here */
    unsigned slot_count; /* 0: there is no parameter server yet */
    unsigned replicas;   /* wanted */
    unsigned servers;    /* to be there before the slots are placed first */
    uint64_t drained;    /* servers that want to leave, as bits */
    struct gw__advice advice;
    struct gw__slot_route slots[GW_PS_SLOTS_MAX];
    unsigned table_count;
    struct gw_ps_table_config tables[GW_PS_TABLES_MAX];
};

void gw__routes_init(struct gw__routes *routes);
/* Sets up the parameter server; the same again is fine. GW_EINVAL: there cannot
 * be so many; GW_EMISMATCH: it was set up in another way. */
enum gw_err gw__routes_open(struct gw__routes *routes, unsigned slots,
                            unsigned replicas, unsigned servers,
                            struct gw_error *why);
/* The servers that are active now, as bits. Takes away what is gone, then takes
 * the next steps. True when anything has changed (and `version` has grown). */
bool gw__routes_servers(struct gw__routes *routes, uint64_t servers);
/* GW_EINVAL with a sentence, nothing changed: not this term, not this learner
 * or heir. */
enum gw_err gw__routes_promote(struct gw__routes *routes, unsigned slot,
                               uint64_t term, unsigned learner,
                               uint64_t servers, struct gw_error *why);
enum gw_err gw__routes_handover(struct gw__routes *routes, unsigned slot,
                                uint64_t term, unsigned heir, uint64_t servers,
                                struct gw_error *why);
/* Where slots are to be from now on; may come before gw__routes_open. Without
 * slots in it: loads are evened out again. Who makes it: placement.h. */
void gw__routes_advise(struct gw__routes *routes,
                       const struct gw__advice *advice, uint64_t servers);
/* Servers that want to leave: `drained` nodes get nothing new, and give away
 * what they have, from now on and until they are gone. */
bool gw__routes_drain(struct gw__routes *routes, uint64_t servers,
                      uint64_t drained);
/* Is in sync for, or learns, no slot any more. */
bool gw__routes_is_empty(const struct gw__routes *routes, unsigned node);
/* The table's number; made when there is none of that name. GW_EMISMATCH,
 * GW_EINVAL, GW_ENOMEM. */
enum gw_err gw__routes_table(struct gw__routes *routes,
                             const struct gw_ps_table_config *config,
                             unsigned *table, struct gw_error *why);

bool gw__route_in_sync(const struct gw__slot_route *slot, unsigned node);
/* Which slot a key of the table belongs to: hash for sparse, range for dense
 * tables. */
unsigned gw__route_slot(const struct gw__routes *routes,
                        const struct gw_ps_table_config *table, uint64_t key);

/* GW_EINVAL: no table can be like this. */
enum gw_err gw__route_check_table(const struct gw_ps_table_config *config,
                                  struct gw_error *why);
void gw__put_table(struct gw__writer *writer,
                   const struct gw_ps_table_config *table);
void gw__get_table(struct gw__reader *reader, struct gw_ps_table_config *table);
void gw__put_advice(struct gw__writer *writer, const struct gw__advice *advice);
/* Bad where a slot names a server twice, or one that there cannot be. */
void gw__get_advice(struct gw__reader *reader, struct gw__advice *advice);
void gw__put_routes(struct gw__writer *writer, const struct gw__routes *routes);
/* Bad for what gw__put_routes did not write. */
void gw__get_routes(struct gw__reader *reader, struct gw__routes *routes);

#endif
