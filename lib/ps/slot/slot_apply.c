/* SPDX-License-Identifier: MIT
 *
 * The effect of a log entry on the state of a slot. It is deterministic:
 * replicas with the same applied entries are equal. A push counts once, even if
 * it is in the log twice (two primaries may have appended it).
 */
#include "ps/server/hogwild.h"

#include <string.h>

bool gw__slot_can_apply(const struct gw__slot *slot,
                        const struct gw__entry *entry)
{
    return entry->kind != GW__ENTRY_PUSH ||
           gw__server_has_table(slot->server, entry->table);
}

/* The places of the entry's keys; missing rows are created. */
static const uint32_t *find_places(struct gw__slot *slot,
                                   const struct gw__entry *entry,
                                   struct gw__store *store)
{
    if (entry->keys)
        return gw__keys_find(entry->keys, store, slot->generation, true, NULL)
                   ? NULL
                   : entry->keys->places;
    uint32_t *places = gw__server_places(slot->server, entry->key_count);
    if (!places || gw__store_find(store, entry->key_data, entry->key_count,
                                  true, places, NULL))
        return NULL;
    return places;
}

static bool update(struct gw__slot *slot, const struct gw__entry *entry)
{
    struct gw__server *server = slot->server;
    struct gw__store *store = gw__slot_store(slot, entry->table);
    size_t count =
        (size_t)entry->key_count * server->routes.tables[entry->table].width;
    const uint32_t *places = store ? find_places(slot, entry, store) : NULL;
    if (!places)
        return false;
    if (entry->at_once && gw__hogwild_apply(slot, entry, store, places))
        return true;
    gw__hogwild_rest(server);
    const float *values =
        gw__server_values(server, entry->data, count, entry->half);
    if (!values)
        return false;
    gw__store_update_parallel(server->config.thread_pool, store, places,
                              entry->key_count, values, 1);
    return true;
}

static bool hold_push(struct gw__slot *slot, const struct gw__entry *entry)
{
    struct gw__server *server = slot->server;
    uint32_t width = server->routes.tables[entry->table].width;
    struct gw__work_item item = {entry->node, entry->incarnation, entry->clock};
    struct gw__keys *keys = entry->keys;
    if (keys)
        gw__keys_hold(keys);
    else
        keys = gw__keys_new(entry->table, slot->number, entry->key_data,
                            entry->key_count);
    struct gw__pending_push *push =
        keys ? gw__pending_add(&slot->pending, entry->group, item, keys, width)
             : NULL;
    gw__keys_release(keys);
    if (!push)
        return false;
    size_t count = (size_t)entry->key_count * width;
    if (entry->half)
        gw__from_half(push->values, entry->data, count);
    else if (count > 0)
        memcpy(push->values, entry->data, count * sizeof(float));
    return true;
}

static bool apply_push(struct gw__slot *slot, const struct gw__entry *entry)
{
    struct gw__server *server = slot->server;
    struct gw__dedup_worker *worker = gw__dedup_make(
        &slot->dedup, entry->node, entry->incarnation, entry->index);
    if (!worker)
        return false;
    if (gw__dedup_has(worker, entry->sequence) && !server->config.no_dedupe)
        return true;
    bool in_work_item = entry->clock != GW__NO_CLOCK;
    if (in_work_item && entry->clock < worker->over[entry->group])
        server->counts.dropped += slot->role == GW_PS_PRIMARY;
    else if (in_work_item ? !hold_push(slot, entry) : !update(slot, entry))
        return false;
    gw__dedup_add(worker, entry->low_watermark, entry->sequence);
    return true;
}

/* A refused command is refused on all replicas alike. */
static void apply_clock(struct gw__slot *slot, const struct gw__entry *entry)
{
    struct gw__server *server = slot->server;
    struct gw__clock *clock = slot->clocks[entry->group];
    struct gw__clock_command command;
    server->clock_why = (struct gw_error){.code = GW_OK};
    if (!clock)
        gw_fail(&server->clock_why, GW_EINTERNAL, "slot %u has no clock %u",
                slot->number, entry->group);
    else if (!gw__clock_decode(entry->data, entry->bytes, &command,
                               &server->clock_why) &&
             gw__clock_apply(clock, &command, &server->clock_why) == GW_OK)
        server->clock_why.code = GW_OK;
    if (slot->role == GW_PS_PRIMARY)
        server->clocks_changed |= 1U << entry->group;
}

bool gw__slot_apply(struct gw__slot *slot, const struct gw__entry *entry)
{
    switch (entry->kind) {
    case GW__ENTRY_PUSH:
        return apply_push(slot, entry);
    case GW__ENTRY_CLOSE:
        return gw__slot_apply_round_commits(slot, entry);
    case GW__ENTRY_CLOCK:
        apply_clock(slot, entry);
        return true;
    case GW__ENTRY_KINDS:
        break;
    }
    return true;
}
