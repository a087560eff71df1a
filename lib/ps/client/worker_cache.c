/* SPDX-License-Identifier: MIT
 *
 * A cache of partitioned key lists, by the signature of the caller's list. A
 * repeated list costs one pass over its keys. An entry made with other routes
 * is made again.
 */
#include "worker_parts.h"

#include <string.h>

static const size_t bytes_max = (size_t)512 << 20;

/* ---- signatures ---- */

enum { LANES = 8 };

static const uint64_t factor = 0x9e3779b97f4a7c15;

static inline uint64_t stir(uint64_t sum, uint64_t key)
{
    sum ^= key;
    return (sum << 29 | sum >> 35) * factor;
}

/* Several independent lanes, since the steps of one lane must wait for each
 * other. */
static uint64_t keys_signature(const uint64_t *keys, size_t count,
                               uint64_t seed)
{
    uint64_t lanes[LANES], sum = stir(seed, count);
    size_t i = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        lanes[lane] = stir(seed, lane + 1);
    for (; i + LANES <= count; i += LANES)
        for (unsigned lane = 0; lane < LANES; lane++)
            lanes[lane] = stir(lanes[lane], keys[i + lane]);
    for (; i < count; i++)
        sum = stir(sum, keys[i]);
    for (unsigned lane = 0; lane < LANES; lane++)
        sum = stir(sum ^ sum >> 31, lanes[lane]);
    return sum ^ sum >> 32;
}

/* ---- the cache ---- */

static void evict_partitioning(struct gw__worker *worker, unsigned i)
{
    struct gw__partitioning *partitioning = worker->partitionings[i];
    worker->partitioning_bytes -= partitioning->bytes;
    worker->partitionings[i] =
        worker->partitionings[--worker->partitioning_count];
    gw__partitioning_release(partitioning);
}

static unsigned oldest(const struct gw__worker *worker)
{
    unsigned found = 0;
    for (unsigned i = 1; i < worker->partitioning_count; i++)
        if (worker->partitionings[i]->used < worker->partitionings[found]->used)
            found = i;
    return found;
}

static struct gw__partitioning *
find_partitioning(struct gw__worker *worker,
                  const struct gw__request_args *args, uint64_t signature)
{
    for (unsigned i = 0; i < worker->partitioning_count; i++) {
        struct gw__partitioning *partitioning = worker->partitionings[i];
        if (partitioning->signature != signature ||
            partitioning->table != args->table ||
            partitioning->count != args->count)
            continue;
        if (partitioning->placement == worker->placement)
            return partitioning;
        evict_partitioning(worker, i);
        return NULL;
    }
    return NULL;
}

static void keep_partitioning(struct gw__worker *worker,
                              struct gw__partitioning *partitioning)
{
    if (partitioning->bytes > bytes_max)
        return;
    while (worker->partitioning_count == GW__PARTITIONINGS_MAX ||
           worker->partitioning_bytes + partitioning->bytes > bytes_max)
        evict_partitioning(worker, oldest(worker));
    partitioning->refs++;
    worker->partitioning_bytes += partitioning->bytes;
    worker->partitionings[worker->partitioning_count++] = partitioning;
}

enum gw_err gw__partitioning_get(struct gw__worker *worker,
                                 const struct gw__request_args *args,
                                 struct gw__partitioning **partitioning,
                                 struct gw_error *why)
{
    if (worker->config.no_key_cache)
        return gw__partitioning_make(worker, args, partitioning, why);
    uint64_t signature = keys_signature(args->keys, args->count, args->table);
    struct gw__partitioning *found = find_partitioning(worker, args, signature);
    enum gw_err err = GW_OK;
    if (found)
        found->refs++;
    else
        err = gw__partitioning_make(worker, args, &found, why);
    if (err)
        return err;
    found->used = ++worker->used;
    found->signature = signature;
    if (found->refs == 1)
        keep_partitioning(worker, found);
    *partitioning = found;
    return GW_OK;
}

void gw__partitionings_forget(struct gw__worker *worker)
{
    while (worker->partitioning_count > 0)
        evict_partitioning(worker, 0);
}
