/* SPDX-License-Identifier: MIT
 *
 * The distinct keys of a work item; see keyset.h.
 */
#include "keyset.h"

#include "learn/random.h"

#include <stdlib.h>
#include <string.h>

enum { MARKED_MAX = 1 << 22, CELLS_MIN = 1024 };

enum gw_err gw__keyset_init(struct gw__keyset *set, uint64_t bound,
                            struct gw_error *why)
{
    *set = (struct gw__keyset){.round = 1};
    if (bound == 0 || bound > MARKED_MAX)
        return GW_OK;
    set->bound = bound;
    set->marks = calloc((size_t)bound / 64 + 1, sizeof *set->marks);
    set->places = malloc((size_t)bound * sizeof *set->places);
    if (set->marks && set->places)
        return GW_OK;
    gw__keyset_fini(set);
    return gw_fail(why, GW_ENOMEM, "a set of keys");
}

void gw__keyset_fini(struct gw__keyset *set)
{
    free(set->keys);
    free(set->marks);
    free(set->places);
    free(set->cells);
    *set = (struct gw__keyset){0};
}

void gw__keyset_begin(struct gw__keyset *set)
{
    set->count = 0;
    if (set->bound)
        memset(set->marks, 0, ((size_t)set->bound / 64 + 1) * 8);
    if (++set->round == 0) {
        memset(set->cells, 0, set->cell_count * sizeof *set->cells);
        set->round = 1;
    }
}

static bool reserve_keys(struct gw__keyset *set, size_t count)
{
    if (count <= set->capacity)
        return true;
    size_t capacity = 2 * set->capacity > count ? 2 * set->capacity : count;
    uint64_t *moved = realloc(set->keys, capacity * sizeof *moved);
    if (!moved)
        return false;
    set->keys = moved;
    set->capacity = capacity;
    return true;
}

/* The cell with the key, or the free one for it. */
static struct gw__keyset_cell *find_cell(const struct gw__keyset *set,
                                         uint64_t key)
{
    size_t mask = set->cell_count - 1;
    size_t i = (size_t)gw__mix(key) & mask;
    while (set->cells[i].round == set->round && set->cells[i].key != key)
        i = (i + 1) & mask;
    return &set->cells[i];
}

/* Doubles the cells, so that at most half of them are used. */
static bool grow_cells(struct gw__keyset *set)
{
    size_t count = set->cell_count ? 2 * set->cell_count : CELLS_MIN;
    struct gw__keyset_cell *cells = calloc(count, sizeof *cells);
    if (!cells)
        return false;
    free(set->cells);
    set->cells = cells;
    set->cell_count = count;
    for (size_t i = 0; i < set->count; i++)
        *find_cell(set, set->keys[i]) =
            (struct gw__keyset_cell){.key = set->keys[i], .round = set->round};
    return true;
}

bool gw__keyset_add_hashed(struct gw__keyset *set, uint64_t key)
{
    if (2 * set->count >= set->cell_count && !grow_cells(set))
        return false;
    struct gw__keyset_cell *cell = find_cell(set, key);
    if (cell->round == set->round)
        return true;
    if (!reserve_keys(set, set->count + 1))
        return false;
    *cell = (struct gw__keyset_cell){.key = key, .round = set->round};
    set->keys[set->count++] = key;
    return true;
}

uint32_t gw__keyset_place_hashed(const struct gw__keyset *set, uint64_t key)
{
    return find_cell(set, key)->place;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_hashed(struct gw__keyset *set)
{
    if (set->count == 0)
        return;
    qsort(set->keys, set->count, sizeof *set->keys, compare_keys);
    for (size_t i = 0; i < set->count; i++)
        find_cell(set, set->keys[i])->place = (uint32_t)i;
}

static bool list_marked(struct gw__keyset *set)
{
    size_t words = (size_t)set->bound / 64 + 1, count = 0;
    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(set->marks[i]);
    if (!reserve_keys(set, count))
        return false;
    set->count = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t left = set->marks[i]; left; left &= left - 1) {
            uint64_t key = i * 64 + (uint64_t)__builtin_ctzll(left);
            set->places[key] = (uint32_t)set->count;
            set->keys[set->count++] = key;
        }
    return true;
}

enum gw_err gw__keyset_finish(struct gw__keyset *set, struct gw_error *why)
{
    if (!set->bound)
        sort_hashed(set);
    else if (!list_marked(set))
        return gw_fail(why, GW_ENOMEM, "the keys of a work item");
    return GW_OK;
}
