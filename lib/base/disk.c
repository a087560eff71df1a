/* SPDX-License-Identifier: MIT
 *
 * The table of disk.h.
 */
#include "disk.h"

#include <stdlib.h>
#include <string.h>

/* The place of the key, or the empty one where it would be stored. */
static struct gw__value *find_value(const struct gw__disk *disk, uint32_t key)
{
    size_t at = (key * UINT32_C(2654435769)) & (disk->places - 1);
    while (disk->table[at].data && disk->table[at].key != key)
        at = (at + 1) & (disk->places - 1);
    return &disk->table[at];
}

static bool grow_table(struct gw__disk *disk)
{
    enum { FIRST_PLACES = 8 };
    if (2 * disk->used < disk->places)
        return true;
    struct gw__disk larger = {.used = disk->used};
    larger.places = disk->places ? 2 * disk->places : FIRST_PLACES;
    larger.table = calloc(larger.places, sizeof *larger.table);
    if (!larger.table)
        return false;
    for (size_t i = 0; i < disk->places; i++)
        if (disk->table[i].data)
            *find_value(&larger, disk->table[i].key) = disk->table[i];
    free(disk->table);
    *disk = larger;
    return true;
}

static bool grow_value(struct gw__value *value, size_t bytes)
{
    enum { SMALLEST = 64 };
    if (value->data && bytes <= value->capacity)
        return true;
    size_t larger = value->data ? 2 * (size_t)value->capacity : SMALLEST;
    larger = larger < bytes ? bytes : larger;
    void *moved = realloc(value->data, larger);
    if (!moved)
        return false;
    value->data = moved;
    value->capacity = (uint32_t)larger;
    return true;
}

bool gw__disk_write(struct gw__disk *disk, uint32_t key, const void *data,
                    size_t bytes)
{
    if (!grow_table(disk))
        return false;
    struct gw__value *value = find_value(disk, key);
    bool fresh = !value->data;
    if (!grow_value(value, bytes))
        return false;
    disk->used += fresh;
    value->key = key;
    value->bytes = (uint32_t)bytes;
    if (bytes)
        memmove(value->data, data, bytes);
    return true;
}

const void *gw__disk_read(const struct gw__disk *disk, uint32_t key,
                          size_t *bytes)
{
    const struct gw__value *value = disk->places ? find_value(disk, key) : NULL;
    if (!value || !value->data)
        return NULL;
    *bytes = value->bytes;
    return value->data;
}

void gw__disk_fini(struct gw__disk *disk)
{
    for (size_t i = 0; i < disk->places; i++)
        free(disk->table[i].data);
    free(disk->table);
    *disk = (struct gw__disk){0};
}
