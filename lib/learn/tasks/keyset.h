/* SPDX-License-Identifier: MIT
 *
 * The distinct keys of a work item, sorted, and the place of each. Keys are
 * added as they occur in the samples, with repetitions. gw__keyset_finish sorts
 * them; afterwards gw__keyset_place returns the index of a key's row.
 *
 * Keys with a small bound are marked in a bitmap, which one pass converts to
 * the sorted list. Other keys go to an open-addressing table and are sorted.
 * Memory is kept for the next item, so that later items allocate none.
 */
#ifndef GW__KEYSET_H
#define GW__KEYSET_H

#include <gradwire/base.h>

struct gw__keyset_cell {
    uint64_t key;
    uint32_t place;
    uint32_t round; /* the cell is used if this is the set's round */
};

struct gw__keyset {
    uint64_t *keys; /* distinct; sorted after gw__keyset_finish */
    size_t count, capacity;
    uint64_t bound; /* limit of marked keys; 0: keys are hashed */
    uint64_t *marks;
    uint32_t *places;
    struct gw__keyset_cell *cells;
    size_t cell_count; /* a power of two */
    uint32_t round;
};

/* All keys must be below `bound`. */
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

/* For a key that was added. */
static inline uint32_t gw__keyset_place(const struct gw__keyset *set,
                                        uint64_t key)
{
    return set->bound ? set->places[key] : gw__keyset_place_hashed(set, key);
}

#endif
