/* SPDX-License-Identifier: MIT
 *
 * Encodes and decodes routes. A state has only one encoding, so equal routes
 * have equal bytes; bytes that are not from gw__put_routes are refused.
 */
#include "route_parts.h"

#include <string.h>

static void put_float(struct gw__writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    gw__put_u32(w, bits);
}

static float get_float(struct gw__reader *r)
{
    uint32_t bits = gw__get_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- slots ---- */

/* A slot at rest takes 2 + 2 * replicas bytes after its term, and a change 2
 * for each server in it. */
enum { COUNT = 7, LEARNER = 8, LEAVER = 16, SUCCESSOR = 32, SHAPE = 63 };

static void put_changing(struct gw__writer *w, unsigned node)
{
    if (node != GW__NO_NODE)
        gw__put_node(w, node);
}

/* Terms are small: 7 bits per byte, the lowest first. */
static void put_term(struct gw__writer *w, uint64_t term)
{
    for (; term >= 128; term >>= 7)
        gw__put_u8(w, (unsigned)(term & 127) | 128);
    gw__put_u8(w, (unsigned)term);
}

static uint64_t get_term(struct gw__reader *r)
{
    uint64_t term = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned byte = gw__get_u8(r);
        gw__reader_demand(r, shift < 63 || (shift == 63 && byte <= 1));
        gw__reader_demand(r, shift == 0 || byte > 0); /* only one encoding */
        if (r->bad)
            return 0;
        term |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return term;
    }
}

static void put_slot(struct gw__writer *w, const struct gw__slot_route *slot)
{
    unsigned shape = slot->count;
    shape |= slot->learner != GW__NO_NODE ? LEARNER : 0;
    shape |= slot->leaver != GW__NO_NODE ? LEAVER : 0;
    shape |= slot->successor != GW__NO_NODE ? SUCCESSOR : 0;
    put_term(w, slot->term);
    gw__put_u8(w, shape);
    for (unsigned i = 0; i < slot->count; i++)
        gw__put_node(w, slot->replica[i]);
    put_changing(w, slot->learner);
    put_changing(w, slot->leaver);
    put_changing(w, slot->successor);
}

/* A learner must learn, a leaver and a successor must be in sync, a successor
 * must not be primary yet, and there must be one change at a time. */
static bool is_right(const struct gw__slot_route *slot)
{
    bool learns = slot->learner != GW__NO_NODE;
    bool leaves = slot->leaver != GW__NO_NODE;
    bool inherits = slot->successor != GW__NO_NODE;
    if (slot->term == 0 && slot->count > 0)
        return false;
    if (slot->count == 0 && (learns || leaves || inherits))
        return false;
    if (learns && (inherits || gw__route_in_sync(slot, slot->learner)))
        return false;
    if (leaves && (!learns || !gw__route_in_sync(slot, slot->leaver)))
        return false;
    return !inherits || (slot->successor != slot->primary &&
                         gw__route_in_sync(slot, slot->successor));
}

static void get_slot(struct gw__reader *r, struct gw__slot_route *slot)
{
    gw__route_clear(slot);
    slot->term = get_term(r);
    unsigned shape = gw__get_u8_below(r, SHAPE + 1);
    unsigned count = shape & COUNT;
    gw__reader_demand(r, count <= GW_PS_REPLICAS_MAX);
    while (slot->count < count && !r->bad) {
        unsigned node = gw__get_node(r);
        gw__reader_demand(r, !gw__route_in_sync(slot, node));
        slot->replica[slot->count++] = (uint16_t)node;
    }
    slot->primary = slot->replica[0];
    if (shape & LEARNER)
        slot->learner = (uint16_t)gw__get_node(r);
    if (shape & LEAVER)
        slot->leaver = (uint16_t)gw__get_node(r);
    if (shape & SUCCESSOR)
        slot->successor = (uint16_t)gw__get_node(r);
    gw__reader_demand(r, is_right(slot));
}

/* ---- tables ---- */

void gw__put_table(struct gw__writer *w, const struct gw_ps_table_config *t)
{
    gw__put_text(w, t->name);
    gw__put_u32(w, t->width);
    gw__put_u32(w, t->updater);
    gw__put_u32(w, t->group);
    gw__put_u32(w, t->dense);
    put_float(w, t->rate);
    put_float(w, t->momentum);
    put_float(w, t->beta1);
    put_float(w, t->beta2);
    put_float(w, t->epsilon);
    put_float(w, t->beta);
    put_float(w, t->l1);
    put_float(w, t->l2);
    put_float(w, t->init_range);
    gw__put_u64(w, t->init_seed);
}

void gw__get_table(struct gw__reader *r, struct gw_ps_table_config *t)
{
    struct gw_error why;
    memset(t, 0, sizeof *t);
    gw__get_text(r, t->name, sizeof t->name);
    t->width = gw__get_u32(r);
    t->updater = gw__get_u32(r);
    t->group = gw__get_u32(r);
    t->dense = gw__get_u32(r);
    t->rate = get_float(r);
    t->momentum = get_float(r);
    t->beta1 = get_float(r);
    t->beta2 = get_float(r);
    t->epsilon = get_float(r);
    t->beta = get_float(r);
    t->l1 = get_float(r);
    t->l2 = get_float(r);
    t->init_range = get_float(r);
    t->init_seed = gw__get_u64(r);
    gw__reader_demand(r, gw__route_check_table(t, &why) == GW_OK);
}

/* ---- all ---- */

void gw__put_routes(struct gw__writer *w, const struct gw__routes *routes)
{
    gw__put_u64(w, routes->version);
    gw__put_advice(w, &routes->advice);
    gw__put_u16(w, routes->slot_count);
    if (routes->slot_count == 0)
        return;
    gw__put_u8(w, routes->replicas);
    gw__put_u16(w, routes->servers);
    gw__put_nodes(w, &routes->drained);
    for (unsigned i = 0; i < routes->slot_count; i++)
        put_slot(w, &routes->slots[i]);
    gw__put_u8(w, routes->table_count);
    for (unsigned i = 0; i < routes->table_count; i++)
        gw__put_table(w, &routes->tables[i]);
}

static void get_tables(struct gw__reader *r, struct gw__routes *routes)
{
    unsigned count = gw__get_u8_below(r, GW_PS_TABLES_MAX + 1);
    while (routes->table_count < count && !r->bad) {
        struct gw_ps_table_config *table = &routes->tables[routes->table_count];
        gw__get_table(r, table);
        for (unsigned i = 0; i < routes->table_count; i++)
            gw__reader_demand(r,
                              strcmp(routes->tables[i].name, table->name) != 0);
        routes->table_count++;
    }
}

void gw__get_routes(struct gw__reader *r, struct gw__routes *routes)
{
    gw__routes_clear(routes);
    routes->version = gw__get_u64(r);
    gw__get_advice(r, &routes->advice);
    routes->slot_count = gw__get_u16_below(r, GW_PS_SLOTS_MAX + 1);
    gw__reader_demand(r, (routes->version > 0) == (routes->slot_count > 0));
    if (routes->slot_count == 0)
        return;
    routes->replicas = gw__get_u8_below(r, GW_PS_REPLICAS_MAX + 1);
    routes->servers = gw__get_u16_below(r, GW__ROUTE_NODES + 1);
    gw__reader_demand(r, routes->replicas > 0 && routes->servers > 0);
    routes->drained = gw__get_nodes(r);
    for (unsigned i = 0; i < routes->slot_count && !r->bad; i++)
        get_slot(r, &routes->slots[i]);
    get_tables(r, routes);
    if (r->bad)
        gw__routes_clear(routes);
}
