/* SPDX-License-Identifier: MIT
 *
 * Balancing by load: measures the load of each slot and decides which slots to
 * move, so that no primary has much more load than another. Pure: counters and
 * time are the input, advice for the command PLACE is the output.
 *
 *   slot_load.c     rates of slots, and when to act
 *   slot_balance.c  the new places of the slots
 *
 * The load of a slot is bytes per second of keys and values that its primary
 * answers. Slots must not move back and forth, so a move needs three things:
 *
 *     lasting    the fullest server has GW__LOAD_UNEVEN times the mean in
 *                GW__LOAD_WINDOWS windows in a row. Only the last one is used
 *                for the decision, so that an earlier load has no effect.
 *     at rest    nothing else moves, or has moved in these windows
 *     a gain     the largest load falls by GW__LOAD_GAIN at least
 *
 * If rates are known with an error below half of that gain, each plan lowers
 * the true largest load: a balance never returns to an earlier one. A slot that
 * is too hot for any server gives no gain, and stays.
 */
#ifndef GW__CLUSTER_SLOT_LOAD_H
#define GW__CLUSTER_SLOT_LOAD_H

#include "route.h"

enum { GW__LOAD_WINDOWS = 3, GW__LOAD_LEAST = 1024 /* bytes/s, all slots */ };
#define GW__LOAD_UNEVEN 1.2
#define GW__LOAD_GAIN   0.1

struct gw__slot_rate {
    double keys, bytes; /* per second, in the last window */
    /* The counters of this primary at the last note. */
    uint64_t keys_before, bytes_before;
    unsigned primary;
    uint64_t recorded_ns; /* 0: never */
};

struct gw__slot_load {
    struct gw__slot_rate rate[GW_PS_SLOTS_MAX];
    unsigned uneven;         /* windows in a row */
    unsigned rested;         /* windows in a row without a move */
    struct gw_nodes servers; /* in the last window */
    bool servers_changed;    /* since the last advice */
    bool advised;            /* advice has been given before */
};

/* Notes the total answers of the primary. Its counters begin again if the
 * primary or its process changes. */
void gw__slot_load_record(struct gw__slot_load *load, unsigned slot,
                          unsigned primary, uint64_t keys, uint64_t bytes,
                          uint64_t now_ns);
/* Ends a window, after all slots have been noted. True: *advice is new.
 * `servers`: candidates. */
bool gw__slot_load_end_window(struct gw__slot_load *load,
                              const struct gw__routes *routes,
                              const struct gw_nodes *servers,
                              struct gw__advice *advice);

/* Bytes per second of the slots of which `node` is primary. */
double gw__slot_load_of(const struct gw__slot_load *load,
                        const struct gw__routes *routes, unsigned node);
/* The largest of these loads over the mean; NaN: no load. */
double gw__slot_load_uneven(const struct gw__slot_load *load,
                            const struct gw__routes *routes,
                            const struct gw_nodes *servers);

/* ---- slot_balance.c ---- */

/* Computes places for slots with these loads: the routes with the fewest
 * changes that are needed. Returns the share by which the largest load
 * falls. */
double gw__slot_balance(const struct gw__routes *routes,
                        const double load[GW_PS_SLOTS_MAX],
                        const struct gw_nodes *servers,
                        struct gw__advice *advice);

#endif
