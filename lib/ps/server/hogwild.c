/* SPDX-License-Identifier: MIT
 *
 * Hogwild updates as jobs of the thread pool; see hogwild.h.
 */
#include "hogwild.h"

#include <stdlib.h>
#include <string.h>

/* Smaller updates take less time than waking a thread. With UPDATES_MAX jobs
 * under way, a push takes the normal path, which waits for all of them. */
enum { SMALL_FLOATS = 4096, UPDATES_MAX = 4096 };

struct gw__hogwild_update {
    struct gw__thread_pool_job job; /* must be first: found by its address */
    struct gw__hogwild_update *next, *before;
    unsigned slot;
    uint32_t node;
    uint64_t incarnation, sequence;
    /* their requests have references to the message of `data` */
    struct gw__wait *waits;
    struct gw__store *store;
    const uint32_t *places; /* memory after this struct */
    float *values;          /* likewise, for f16; NULL: `data` has f32 */
    const void *data;
    size_t count, floats;
};

/* ---- pool threads ---- */

static void apply_update(struct gw__thread_pool_job *of)
{
    struct gw__hogwild_update *update = (struct gw__hogwild_update *)(void *)of;
    const float *values = update->data;
    if (update->values) {
        gw__from_half(update->values, update->data, update->floats);
        values = update->values;
    }
    gw__store_update_relaxed(update->store, update->places, update->count,
                             values, 1);
}

/* ---- data thread ---- */

/* Copies the places: those of a key list change when the list is used
 * elsewhere. */
static struct gw__hogwild_update *make_update(const struct gw__entry *entry,
                                              const uint32_t *places,
                                              size_t floats)
{
    size_t values = entry->half ? floats * sizeof(float) : 0;
    size_t count = entry->key_count;
    struct gw__hogwild_update *update =
        malloc(sizeof *update + values + count * sizeof *places);
    if (!update)
        return NULL;
    char *behind = (char *)(update + 1);
    memcpy(behind + values, places, count * sizeof *places);
    *update = (struct gw__hogwild_update){
        .job.work = apply_update,
        .node = entry->node,
        .incarnation = entry->incarnation,
        .sequence = entry->sequence,
        .places = (const uint32_t *)(void *)(behind + values),
        .values = entry->half ? (float *)(void *)behind : NULL,
        .data = entry->data,
        .count = count,
        .floats = floats};
    return update;
}

static void post_update(struct gw__slot *slot, struct gw__store *store,
                        struct gw__hogwild_update *update)
{
    struct gw__server *server = slot->server;
    update->slot = slot->number;
    update->store = store;
    update->next = server->hogwild_updates;
    if (update->next)
        update->next->before = update;
    server->hogwild_updates = update;
    server->hogwild_count++;
    gw__thread_pool_post(server->config.thread_pool, &update->job);
}

bool gw__hogwild_apply(struct gw__slot *slot, const struct gw__entry *entry,
                       struct gw__store *store, const uint32_t *places)
{
    struct gw__server *server = slot->server;
    const struct gw__server_config *config = &server->config;
    if (!config->hogwild || !config->thread_pool ||
        !gw__store_has_relaxed(store))
        return false;
    size_t floats =
        (size_t)entry->key_count * gw__store_updater(store)->config.width;
    if (floats < SMALL_FLOATS) {
        const float *values =
            gw__server_values(server, entry->data, floats, entry->half);
        if (values)
            gw__store_update_relaxed(store, places, entry->key_count, values,
                                     1);
        return values != NULL;
    }
    struct gw__hogwild_update *update =
        server->hogwild_count < UPDATES_MAX && entry->message
            ? make_update(entry, places, floats)
            : NULL;
    if (update)
        post_update(slot, store, update);
    return update != NULL;
}

bool gw__hogwild_join(struct gw__slot *slot, unsigned node,
                      uint64_t incarnation, uint64_t sequence,
                      struct gw__wait *wait)
{
    struct gw__hogwild_update *update = slot->server->hogwild_updates;
    while (update &&
           (update->slot != slot->number || update->node != node ||
            update->incarnation != incarnation || update->sequence != sequence))
        update = update->next;
    if (!update)
        return false;
    wait->next = update->waits;
    update->waits = wait;
    return true;
}

void gw__hogwild_rest(struct gw__server *server)
{
    if (server->hogwild_count > 0)
        gw__thread_pool_drain(server->config.thread_pool);
}

void gw__hogwild_collect(struct gw__server *server, uint64_t now_ns)
{
    while (server->hogwild_count > 0) {
        struct gw__hogwild_update *update =
            (struct gw__hogwild_update *)(void *)gw__thread_pool_pop_done(
                server->config.thread_pool);
        if (!update)
            return;
        *(update->before ? &update->before->next : &server->hogwild_updates) =
            update->next;
        if (update->next)
            update->next->before = update->before;
        server->hogwild_count--;
        gw__finish_waits(server, now_ns, update->waits, true);
        free(update);
    }
}
