/* SPDX-License-Identifier: MIT
 *
 * Saves a slot's state as bytes, for learners and snapshots:
 *
 *     "gWS2" slots slot | tables | round commits, clocks | dedup | pending
 *
 * A table is saved with its name, configuration and rows (aligned to 8). A
 * restored table that does not exist here yet is saved unchanged. slot_load.c
 * reads the bytes.
 */
#include "ps/server/hogwild.h"
#include "slot_bytes.h"

static void pad(struct gw__writer *writer)
{
    while (writer->used % 8)
        gw__put_u8(writer, 0);
}

static void put_store(struct gw__writer *writer, const struct gw__store *store)
{
    size_t bytes = store ? gw__store_save(store, NULL, 0) : 0;
    gw__put_u64(writer, bytes);
    pad(writer);
    if (bytes > 0 && writer->out && writer->used <= writer->room &&
        bytes <= writer->room - writer->used)
        gw__store_save(store, writer->out + writer->used, bytes);
    writer->used += bytes;
}

static void put_tables(struct gw__writer *writer, const struct gw__slot *slot)
{
    const struct gw__routes *routes = &slot->server->routes;
    unsigned orphans = 0;
    for (const struct gw__orphan *o = slot->orphans; o; o = o->next)
        orphans++;
    gw__put_u8(writer, routes->table_count + orphans);
    for (unsigned t = 0; t < routes->table_count; t++) {
        gw__put_table(writer, &routes->tables[t]);
        put_store(writer, slot->stores[t]);
    }
    for (const struct gw__orphan *o = slot->orphans; o; o = o->next) {
        gw__put_table(writer, &o->config);
        gw__put_u64(writer, o->bytes);
        pad(writer);
        gw__put_bytes(writer, o->data, o->bytes);
    }
}

static void put_clock(struct gw__writer *writer, const struct gw__clock *clock)
{
    size_t bytes = clock ? gw__clock_save(clock, NULL, 0) : 0;
    gw__put_u64(writer, bytes);
    if (bytes > 0 && writer->out && writer->used <= writer->room &&
        bytes <= writer->room - writer->used)
        gw__clock_save(clock, writer->out + writer->used, bytes);
    writer->used += bytes;
}

size_t gw__slot_save(const struct gw__slot *slot, void *out, size_t room)
{
    uint8_t none;
    gw__hogwild_rest(slot->server);
    struct gw__writer writer =
        out ? gw__writer_on(out, room) : gw__writer_on(&none, 0);
    gw__put_u32(&writer, GW__SAVED_MAGIC);
    gw__put_u16(&writer, slot->server->routes.slot_count);
    gw__put_u16(&writer, slot->number);
    put_tables(&writer, slot);
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        gw__put_u64(&writer, slot->closed[g]);
        put_clock(&writer, slot->clocks[g]);
    }
    gw__put_dedup(&writer, &slot->dedup);
    gw__put_pending(&writer, &slot->pending);
    return writer.used;
}

uint64_t gw__slot_digest(struct gw__slot *slot)
{
    struct gw__writer writer = gw__writer_on(NULL, 0);
    gw__hogwild_rest(slot->server);
    /* The rows of a dense table exist from the first access, even by a pull,
     * which only the primary sees. */
    for (unsigned t = 0; t < GW_PS_TABLES_MAX; t++)
        if (gw__slot_store(slot, t) && gw__store_rows(slot->stores[t]) > 0) {
            gw__put_u8(&writer, t);
            gw__put_u64(&writer, gw__store_digest(slot->stores[t]));
        }
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        const struct gw__clock *clock = slot->clocks[g];
        gw__put_u64(&writer, slot->closed[g]);
        gw__put_u64(&writer, clock ? gw__clock_closed(clock) : 0);
        gw__put_u64(&writer, clock ? gw__clock_items(clock) : 0);
    }
    gw__put_dedup(&writer, &slot->dedup);
    gw__put_pending(&writer, &slot->pending);
    return writer.hash ? writer.hash : 1;
}
