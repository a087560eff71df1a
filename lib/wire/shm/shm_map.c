/* SPDX-License-Identifier: MIT
 *
 * Memory shown to peers, and peers' memory mapped here. Mappings are made at
 * first use and kept, a few per peer; the least recently used one is evicted. A
 * loop over a peer's buffers holds addresses in two of its regions, and both
 * must stay. A region's id is never reused, so a stale mapping can waste memory
 * but never shows wrong data.
 */
#include "shm.h"

#include <gradwire/wire.h>

static void *control_block_of(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    return rank == wire->rank ? shm->segment->control_block
                              : shm->peers[rank].segment->control_block;
}

struct gw__memory_range gw__shm_show(struct gw__wire *wire, const void *memory,
                                     size_t bytes)
{
    struct gw__shm *shm = gw__shm_of(wire);
    uintptr_t at = (uintptr_t)memory, base = (uintptr_t)shm->shown.base;
    bool known = shm->shown_generation == gw__region_generation() &&
                 at >= base && at - base <= shm->shown.bytes &&
                 bytes <= shm->shown.bytes - (at - base);
    if (!known) {
        uint64_t generation = gw__region_generation();
        if (!gw__region_find(memory, bytes, &shm->shown))
            return (struct gw__memory_range){.fd = GW__MEMORY_NONE};
        shm->shown_generation = generation;
        base = (uintptr_t)shm->shown.base;
    }
    return (struct gw__memory_range){.fd = shm->shown.fd,
                                     .region = shm->shown.id,
                                     .region_bytes = shm->shown.bytes,
                                     .offset = at - base};
}

/* A free mapping, if need be by evicting the least recently used one. */
static struct gw__shm_mapping *evict_mapping(struct gw__shm_peer *peer)
{
    struct gw__shm_mapping *mapping = &peer->mappings[0];
    for (unsigned i = 1; i < MAPPINGS_MAX; i++)
        if (peer->mappings[i].used < mapping->used)
            mapping = &peer->mappings[i];
    if (mapping->region)
        gw__region_unmap(mapping->base, mapping->bytes);
    mapping->region = 0;
    return mapping;
}

static void *mapped_address(struct gw__shm_peer *peer,
                            struct gw__shm_mapping *mapping,
                            const struct gw__memory_range *range)
{
    mapping->used = ++peer->mapping_clock;
    return (unsigned char *)mapping->base + range->offset;
}

/* Failing to map memory of a rank that has closed is not a loss: it has left
 * without waiting for us. */
void gw__shm_lose(struct gw__shm *shm, unsigned rank,
                  const struct gw_error *why)
{
    /* Lack of memory here does not mean that the peer is lost. */
    enum gw_err code = why->code == GW_ENOMEM ? GW_ENOMEM : GW_ELOST;
    struct gw__shm_peer *peer = &shm->peers[rank];
    if (atomic_load(&peer->segment->state) == SHM_CLOSED)
        return;
    peer->lost = true;
    if (!shm->error.code)
        gw_fail(&shm->error, code, "shm: rank %u: %s", rank, why->text);
}

/* Descriptors are reused as soon as their owner has closed them, so a mapping
 * is valid only if its owner still lives after it was made. */
void *gw__shm_reach(struct gw__wire *wire, unsigned rank,
                    const struct gw__memory_range *range)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    struct gw_error why;
    if (range->fd < 0)
        return NULL;
    for (unsigned i = 0; i < MAPPINGS_MAX; i++)
        if (peer->mappings[i].region == range->region)
            return mapped_address(peer, &peer->mappings[i], range);
    struct gw__shm_mapping *mapping = evict_mapping(peer);
    enum gw_err err = gw__region_map(peer->pid, range->fd, range->region_bytes,
                                     true, &mapping->base, &why);
    mapping->region = err ? 0 : range->region;
    mapping->bytes = range->region_bytes;
    if (gw__shm_gone(wire, rank) && !err)
        err = gw_fail(&why, GW_ELOST, "it ended before its memory was read");
    if (!err)
        return mapped_address(peer, mapping, range);
    gw__shm_lose(shm, rank, &why);
    return NULL;
}

void gw__shm_forget_mappings(struct gw__shm_peer *peer)
{
    for (unsigned i = 0; i < MAPPINGS_MAX; i++)
        if (peer->mappings[i].region)
            gw__region_unmap(peer->mappings[i].base, peer->mappings[i].bytes);
}

struct gw__windows *gw__shm_windows(struct gw__wire *wire)
{
    static struct gw__windows windows = {
        .control_block = control_block_of,
        .show = gw__shm_show,
        .reach = gw__shm_reach,
        .can_copy = gw__shm_can_copy,
        .load = gw__shm_load,
        .store = gw__shm_store,
        .gone = gw__shm_gone,
        .wake_all = gw__shm_wake_all,
        .relax = gw__shm_relax,
        .moved = gw__shm_moved,
    };
    (void)wire;
    return &windows;
}
