/* SPDX-License-Identifier: MIT
 *
 * The slots in the order of their servers, and scratch memory for sorting keys
 * by slot, whose cost depends on the slots with keys only.
 */
#ifndef GW__PS_SLOT_ORDER_H
#define GW__PS_SLOT_ORDER_H

#include "cluster/routes/route.h"

struct gw__slot_order {
    uint64_t placement; /* of the order; see struct gw__worker */
    uint16_t slots[GW_PS_SLOTS_MAX];
    uint16_t rank[GW_PS_SLOTS_MAX]; /* by slot: its index in `slots` */
    /* By slot, all 0 between calls: its keys, and the place of the next one. */
    uint32_t counts[GW_PS_SLOTS_MAX], next[GW_PS_SLOTS_MAX];
};

void gw__slot_order_make(struct gw__slot_order *order,
                         const struct gw__routes *routes);
/* Puts the `count` slots of `used`, which are those with `counts`, into the
 * order. */
void gw__slot_order_sort(const struct gw__slot_order *order,
                         const struct gw__routes *routes, uint16_t *used,
                         unsigned count);

#endif
