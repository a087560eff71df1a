/* SPDX-License-Identifier: MIT
 *
 * Hogwild updates as jobs of the thread pool; see hogwild.h.
 */
#include "hogwild.h"

#include <stdlib.h>
#include <string.h>

/* Smaller updates take less time than waking a thread. With JOBS_MAX jobs under
 * way, a push takes the normal path, which waits for all of them. */
enum { SMALL_FLOATS = 4096, JOBS_MAX = 4096 };

struct gw__hogwild_request {
    struct gw__pool_job job; /* must be first: found by its address */
    struct gw__hogwild_request *next, *before;
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

static void apply_job(struct gw__pool_job *of)
{
    struct gw__hogwild_request *job = (struct gw__hogwild_request *)(void *)of;
    const float *values = job->data;
    if (job->values) {
        gw__from_half(job->values, job->data, job->floats);
        values = job->values;
    }
    gw__store_update_relaxed(job->store, job->places, job->count, values, 1);
}

/* ---- data thread ---- */

/* Copies the places: those of a key list change when the list is used
 * elsewhere. */
static struct gw__hogwild_request *
make_job(const struct gw__entry *entry, const uint32_t *places, size_t floats)
{
    size_t values = entry->half ? floats * sizeof(float) : 0;
    size_t count = entry->key_count;
    struct gw__hogwild_request *job =
        malloc(sizeof *job + values + count * sizeof *places);
    if (!job)
        return NULL;
    char *behind = (char *)(job + 1);
    memcpy(behind + values, places, count * sizeof *places);
    *job = (struct gw__hogwild_request){
        .job.work = apply_job,
        .node = entry->node,
        .incarnation = entry->incarnation,
        .sequence = entry->sequence,
        .places = (const uint32_t *)(void *)(behind + values),
        .values = entry->half ? (float *)(void *)behind : NULL,
        .data = entry->data,
        .count = count,
        .floats = floats};
    return job;
}

static void post_result(struct gw__slot *slot, struct gw__store *store,
                        struct gw__hogwild_request *job)
{
    struct gw__server *server = slot->server;
    job->slot = slot->number;
    job->store = store;
    job->next = server->hogwild_jobs;
    if (job->next)
        job->next->before = job;
    server->hogwild_jobs = job;
    server->hogwild_count++;
    gw__thread_pool_post(server->config.pool, &job->job);
}

bool gw__hogwild_apply(struct gw__slot *slot, const struct gw__entry *entry,
                       struct gw__store *store, const uint32_t *places)
{
    struct gw__server *server = slot->server;
    const struct gw__server_config *config = &server->config;
    if (!config->hogwild || !config->pool || !gw__store_has_relaxed(store))
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
    struct gw__hogwild_request *job =
        server->hogwild_count < JOBS_MAX && entry->message
            ? make_job(entry, places, floats)
            : NULL;
    if (job)
        post_result(slot, store, job);
    return job != NULL;
}

bool gw__hogwild_join(struct gw__slot *slot, unsigned node,
                      uint64_t incarnation, uint64_t sequence,
                      struct gw__wait *wait)
{
    struct gw__hogwild_request *job = slot->server->hogwild_jobs;
    while (job &&
           (job->slot != slot->number || job->node != node ||
            job->incarnation != incarnation || job->sequence != sequence))
        job = job->next;
    if (!job)
        return false;
    wait->next = job->waits;
    job->waits = wait;
    return true;
}

void gw__hogwild_rest(struct gw__server *server)
{
    if (server->hogwild_count > 0)
        gw__thread_pool_drain(server->config.pool);
}

void gw__hogwild_collect(struct gw__server *server, uint64_t now_ns)
{
    while (server->hogwild_count > 0) {
        struct gw__hogwild_request *job =
            (struct gw__hogwild_request *)(void *)gw__thread_pool_take(
                server->config.pool);
        if (!job)
            return;
        *(job->before ? &job->before->next : &server->hogwild_jobs) = job->next;
        if (job->next)
            job->next->before = job->before;
        server->hogwild_count--;
        gw__settle_waits(server, now_ns, job->waits, true);
        free(job);
    }
}
