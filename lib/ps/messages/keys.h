/* SPDX-License-Identifier: MIT
 *
 * Key lists. Workers push and pull the same lists again and again; a list that
 * is known is neither sent nor looked up in the stores again: its places are
 * kept, one array a segment (a segment is the keys of one slot).
 *
 * Lists are found by signature, the least recently used ones are forgotten when
 * all take more than GW__KEYS_BYTES. Segments are held one by one, since staged
 * pushes and log entries keep them longer.
 *
 * Places are those of one life of the slot's stores (`generation`); a segment
 * with keys that have no row yet is looked up again each time.
 */
#ifndef GW__PS_KEYS_H
#define GW__PS_KEYS_H

#include "message.h"
#include "ps/store/store.h"

#include <cluster/routes/route.h>

#define GW__KEYS_BYTES ((size_t)256 << 20)

/* One segment: distinct keys, all of the slot. */
struct gw__keys {
    unsigned holds;
    uint16_t table, slot;
    bool complete;       /* all places are known */
    uint64_t generation; /* of the slot; 0: places were never looked up */
    uint64_t signature;  /* of this segment as a list of its own */
    uint32_t count;
    uint32_t *places;
    uint64_t keys[];
};

/* A copy of the keys, with one hold. NULL: no memory. */
struct gw__keys *gw__keys_new(unsigned table, unsigned slot,
                              const uint64_t *keys, uint32_t count);
void gw__keys_hold(struct gw__keys *keys);
void gw__keys_release(struct gw__keys *keys);
/* The places in that store, in keys->places. As gw__store_find. */
GW_MUST_CHECK enum gw_err gw__keys_find(struct gw__keys *keys,
                                        struct gw__store *store,
                                        uint64_t generation, bool make,
                                        struct gw_error *why);

/* GW_EINVAL: a key is there twice, or belongs to another slot. */
GW_MUST_CHECK enum gw_err gw__keys_check(const struct gw__routes *routes,
                                         unsigned table, unsigned slot,
                                         const uint64_t *keys, size_t count,
                                         struct gw_error *why);

struct gw__key_list {
    uint64_t signature;
    unsigned count;
    size_t bytes;
    struct gw__key_list *chain, *newer, *older;
    struct gw__keys *segments[];
};

enum { GW__KEYS_BUCKETS = 4096 };
struct gw__key_cache {
    struct gw__key_list *buckets[GW__KEYS_BUCKETS];
    struct gw__key_list *newest, *oldest;
    size_t bytes;
};

void gw__key_cache_fini(struct gw__key_cache *cache);
/* NULL: not known. */
struct gw__key_list *gw__key_cache_find(struct gw__key_cache *cache,
                                        uint64_t signature);
/* Holds the segments. NULL: no memory. */
struct gw__key_list *gw__key_cache_add(struct gw__key_cache *cache,
                                       uint64_t signature,
                                       struct gw__keys *const *segments,
                                       unsigned count);

#endif
