/* SPDX-License-Identifier: MIT
 *
 * Round commits in a slot. The pending pushes of the items to apply become one
 * update per key; those of the items to drop are deleted. Pushes are added in
 * the order of the round commit, key by key, in float. This order is the same
 * for any number of servers. A single item is applied push by push.
 *
 *     marks[place]   1 + index of the key's sum, 0: none yet
 *     sums[index]    the sum; `places` has its place, in the order of the
 *                    first use
 */
#include "ps/server/hogwild.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_COMMITS_PER_ENTRY = 32 };

/* Creates rows for all keys of the item's pushes and counts their floats. */
static bool prepare_pending(struct gw__slot *slot,
                            struct gw__pending_item *entry,
                            uint64_t key_floats[GW_PS_TABLES_MAX])
{
    for (struct gw__pending_push *p = entry->first; p; p = p->next) {
        struct gw__store *store = gw__slot_store(slot, p->keys->table);
        if (!store ||
            gw__keys_find(p->keys, store, slot->generation, true, NULL))
            return false;
        key_floats[p->keys->table] += (uint64_t)p->keys->count * p->width;
    }
    return true;
}

static bool grow_memory(void **memory, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return true;
    void *more = calloc(1, bytes + bytes / 2);
    if (!more)
        return false;
    free(*memory);
    *memory = more;
    *room = bytes + bytes / 2;
    return true;
}

/* Does all that may fail before the first change. */
static bool prepare_commit(struct gw__slot *slot, unsigned group,
                           const struct gw__round_commit *commit)
{
    struct gw__server *server = slot->server;
    uint64_t floats[GW_PS_TABLES_MAX] = {0}, most = 0, rows = 0;
    for (unsigned i = 0; i < commit->apply; i++) {
        struct gw__pending_item *entry =
            gw__pending_find(&slot->pending, group, commit->items[i]);
        if (entry && !prepare_pending(slot, entry, floats))
            return false;
    }
    for (unsigned t = 0; t < GW_PS_TABLES_MAX; t++) {
        most = floats[t] > most ? floats[t] : most;
        if (floats[t] > 0 && gw__store_rows(slot->stores[t]) > rows)
            rows = gw__store_rows(slot->stores[t]);
    }
    void *sums = server->sums, *marks = server->marks;
    bool fits =
        grow_memory(&sums, &server->sums_room, most * sizeof(float)) &&
        gw__server_places(server, (size_t)rows) &&
        grow_memory(&marks, &server->marks_room, rows * sizeof(uint32_t));
    server->sums = sums;
    server->marks = marks;
    return fits;
}

static void add_row(float *sum, const float *row, size_t width)
{
    for (size_t i = 0; i < width; i++)
        sum[i] += row[i];
}

/* Adds a push to the sums; returns the new number of sums. */
static uint32_t sum_push(struct gw__server *server,
                         const struct gw__pending_push *push, uint32_t count)
{
    size_t width = push->width;
    for (uint32_t i = 0; i < push->keys->count; i++) {
        uint32_t place = push->keys->places[i];
        const float *row = push->values + i * width;
        uint32_t *mark = &server->marks[place];
        if (*mark) {
            add_row(server->sums + (*mark - 1) * width, row, width);
            continue;
        }
        memcpy(server->sums + count * width, row, width * sizeof *row);
        server->places[count++] = place;
        *mark = count;
    }
    return count;
}

static void apply_sums(struct gw__slot *slot, unsigned group,
                       const struct gw__round_commit *commit, unsigned table)
{
    struct gw__server *server = slot->server;
    uint32_t count = 0;
    for (unsigned i = 0; i < commit->apply; i++) {
        const struct gw__pending_item *entry =
            gw__pending_find(&slot->pending, group, commit->items[i]);
        for (const struct gw__pending_push *p = entry ? entry->first : NULL; p;
             p = p->next)
            if (p->keys->table == table)
                count = sum_push(server, p, count);
    }
    gw__store_update_parallel(server->config.thread_pool, slot->stores[table],
                              server->places, count, server->sums,
                              commit->scale);
    for (uint32_t i = 0; i < count; i++)
        server->marks[server->places[i]] = 0;
}

static void apply_single(struct gw__slot *slot, unsigned group,
                         const struct gw__round_commit *commit)
{
    const struct gw__pending_item *entry =
        gw__pending_find(&slot->pending, group, commit->items[0]);
    for (const struct gw__pending_push *p = entry ? entry->first : NULL; p;
         p = p->next)
        gw__store_update_parallel(slot->server->config.thread_pool,
                                  slot->stores[p->keys->table], p->keys->places,
                                  p->keys->count, p->values, commit->scale);
}

/* ---- dropped items ---- */

