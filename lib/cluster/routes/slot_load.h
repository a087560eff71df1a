/* SPDX-License-Identifier: MIT
 *
 * Balance by load: what is asked of each slot, measured, and which slots are to
 * move so that no primary bears much more than another. Pure: counters and time
 * come in, advice for the command PLACE comes out.
 *
 *   slot_load.c     rates of slots, and when to act
 *   slot_balance.c  where the slots are to be
 *
 * The load of a slot is bytes a second of keys and values that its primary
 * answers. Slots must not move back and forth, so a move needs three things:
 *
 *     lasting    the fullest server bears GW__LOAD_UNEVEN times the mean in
 *                GW__LOAD_WINDOWS windows in a row. The last one decides alone,
 *                so that nothing in it is of a load that has changed since.
 *     at rest    nothing else moves, nor has moved in these windows
 *     a gain     the largest load falls by GW__LOAD_GAIN at least
 *
 * If rates are known to better than half of that gain, each plan lowers the
 * true largest load: a balance is never left for one that was before. A slot
 * that is too hot for any server gives no gain, and stays.
 */
#ifndef GW__CLUSTER_SLOT_LOAD_H
#define GW__CLUSTER_SLOT_LOAD_H

#include "route.h"

enum { GW__LOAD_WINDOWS = 3, GW__LOAD_LEAST = 1024 /* bytes/s, all slots */ };
#define GW__LOAD_UNEVEN 1.2
#define GW__LOAD_GAIN   0.1

struct gw__slot_rate {
    double keys, bytes; /* a second, in the last window */
    /* As they were when they were noted last, by this primary. */
    uint64_t keys_before, bytes_before;
    unsigned primary;
    uint64_t noted_ns; /* 0: never */
};

struct gw__slot_load {
    struct gw__slot_rate rate[GW_PS_SLOTS_MAX];
    unsigned uneven;      /* windows in a row */
    unsigned rested;      /* windows in a row in which nothing moved */
    uint64_t servers;     /* that were there in the last window, as bits */
    bool servers_changed; /* since the last advice */
    bool advised;         /* ever */
};

/* What the primary has answered since it began. Its counters begin again when
 * the primary or its process is another one. */
void gw__slot_load_note(struct gw__slot_load *load, unsigned slot,
                        unsigned primary, uint64_t keys, uint64_t bytes,
                        uint64_t now_ns);
/* A window is over: all slots have been noted. True: *advice is new. `servers`:
 * those that may have slots, as bits. */
bool gw__slot_load_look(struct gw__slot_load *load,
                        const struct gw__routes *routes, uint64_t servers,
                        struct gw__advice *advice);

/* Bytes a second of the slots that `node` is primary of. */
double gw__slot_load_of(const struct gw__slot_load *load,
                        const struct gw__routes *routes, unsigned node);
/* The largest of them over the mean; NaN: no load. */
double gw__slot_load_uneven(const struct gw__slot_load *load,
                            const struct gw__routes *routes, uint64_t servers);

/* ---- slot_balance.c ---- */

/* Where slots of such loads are to be: the routes with as few changes as it
 * takes. Returns by which share the largest load falls. */
double gw__slot_balance(const struct gw__routes *routes,
                        const double load[GW_PS_SLOTS_MAX], uint64_t servers,
                        struct gw__advice *advice);

#endif
