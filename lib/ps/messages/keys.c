/* SPDX-License-Identifier: MIT
 *
 * Segments of keys: creation, checks, and lookup of their places.
 */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

struct gw__keys *gw__keys_new(unsigned table, unsigned slot,
                              const uint64_t *keys, uint32_t count)
{
    struct gw__keys *made = malloc(
        sizeof *made + count * (sizeof(uint64_t) + sizeof *made->places));
    if (!made)
        return NULL;
    struct gw__ps_segment segment = {slot, count};
    *made = (struct gw__keys){
        .holds = 1,
        .table = (uint16_t)table,
        .slot = (uint16_t)slot,
        .count = count,
        .signature = gw__ps_key_list(&segment, 1, keys, count, table)};
    if (count > 0)
        memcpy(made->keys, keys, count * sizeof *keys);
    made->places = (uint32_t *)(made->keys + count);
    return made;
}

void gw__keys_hold(struct gw__keys *keys)
{
    keys->holds++;
}

void gw__keys_release(struct gw__keys *keys)
{
    if (keys && --keys->holds == 0)
        free(keys);
}

enum gw_err gw__keys_find(struct gw__keys *keys, struct gw__store *store,
                          uint64_t generation, bool make, struct gw_error *why)
{
    if (keys->complete && keys->generation == generation)
        return GW_OK;
    enum gw_err err =
        gw__store_find(store, keys->keys, keys->count, make, keys->places, why);
    if (err)
        return err;
    keys->generation = generation;
    keys->complete = true;
    for (uint32_t i = 0; !make && keys->complete && i < keys->count; i++)
        keys->complete = keys->places[i] != GW__NO_PLACE;
    return GW_OK;
}

static bool is_sorted(const uint64_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (keys[i] <= keys[i - 1])
            return false;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Ascending keys, the common case, are distinct. */
static enum gw_err check_distinct(const uint64_t *keys, size_t count,
                                  struct gw_error *why)
{
    if (is_sorted(keys, count))
        return GW_OK;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return gw_fail(why, GW_ENOMEM, "no memory for %zu keys", count);
    memcpy(sorted, keys, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    enum gw_err err = GW_OK;
    for (size_t i = 1; i < count && !err; i++)
        if (sorted[i] == sorted[i - 1])
            err = gw_fail(why, GW_EINVAL, "key %llu occurs twice",
                          (unsigned long long)sorted[i]);
    free(sorted);
    return err;
}

enum gw_err gw__keys_check(const struct gw__routes *routes, unsigned table,
                           unsigned slot, const uint64_t *keys, size_t count,
                           struct gw_error *why)
{
    const struct gw_ps_table_config *config = &routes->tables[table];
    for (size_t i = 0; i < count; i++) {
        if (config->dense && keys[i] >= config->dense)
            return gw_fail(why, GW_EINVAL, "table \"%s\" has no row %llu",
                           config->name, (unsigned long long)keys[i]);
        if (gw__route_slot(routes, config, keys[i]) != slot)
            return gw_fail(why, GW_EINVAL, "key %llu is not in slot %u",
                           (unsigned long long)keys[i], slot);
    }
    return check_distinct(keys, count, why);
}
