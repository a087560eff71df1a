/* SPDX-License-Identifier: MIT
 *
 * Moves slots to their advised places (PLACE): at first, and later slot by
 * slot, by the same steps as for balancing. A learner replaces a replica that
 * is not advised. When all replicas are in place, the first of them is made
 * primary as the successor.
 *
 * Only advised servers that may still get slots count, up to the wanted number;
 * so advice from before the last death does no harm. Missing servers are not
 * awaited: see gw__place_missing. Following the advice does not change it, so
 * the moves end.
 */
#include "route_parts.h"

enum { NO_SERVER = GW__NO_NODE };

/* ---- the command ---- */

static bool is_sound(const struct gw__advice *advice)
{
    for (unsigned i = 0; i < advice->slots; i++)
        for (unsigned k = 0; k < GW_PS_REPLICAS_MAX; k++) {
            unsigned node = advice->node[i][k];
            if (node >= GW__ROUTE_NODES && node != GW__NO_NODE)
                return false;
            for (unsigned j = 0; j < k; j++)
                if (node != GW__NO_NODE && advice->node[i][j] == node)
                    return false;
        }
    return advice->slots <= GW_PS_SLOTS_MAX;
}

void gw__advice_clear(struct gw__advice *advice, unsigned slots)
{
    advice->slots = slots;
    for (unsigned i = 0; i < slots; i++)
        for (unsigned k = 0; k < GW_PS_REPLICAS_MAX; k++)
            advice->node[i][k] = GW__NO_NODE;
}

void gw__put_advice(struct gw__writer *w, const struct gw__advice *advice)
{
    gw__put_u16(w, advice->slots);
    for (unsigned i = 0; i < advice->slots; i++) {
        unsigned count = 0;
        while (count < GW_PS_REPLICAS_MAX &&
               advice->node[i][count] != GW__NO_NODE)
            count++;
        gw__put_u8(w, count);
        for (unsigned k = 0; k < count; k++)
            gw__put_node(w, advice->node[i][k]);
    }
}

void gw__get_advice(struct gw__reader *r, struct gw__advice *advice)
{
    gw__advice_clear(advice, gw__get_u16_below(r, GW_PS_SLOTS_MAX + 1));
    for (unsigned i = 0; i < advice->slots && !r->bad; i++) {
        unsigned count = gw__get_u8_below(r, GW_PS_REPLICAS_MAX + 1);
        for (unsigned k = 0; k < count; k++)
            advice->node[i][k] = (uint16_t)gw__get_node(r);
    }
    gw__reader_demand(r, is_sound(advice));
    if (r->bad)
        advice->slots = 0;
}

/* ---- advised servers ---- */

/* Writes the servers of `eligible` that are advised for the slot, the primary
 * first, up to a maximum; returns their number. */
static unsigned list_advised(const struct gw__routes *routes, unsigned slot,
                             const struct gw_nodes *eligible, unsigned most,
                             uint16_t out[GW_PS_REPLICAS_MAX])
{
    unsigned count = 0;
    if (slot >= routes->advice.slots)
        return 0;
    for (unsigned k = 0; k < GW_PS_REPLICAS_MAX && count < most; k++)
        if (gw__has_node(eligible, routes->advice.node[slot][k]))
            out[count++] = routes->advice.node[slot][k];
    return count;
}

unsigned gw__advised_next(const struct gw__routes *routes, unsigned slot,
                          const struct gw__plan_loads *loads)
{
    uint16_t nodes[GW_PS_REPLICAS_MAX];
    unsigned count =
        list_advised(routes, slot, &loads->eligible, loads->wanted, nodes);
    for (unsigned k = 0; k < count; k++)
        if (!gw__route_has(&routes->slots[slot], nodes[k]))
            return nodes[k];
    return NO_SERVER;
}

/* ---- following it ---- */

static bool is_among(const uint16_t *nodes, unsigned count, unsigned node)
{
    for (unsigned i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* A replica that is not advised; the primary last. */
static unsigned superfluous(const struct gw__slot_route *slot,
                            const uint16_t *nodes, unsigned count)
{
    for (unsigned i = slot->count; i-- > 0;)
        if (!is_among(nodes, count, slot->replica[i]))
            return slot->replica[i];
    return NO_SERVER;
}

static void follow_advice(struct gw__routes *routes, unsigned number,
                          struct gw__plan_loads *loads)
{
    struct gw__slot_route *slot = &routes->slots[number];
    uint16_t nodes[GW_PS_REPLICAS_MAX];
    unsigned count =
        list_advised(routes, number, &loads->eligible, loads->wanted, nodes);
    unsigned next = gw__advised_next(routes, number, loads);
    if (count == 0 || slot->count == 0 || !gw__route_is_idle(slot))
        return;
    if (next == NO_SERVER) {
        if (slot->primary != nodes[0])
            slot->successor = nodes[0];
        return;
    }
    unsigned leaver = superfluous(slot, nodes, count);
    if (leaver == NO_SERVER || loads->learning[next] >= GW__ROUTE_LEARNERS)
        return;
    loads->learning[next]++;
    slot->learner = (uint16_t)next;
    slot->leaver = (uint16_t)leaver;
}

void gw__advice_follow(struct gw__routes *routes, struct gw__plan_loads *loads)
{
    for (unsigned i = 0; i < routes->slot_count; i++)
        follow_advice(routes, i, loads);
}
