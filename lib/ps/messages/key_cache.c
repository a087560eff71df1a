/* SPDX-License-Identifier: MIT
 *
 * Cache of key lists by signature: a chain with the least recently used list at
 * its end.
 */
#include "keys.h"

#include <stdlib.h>

static struct gw__key_list **bucket_of(struct gw__key_cache *cache,
                                       uint64_t signature)
{
    return &cache->buckets[signature % GW__KEYS_BUCKETS];
}

static void unlink_age(struct gw__key_cache *cache, struct gw__key_list *list)
{
    *(list->newer ? &list->newer->older : &cache->newest) = list->older;
    *(list->older ? &list->older->newer : &cache->oldest) = list->newer;
}

static void make_newest(struct gw__key_cache *cache, struct gw__key_list *list)
{
    list->newer = NULL;
    list->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = list;
    cache->newest = list;
}

static void evict_list(struct gw__key_cache *cache, struct gw__key_list *list)
{
    struct gw__key_list **at = bucket_of(cache, list->signature);
    while (*at != list)
        at = &(*at)->chain;
    *at = list->chain;
    unlink_age(cache, list);
    cache->bytes -= list->bytes;
    for (unsigned i = 0; i < list->count; i++)
        gw__keys_release(list->segments[i]);
    free(list);
}

void gw__key_cache_fini(struct gw__key_cache *cache)
{
    while (cache->newest)
        evict_list(cache, cache->newest);
}

struct gw__key_list *gw__key_cache_find(struct gw__key_cache *cache,
                                        uint64_t signature)
{
    struct gw__key_list *list = *bucket_of(cache, signature);
    while (list && list->signature != signature)
        list = list->chain;
    if (list && list != cache->newest) {
        unlink_age(cache, list);
        make_newest(cache, list);
    }
    return list;
}

struct gw__key_list *gw__key_cache_add(struct gw__key_cache *cache,
                                       uint64_t signature,
                                       struct gw__keys *const *segments,
                                       unsigned count)
{
    struct gw__key_list *list = gw__key_cache_find(cache, signature);
    if (list)
        evict_list(cache, list);
    list = malloc(sizeof *list + count * sizeof(struct gw__keys *));
    if (!list)
        return NULL;
    *list = (struct gw__key_list){
        .signature = signature, .count = count, .bytes = sizeof *list};
    for (unsigned i = 0; i < count; i++) {
        list->segments[i] = segments[i];
        gw__keys_hold(segments[i]);
        list->bytes += segments[i]->count * (size_t)12;
    }
    struct gw__key_list **bucket = bucket_of(cache, signature);
    list->chain = *bucket;
    *bucket = list;
    make_newest(cache, list);
    cache->bytes += list->bytes;
    while (cache->bytes > GW__KEYS_BYTES && cache->oldest != list)
        evict_list(cache, cache->oldest);
    return list;
}
