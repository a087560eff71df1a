/* SPDX-License-Identifier: MIT
 *
 * Loads a slot's state from bytes (slot_save.c). Data of a table that this
 * server does not know (yet) are kept until a table of that name exists.
 */
#include "ps/server/server_parts.h"
#include "slot_bytes.h"

#include <stdlib.h>
#include <string.h>

struct saved_table {
    struct gw_ps_table_config config;
    const uint8_t *data;
    size_t bytes;
};

static void get_table(struct gw__reader *reader, const uint8_t *begin,
                      struct saved_table *table)
{
    gw__get_table(reader, &table->config);
    uint64_t bytes = gw__get_u64(reader);
    while (!reader->bad && (reader->at - begin) % 8)
        gw__get_u8(reader);
    gw__reader_demand(reader, bytes <= reader->left);
    if (reader->bad)
        return;
    table->data = reader->at;
    table->bytes = (size_t)bytes;
    reader->at += bytes;
    reader->left -= (size_t)bytes;
}

static struct gw__reader read_head(const void *data, size_t bytes,
                                   unsigned *slots, unsigned *slot,
                                   unsigned *tables)
{
    struct gw__reader reader = gw__reader_on(data, bytes);
    gw__reader_demand(&reader, gw__get_u32(&reader) == GW__SAVED_MAGIC);
    *slots = gw__get_u16_below(&reader, GW_PS_SLOTS_MAX + 1);
    *slot = gw__get_u16_below(&reader, GW_PS_SLOTS_MAX);
    *tables = gw__get_u8_below(&reader, 2 * GW_PS_TABLES_MAX + 1);
    return reader;
}

enum gw_err gw__slot_check_saved(const void *data, size_t bytes,
                                 struct gw_error *why)
{
    unsigned slots, slot, tables;
    struct gw__reader reader = read_head(data, bytes, &slots, &slot, &tables);
    for (unsigned i = 0; i < tables && !reader.bad; i++) {
        struct saved_table table;
        get_table(&reader, data, &table);
    }
    if (reader.bad || slot >= slots)
        return gw_fail(why, GW_EDATA, "%zu bytes are not the state of a slot",
                       bytes);
    return GW_OK;
}

/* ---- tables ---- */

static unsigned find_table(const struct gw__server *server, const char *name)
{
    unsigned t = 0;
    while (t < server->routes.table_count &&
           strcmp(server->routes.tables[t].name, name) != 0)
        t++;
    return t < server->routes.table_count ? t : GW_PS_TABLES_MAX;
}

static enum gw_err load_table(struct gw__slot *slot, unsigned table,
                              const struct gw_ps_table_config *config,
                              const void *data, size_t bytes,
                              struct gw_error *why)
{
    const struct gw_ps_table_config *now = &slot->server->routes.tables[table];
    if (now->width != config->width || now->updater != config->updater ||
        now->dense != config->dense)
        return gw_fail(
            why, GW_EDATA,
            "table \"%s\" now has a different width, updater or size",
            now->name);
    if (bytes == 0)
        return GW_OK;
    struct gw__store *store = gw__slot_store(slot, table);
    if (!store)
        return gw_fail(why, GW_ENOMEM, "no memory for table \"%s\"", now->name);
    return gw__store_load(store, data, bytes, why);
}

static enum gw_err keep_orphan(struct gw__slot *slot,
                               const struct saved_table *table,
                               struct gw_error *why)
{
    struct gw__orphan *orphan = malloc(sizeof *orphan + table->bytes);
    if (!orphan)
        return gw_fail(why, GW_ENOMEM, "no memory for table \"%s\"",
                       table->config.name);
    orphan->config = table->config;
    orphan->bytes = table->bytes;
    if (table->bytes > 0)
        memcpy(orphan->data, table->data, table->bytes);
    struct gw__orphan **end = &slot->orphans;
    while (*end)
        end = &(*end)->next;
    orphan->next = NULL;
    *end = orphan;
    return GW_OK;
}

