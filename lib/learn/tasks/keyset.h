/* SPDX-License-Identifier: MIT
 *
 * The distinct keys of a unit of work, in order, and the place of each: keys
 * are added as the samples have them, again and again; gw__keyset_finish sorts
 * them, and from then on gw__keyset_place tells where a key's row lies.
 *
 * Where keys are known to be small they are marked in a bitmap, which one pass
 * turns into the sorted list. Else they go to a table with open addressing, and
 * are sorted. Memory stays for the next unit, so after a few nothing is
 * allocated any more.
 */
#ifndef GW__KEYSET_H
#define GW__KEYSET_H

#include <gradwire/base.h>

struct gw__keyset_cell {
    uint64_t key;
    uint32_t place;
    uint32_t round; /* it is taken when this is the set's */
};

struct gw__keyset {
    uint64_t *keys; /* distinct; ascending once finished */
    size_t count, capacity;
    uint64_t bound; /* of marked keys; 0: they are hashed */
    uint64_t *marks;
    uint32_t *places;
    struct gw__keyset_cell *cells;
    size_t cell_count; /* a power of two */
    uint32_t round;
};

/* Keys that are added are below `bound`. */
GW_MUST_CHECK enum gw_err gw__keyset_init(struct gw__keyset *set,
                                          uint64_t bound, struct gw_error *why);
void gw__keyset_fini(struct gw__keyset *set);
/* Empties it. */
void gw__keyset_begin(struct gw__keyset *set);
GW_MUST_CHECK enum gw_err gw__keyset_finish(struct gw__keyset *set,
                                            struct gw_error *why);

/* False: out of memory. */
bool gw__keyset_add_hashed(struct gw__keyset *set, uint64_t key);
uint32_t gw__keyset_place_hashed(const struct gw__keyset *set, uint64_t key);

static inline bool gw__keyset_add(struct gw__keyset *set, uint64_t key)
{
    if (!set->bound)
        return gw__keyset_add_hashed(set, key);
    set->marks[key / 64] |= UINT64_C(1) << key % 64;
    return true;
}

/* Of a key that was added. */
static inline uint32_t gw__keyset_place(const struct gw__keyset *set,
                                        uint64_t key)
{
    return set->bound ? set->places[key] : gw__keyset_place_hashed(set, key);
}

#endif
