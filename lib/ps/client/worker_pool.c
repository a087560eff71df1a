/* SPDX-License-Identifier: MIT
 *
 * Memory for gathered values: units of one size from a few slabs that peers can
 * map. Peers keep only a few regions mapped, so each slab is twice as large as
 * the previous one. A unit is free again when the partition and all its
 * messages have released it. Unused memory costs only address space.
 */
#include "worker_parts.h"

#include <gradwire/wire.h>

#include <stdlib.h>

enum { FIRST_UNITS = 4 };

void gw__pool_init(struct gw__pool *pool, size_t unit_bytes)
{
    *pool = (struct gw__pool){.unit_bytes = (unit_bytes + 4095) / 4096 * 4096};
}

void gw__pool_fini(struct gw__pool *pool)
{
    for (unsigned i = 0; i < pool->slab_count; i++) {
        gw_free(pool->slabs[i].memory);
        free(pool->slabs[i].units);
    }
    pool->slab_count = 0;
    pool->free = NULL;
}

static bool add_slab(struct gw__pool *pool)
{
    struct gw_error why;
    if (pool->slab_count == GW__SLABS_MAX)
        return false;
    size_t count = (size_t)FIRST_UNITS << pool->slab_count;
    struct gw__slab slab = {.units = calloc(count, sizeof *slab.units)};
    if (!slab.units)
        return false;
    slab.memory = gw_alloc(count * pool->unit_bytes, &why);
    if (!slab.memory) {
        free(slab.units);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        slab.units[i] = (struct gw__pool_unit){
            .pool = pool,
            .next = pool->free,
            .memory = (unsigned char *)slab.memory + i * pool->unit_bytes};
        pool->free = &slab.units[i];
    }
    pool->slabs[pool->slab_count++] = slab;
    return true;
}

struct gw__pool_unit *gw__pool_take(struct gw__pool *pool)
{
    if (!pool->free && !add_slab(pool))
        return NULL;
    struct gw__pool_unit *unit = pool->free;
    pool->free = unit->next;
    unit->refs = 1;
    return unit;
}

void gw__unit_release(struct gw__pool_unit *unit)
{
    if (--unit->refs > 0)
        return;
    unit->next = unit->pool->free;
    unit->pool->free = unit;
}

bool gw__grow(unsigned char **memory, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return true;
    size_t larger = bytes > 2 * *room ? bytes : 2 * *room;
    unsigned char *moved = malloc(larger);
    if (!moved)
        return false;
    free(*memory);
    *memory = moved;
    *room = larger;
    return true;
}