static void drop_work_item(struct gw__slot *slot, unsigned group,
                           struct gw__work_item item)
{
    unsigned pushes =
        gw__pending_item_free(gw__pending_remove(&slot->pending, group, item));
    if (slot->role == GW_PS_PRIMARY)
        slot->server->counts.dropped += pushes;
}

static bool remember(struct gw__slot *slot, unsigned group,
                     const struct gw__round_commit *commit, uint64_t index)
{
    for (unsigned i = 0; i < commit->apply + commit->drop; i++) {
        const struct gw__work_item *item = &commit->items[i];
        struct gw__dedup_worker *worker =
            gw__dedup_make(&slot->dedup, item->node, item->incarnation, index);
        if (!worker)
            return false;
        if (item->clock + 1 > worker->over[group])
            worker->over[group] = item->clock + 1;
    }
    return true;
}

static void save_mark(struct gw__slot *slot, uint64_t mark)
{
    const struct gw__server_out *out = &slot->server->config.out;
    if (slot->role != GW_PS_PRIMARY || !out->saved)
        return;
    size_t bytes = gw__slot_save(slot, NULL, 0);
    void *data = malloc(bytes);
    if (data) {
        gw__slot_save(slot, data, bytes);
        out->saved(out->context, mark, slot->number, data, bytes);
    } else {
        gw__server_trouble(slot->server, "no memory to save slot %u",
                           slot->number);
    }
    free(data);
}

static bool apply_round_commit(struct gw__slot *slot, unsigned group,
                               const struct gw__round_commit *commit,
                               uint64_t index)
{
    if (commit->number != slot->closed[group] + 1)
        return true;
    if (!prepare_commit(slot, group, commit) ||
        !remember(slot, group, commit, index))
        return false;
    gw__hogwild_rest(slot->server);
    if (commit->apply == 1)
        apply_single(slot, group, commit);
    else
        for (unsigned t = 0; t < GW_PS_TABLES_MAX && commit->apply; t++)
            if (slot->stores[t])
                apply_sums(slot, group, commit, t);
    for (unsigned i = 0; i < commit->apply; i++)
        gw__pending_item_free(
            gw__pending_remove(&slot->pending, group, commit->items[i]));
    for (unsigned i = 0; i < commit->drop; i++)
        drop_work_item(slot, group, commit->items[commit->apply + i]);
    slot->closed[group] = commit->number;
    if (commit->mark)
        save_mark(slot, commit->mark);
    return true;
}

bool gw__slot_apply_round_commits(struct gw__slot *slot,
                                  const struct gw__entry *entry)
{
    struct gw__reader reader = gw__reader_on(entry->data, entry->bytes);
    unsigned count = gw__get_u16(&reader);
    for (unsigned i = 0; i < count; i++) {
        struct gw__round_commit commit;
        gw__get_round_commit(&reader, &commit);
        if (reader.bad)
            return true;
        gw__failpoint(GW__AT_PS_CLOSED);
        if (!apply_round_commit(slot, entry->group, &commit, entry->index))
            return false;
    }
    if (slot->role == GW_PS_PRIMARY) {
        slot->report_due = true;
        slot->server->pulls_due = true;
    }
    return true;
}

/* ---- appending ---- */

static bool append_some(struct gw__slot *slot, uint64_t now_ns, unsigned group,
                        uint64_t from)
{
    const struct gw__server *server = slot->server;
    uint64_t through = from - 1;
    while (through - from + 1 < ROUND_COMMITS_PER_ENTRY &&
           gw__round_commits_get(server, group, through + 1))
        through++;
    if (through < from)
        return false;
    size_t room = 2 + (size_t)(through - from + 1) * GW__ROUND_COMMIT_BYTES_MAX;
    void *data = malloc(room);
    if (!data)
        return false;
    struct gw__writer writer = gw__writer_on(data, room);
    gw__put_u16(&writer, (unsigned)(through - from + 1));
    for (uint64_t i = from; i <= through; i++)
        gw__put_round_commit(&writer, gw__round_commits_get(server, group, i));
    struct gw__entry entry = {.kind = GW__ENTRY_CLOSE,
                              .group = (uint8_t)group,
                              .data = data,
                              .bytes = writer.used};
    bool appended = gw__writer_fits(&writer) &&
                    gw__slot_append(slot, now_ns, &entry) == GW_OK;
    free(data);
    if (appended)
        slot->closed_appended[group] = through;
    return appended;
}

void gw__slot_append_round_commits(struct gw__slot *slot, uint64_t now_ns,
                                   unsigned group)
{
    if (slot->role != GW_PS_PRIMARY || slot->frozen || slot->fenced ||
        !gw__slot_is_caught_up(slot))
        return;
    uint64_t *appended = &slot->closed_appended[group];
    do {
        if (*appended < slot->closed[group])
            *appended = slot->closed[group];
    } while (append_some(slot, now_ns, group, *appended + 1));
}
