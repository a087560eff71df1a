/* SPDX-License-Identifier: MIT
 *
 * Memory for gathered values: blocks of one size from a few slabs that peers
 * can map. Peers keep only a few regions mapped, so each slab is twice as large
 * as the previous one. A block is free again when the partition and all its
 * messages have released it. Unused memory costs only address space.
 */
#include "worker_parts.h"

#include <gradwire/wire.h>

#include <stdlib.h>

enum { FIRST_CELLS = 4 };

void gw__slabs_init(struct gw__slab_allocator *slabs, size_t cell_bytes)
{
    *slabs = (struct gw__slab_allocator){.cell_bytes =
                                             (cell_bytes + 4095) / 4096 * 4096};
}

void gw__slabs_fini(struct gw__slab_allocator *slabs)
{
    for (unsigned i = 0; i < slabs->slab_count; i++) {
        gw_free(slabs->slabs[i].memory);
        free(slabs->slabs[i].cells);
    }
    slabs->slab_count = 0;
    slabs->free = NULL;
}

static bool add_slab(struct gw__slab_allocator *slabs)
{
    struct gw_error why;
    if (slabs->slab_count == GW__SLABS_MAX)
        return false;
    size_t count = (size_t)FIRST_CELLS << slabs->slab_count;
    struct gw__slab slab = {.cells = calloc(count, sizeof *slab.cells)};
    if (!slab.cells)
        return false;
    slab.memory = gw_alloc(count * slabs->cell_bytes, &why);
    if (!slab.memory) {
        free(slab.cells);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        slab.cells[i] = (struct gw__slab_cell){
            .slabs = slabs,
            .next = slabs->free,
            .memory = (unsigned char *)slab.memory + i * slabs->cell_bytes};
        slabs->free = &slab.cells[i];
    }
    slabs->slabs[slabs->slab_count++] = slab;
    return true;
}

struct gw__slab_cell *gw__slabs_acquire(struct gw__slab_allocator *slabs)
{
    if (!slabs->free && !add_slab(slabs))
        return NULL;
    struct gw__slab_cell *cell = slabs->free;
    slabs->free = cell->next;
    cell->refs = 1;
    return cell;
}

void gw__slab_cell_release(struct gw__slab_cell *cell)
{
    if (--cell->refs > 0)
        return;
    cell->next = cell->slabs->free;
    cell->slabs->free = cell;
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
