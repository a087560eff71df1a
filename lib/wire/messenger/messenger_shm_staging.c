/* SPDX-License-Identifier: MIT
 *
 * Staging memory: copies of parts that the receiver cannot map, in regions that
 * it can map. Small blocks are powers of two, cut from slabs of 1 MiB that are
 * never freed. A large block is a slab of its own, and the next message of
 * about its size reuses it, so its pages are allocated once. The total size of
 * free large blocks is bounded.
 */
#include "messenger_shm.h"

#include <fcntl.h>
#include <stdlib.h>

enum { LEAST_BYTES = 256, SLAB_BYTES = 1 << 20 };

static const size_t large_kept_bytes = (size_t)256 << 20;

struct gw__messenger_slab {
    struct gw__messenger_slab *next, *before;
    struct gw__region region;
    struct gw__messenger_block blocks[];
};

static struct gw__messenger_slab *
new_slab(struct gw__messenger_staging *staging, size_t block_bytes,
         size_t count)
{
    struct gw__messenger_slab *slab =
        calloc(1, sizeof *slab + count * sizeof *slab->blocks);
    if (!slab ||
        gw__region_new(block_bytes * count, &slab->region, NULL) != GW_OK) {
        free(slab);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        slab->blocks[i] = (struct gw__messenger_block){
            .slab = slab, .offset = i * block_bytes, .bytes = block_bytes};
    slab->next = staging->slabs;
    if (slab->next)
        slab->next->before = slab;
    staging->slabs = slab;
    return slab;
}

static void free_slab(struct gw__messenger_staging *staging,
                      struct gw__messenger_slab *slab)
{
    if (slab->next)
        slab->next->before = slab->before;
    if (slab->before)
        slab->before->next = slab->next;
    else
        staging->slabs = slab->next;
    gw__region_free(&slab->region);
    free(slab);
}

static struct gw__messenger_block *
new_small(struct gw__messenger_staging *staging, unsigned class)
{
    size_t bytes = (size_t)LEAST_BYTES << class, count = SLAB_BYTES / bytes;
    struct gw__messenger_block **free_blocks = &staging->free[class];
    if (!*free_blocks) {
        struct gw__messenger_slab *slab = new_slab(staging, bytes, count);
        for (size_t i = 0; slab && i < count; i++) {
            slab->blocks[i].next = *free_blocks;
            *free_blocks = &slab->blocks[i];
        }
    }
    struct gw__messenger_block *block = *free_blocks;
    if (block)
        *free_blocks = block->next;
    return block;
}

/* The first free block that fits and is not much too large. */
static struct gw__messenger_block *
new_large(struct gw__messenger_staging *staging, size_t bytes)
{
    struct gw__messenger_block **at = &staging->large, *block;
    while ((block = *at) && (block->bytes < bytes || block->bytes / 2 > bytes))
        at = &block->next;
    if (block) {
        *at = block->next;
        staging->large_bytes -= block->bytes;
        return block;
    }
    bytes = (bytes + SLAB_BYTES - 1) & ~(size_t)(SLAB_BYTES - 1);
    struct gw__messenger_slab *slab = new_slab(staging, bytes, 1);
    return slab ? slab->blocks : NULL;
}

struct gw__messenger_block *
gw__messenger_staging_new(struct gw__messenger_staging *staging, size_t bytes)
{
    for (unsigned class = 0; class < GW__MESSENGER_CLASSES; class ++)
        if (bytes <= (size_t)LEAST_BYTES << class)
            return new_small(staging, class);
    return new_large(staging, bytes);
}

/* Receivers may keep the block mapped for long, so its pages are freed here. */
static void free_pages(const struct gw__region *region)
{
    (void)fallocate(region->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                    (off_t)region->bytes);
}

void gw__messenger_staging_free(struct gw__messenger_staging *staging,
                                struct gw__messenger_block *block)
{
    for (unsigned class = 0; class < GW__MESSENGER_CLASSES; class ++)
        if (block->bytes == (size_t)LEAST_BYTES << class) {
            block->next = staging->free[class];
            staging->free[class] = block;
            return;
        }
    if (staging->large_bytes + block->bytes > large_kept_bytes) {
        free_pages(&block->slab->region);
        free_slab(staging, block->slab);
        return;
    }
    staging->large_bytes += block->bytes;
    block->next = staging->large;
    staging->large = block;
}

void gw__messenger_staging_abandon(struct gw__messenger_staging *staging,
                                   const struct gw__messenger_block *block)
{
    if (block->bytes > (size_t)LEAST_BYTES << (GW__MESSENGER_CLASSES - 1))
        free_slab(staging, block->slab);
}

unsigned char *
gw__messenger_staging_memory(const struct gw__messenger_block *block)
{
    return (unsigned char *)block->slab->region.base + block->offset;
}

struct gw__memory_range
gw__messenger_staging_place(const struct gw__messenger_block *block)
{
    const struct gw__region *region = &block->slab->region;
    return (struct gw__memory_range){.fd = region->fd,
                                     .region = region->id,
                                     .region_bytes = region->bytes,
                                     .offset = block->offset};
}

/* Messages that a peer still holds keep their pages. */
void gw__messenger_staging_fini(struct gw__messenger_staging *staging)
{
    while (staging->slabs) {
        struct gw__messenger_slab *slab = staging->slabs;
        staging->slabs = slab->next;
        gw__region_free(&slab->region);
        free(slab);
    }
}
