/* SPDX-License-Identifier: MIT
 *
 * Peers' memory mapped here. Mappings are made at first use and kept, a few per
 * peer. The least recently used one that no message needs is evicted. A process
 * never reuses a region's id, so a stale mapping can waste memory but never
 * shows wrong data.
 */
#include "messenger_shm.h"

#include <stdlib.h>

bool gw__messenger_shm_ended(struct gw__messenger_shm_peer *peer)
{
    peer->ended =
        peer->ended || gw__process_watch_poll(&peer->process_watch) >= 0;
    return peer->ended;
}

void gw__messenger_mapping_release(struct gw__messenger_mapping *mapping)
{
    if (atomic_fetch_sub_explicit(&mapping->refs, 1, memory_order_acq_rel) != 1)
        return;
    gw__region_unmap(mapping->base, mapping->bytes);
    free(mapping);
}

static bool is_idle(const struct gw__messenger_mapped *slot)
{
    return !slot->region || atomic_load_explicit(&slot->mapping->refs,
                                                 memory_order_acquire) == 1;
}

/* A slot for a new mapping; NULL: messages need all of them. */
static struct gw__messenger_mapped *
free_mapping_slot(struct gw__messenger_shm_peer *peer)
{
    struct gw__messenger_mapped *oldest = NULL;
    for (unsigned i = 0; i < GW__MESSENGER_MAPPINGS; i++) {
        struct gw__messenger_mapped *slot = &peer->mapped[i];
        if (is_idle(slot) && (!oldest || slot->used < oldest->used))
            oldest = slot;
    }
    if (oldest && oldest->region)
        gw__messenger_mapping_release(oldest->mapping);
    if (oldest)
        *oldest = (struct gw__messenger_mapped){.region = 0};
    return oldest;
}

static struct gw__messenger_mapping *
make_mapping(struct gw__messenger_shm_peer *peer,
             const struct gw__memory_range *range)
{
    struct gw__messenger_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping || gw__region_map(peer->pid, range->fd, range->region_bytes,
                                   true, &mapping->base, NULL) != GW_OK) {
        free(mapping);
        return NULL;
    }
    mapping->bytes = range->region_bytes;
    atomic_init(&mapping->refs, 1);
    /* Descriptors and pids are reused: valid only if the owner lives. */
    if (!gw__messenger_shm_ended(peer))
        return mapping;
    gw__messenger_mapping_release(mapping);
    return NULL;
}

struct gw__messenger_mapping *
gw__messenger_map(struct gw__messenger_shm_peer *peer,
                  const struct gw__memory_range *range)
{
    for (unsigned i = 0; i < GW__MESSENGER_MAPPINGS; i++) {
        struct gw__messenger_mapped *slot = &peer->mapped[i];
        if (slot->region != range->region)
            continue;
        if (slot->mapping->bytes != range->region_bytes)
            return NULL;
        slot->used = ++peer->mapped_clock;
        atomic_fetch_add(&slot->mapping->refs, 1);
        return slot->mapping;
    }
    struct gw__messenger_mapping *mapping = make_mapping(peer, range);
    struct gw__messenger_mapped *slot =
        mapping ? free_mapping_slot(peer) : NULL;
    if (slot) {
        *slot = (struct gw__messenger_mapped){range->region,
                                              ++peer->mapped_clock, mapping};
        atomic_fetch_add(&mapping->refs, 1);
    }
    return mapping;
}

void gw__messenger_unmap_all(struct gw__messenger_shm_peer *peer)
{
    for (unsigned i = 0; i < GW__MESSENGER_MAPPINGS; i++) {
        if (peer->mapped[i].region)
            gw__messenger_mapping_release(peer->mapped[i].mapping);
        peer->mapped[i] = (struct gw__messenger_mapped){.region = 0};
    }
}
