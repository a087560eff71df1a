/* SPDX-License-Identifier: MIT
 *
 * Cached key lists. Workers push and pull the same lists again and again. A
 * known list is neither sent nor looked up in the stores again: its places are
 * cached, in one array per segment (a segment has the keys of one slot).
 *
 * Lists are found by signature. If all lists together exceed GW__KEYS_BYTES,
 * the least recently used ones are dropped. Segments have reference counts of
 * their own, since pending pushes and log entries use them longer.
 *
 * Places are valid for one generation of the slot's stores. A segment with keys
 * that have no row yet is looked up again each time.
 */
#ifndef GW__PS_KEYS_H
#define GW__PS_KEYS_H

#include "message.h"
#include "ps/store/store.h"

#include <cluster/routes/route.h>

#define GW__KEYS_BYTES ((size_t)256 << 20)

/* One segment: distinct keys of one slot. */
struct gw__keys {
    unsigned holds;
    uint16_t table, slot;
    bool complete;       /* all places are known */
    uint64_t generation; /* of the slot; 0: places not looked up yet */
    uint64_t signature;  /* of this segment alone */
    uint32_t count;
    uint32_t *places;
    uint64_t keys[];
};

/* Copies the keys; the result has one reference. NULL: out of memory. */
struct gw__keys *gw__keys_new(unsigned table, unsigned slot,
                              const uint64_t *keys, uint32_t count);
void gw__keys_hold(struct gw__keys *keys);
void gw__keys_release(struct gw__keys *keys);
/* Looks up the places in the store, like gw__store_find, into keys->places. */
GW_MUST_CHECK enum gw_err gw__keys_find(struct gw__keys *keys,
                                        struct gw__store *store,
                                        uint64_t generation, bool make,
                                        struct gw_error *why);

/* GW_EINVAL: a key occurs twice, or belongs to another slot. */
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
/* NULL: unknown. */
struct gw__key_list *gw__key_cache_find(struct gw__key_cache *cache,
                                        uint64_t signature);
/* Adds references to the segments. NULL: out of memory. */
struct gw__key_list *gw__key_cache_add(struct gw__key_cache *cache,
                                       uint64_t signature,
                                       struct gw__keys *const *segments,
                                       unsigned count);

#endif