static enum gw_err load_tables(struct gw__slot *slot, struct gw__reader *reader,
                               const uint8_t *begin, unsigned count,
                               uint8_t numbers[GW_PS_TABLES_MAX],
                               struct gw_error *why)
{
    for (unsigned i = 0; i < count && !reader->bad; i++) {
        struct saved_table table = {.bytes = 0};
        get_table(reader, begin, &table);
        if (reader->bad)
            break;
        unsigned number = find_table(slot->server, table.config.name);
        if (i < GW_PS_TABLES_MAX)
            numbers[i] = (uint8_t)number;
        enum gw_err err = number < GW_PS_TABLES_MAX
                              ? load_table(slot, number, &table.config,
                                           table.data, table.bytes, why)
                              : keep_orphan(slot, &table, why);
        if (err)
            return err;
    }
    return GW_OK;
}

void gw__slot_free_orphans(struct gw__slot *slot)
{
    while (slot->orphans) {
        struct gw__orphan *orphan = slot->orphans;
        slot->orphans = orphan->next;
        free(orphan);
    }
}

void gw__slot_adopt_orphans(struct gw__slot *slot)
{
    struct gw__orphan **at = &slot->orphans;
    while (*at) {
        struct gw__orphan *orphan = *at;
        unsigned table = find_table(slot->server, orphan->config.name);
        if (table == GW_PS_TABLES_MAX) {
            at = &orphan->next;
            continue;
        }
        struct gw_error why = {.code = GW_OK};
        if (load_table(slot, table, &orphan->config, orphan->data,
                       orphan->bytes, &why))
            gw__server_trouble(slot->server, "slot %u: %s", slot->number,
                               why.text);
        *at = orphan->next;
        free(orphan);
    }
}

/* ---- the whole ---- */

/* Round commits are numbered from 1, so larger numbers are invalid. */
#define CLOSED_MOST (UINT64_MAX / 2)

static enum gw_err load_clocks(struct gw__slot *slot, struct gw__reader *reader,
                               bool fresh, struct gw_error *why)
{
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX && !reader->bad; g++) {
        slot->closed[g] = gw__get_u64(reader);
        uint64_t bytes = gw__get_u64(reader);
        gw__reader_demand(reader, slot->closed[g] < CLOSED_MOST &&
                                      bytes <= reader->left);
        if (reader->bad || bytes == 0)
            continue;
        gw__clock_destroy(&slot->clocks[g]);
        enum gw_err err = gw__clock_new(&slot->clocks[g], why);
        if (!err)
            err = gw__clock_load(slot->clocks[g], reader->at, (size_t)bytes,
                                 fresh, why);
        if (err)
            return err;
        reader->at += bytes;
        reader->left -= (size_t)bytes;
    }
    return GW_OK;
}

enum gw_err gw__slot_load(struct gw__slot *slot, const void *data, size_t bytes,
                          bool fresh, struct gw_error *why)
{
    unsigned slots, number, tables;
    uint8_t numbers[GW_PS_TABLES_MAX];
    memset(numbers, GW_PS_TABLES_MAX, sizeof numbers);
    struct gw__reader reader = read_head(data, bytes, &slots, &number, &tables);
    if (!reader.bad &&
        (slots != slot->server->routes.slot_count || number != slot->number))
        return gw_fail(
            why, GW_EDATA,
            "the state is of slot %u of %u, but this is slot %u of %u", number,
            slots, slot->number, slot->server->routes.slot_count);
    enum gw_err err = load_tables(slot, &reader, data, tables, numbers, why);
    if (!err)
        err = load_clocks(slot, &reader, fresh, why);
    if (err)
        return err;
    gw__get_dedup(&reader, &slot->dedup);
    /* A fresh start repeats all open items, so their pushes are not loaded. */
    if (!fresh)
        gw__get_pending(&reader, &slot->pending, slot->number, numbers);
    if (fresh ? reader.bad : !gw__reader_done(&reader))
        return gw_fail(why, GW_EDATA, "the state of slot %u is damaged",
                       slot->number);
    return GW_OK;
}
