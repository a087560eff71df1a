/* SPDX-License-Identifier: MIT
 *
 * Memory shown to peers and peers' memory mapped here. Mappings are made at
 * first use and kept, a few a peer, the oldest giving way; a region's id is
 * never used twice, so a stale mapping can waste memory but not deceive.
 */
#include "shm.h"

#include <gradwire/wire.h>

static void *card(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    return rank == wire->rank ? shm->segment->card
                              : shm->peers[rank].segment->card;
}

struct gw__place gw__shm_show(struct gw__wire *wire, const void *memory,
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
            return (struct gw__place){.fd = -1};
        shm->shown_generation = generation;
        base = (uintptr_t)shm->shown.base;
    }
    return (struct gw__place){.fd = shm->shown.fd,
                              .region = shm->shown.id,
                              .region_bytes = shm->shown.bytes,
                              .offset = at - base};
}

static struct gw__shm_mapping *oldest(struct gw__shm_peer *peer)
{
    struct gw__shm_mapping *mapping = &peer->mappings[peer->next_mapping];
    peer->next_mapping = (peer->next_mapping + 1) % MAPPINGS_MAX;
    if (mapping->region)
        gw__region_unmap(mapping->base, mapping->bytes);
    mapping->region = 0;
    return mapping;
}

void *gw__shm_reach(struct gw__wire *wire, unsigned rank,
                    const struct gw__place *place)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    if (place->fd < 0)
        return NULL;
    for (unsigned i = 0; i < MAPPINGS_MAX; i++)
        if (peer->mappings[i].region == place->region)
            return (unsigned char *)peer->mappings[i].base + place->offset;
    struct gw__shm_mapping *mapping = oldest(peer);
    if (gw__region_map(peer->pid, place->fd, place->region_bytes,
                       &mapping->base, &shm->error)) {
        gw_wrap(&shm->error, GW_ELOST, "shm: rank %u", rank);
        shm->error.code = GW_ELOST;
        peer->lost = true;
        return NULL;
    }
    mapping->region = place->region;
    mapping->bytes = place->region_bytes;
    return (unsigned char *)mapping->base + place->offset;
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
        .card = card,
        .show = gw__shm_show,
        .reach = gw__shm_reach,
        .wake_all = gw__shm_wake_all,
        .moved = gw__shm_moved,
    };
    (void)wire;
    return &windows;
}
