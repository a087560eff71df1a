/* SPDX-License-Identifier: MIT
 *
 * Sorting slots by their servers; see slot_order.h.
 */
#include "slot_order.h"

/* A counting sort of the slots by their primaries. */
void gw__slot_order_make(struct gw__slot_order *order,
                         const struct gw__routes *routes)
{
    uint16_t next[GW__ROUTE_NODES + 2] = {0};
    for (unsigned slot = 0; slot < routes->slot_count; slot++) {
        unsigned node = routes->slots[slot].primary;
        next[1 + (node < GW__ROUTE_NODES ? node : GW__ROUTE_NODES)]++;
    }
    for (unsigned node = 0; node < GW__ROUTE_NODES; node++)
        next[node + 1] = (uint16_t)(next[node] + next[node + 1]);
    for (unsigned slot = 0; slot < routes->slot_count; slot++) {
        unsigned node = routes->slots[slot].primary;
        unsigned at = next[node < GW__ROUTE_NODES ? node : GW__ROUTE_NODES]++;
        order->slots[at] = (uint16_t)slot;
        order->rank[slot] = (uint16_t)at;
    }
}

static void sort_few(const struct gw__slot_order *order, uint16_t *used,
                     unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        uint16_t slot = used[i];
        unsigned at = i;
        for (; at > 0 && order->rank[used[at - 1]] > order->rank[slot]; at--)
            used[at] = used[at - 1];
        used[at] = slot;
    }
}

/* Few are sorted by insertion; many are collected from the whole order. */
void gw__slot_order_sort(const struct gw__slot_order *order,
                         const struct gw__routes *routes, uint16_t *used,
                         unsigned count)
{
    enum { FEW = 16 };
    unsigned at = 0;
    if (count <= FEW) {
        sort_few(order, used, count);
        return;
    }
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (order->counts[order->slots[i]] > 0)
            used[at++] = order->slots[i];
}
