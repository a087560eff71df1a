/* SPDX-License-Identifier: MIT
 *
 * Memory that the device may read and write.
 *
 * Zones, stages and notes of all links are one block, registered when the wire
 * is opened; each zone is registered separately, so that a peer's key gives
 * access to nothing else.
 *
 * The user's gw_alloc memory is registered at its first send and then read in
 * place. A registration costs more than the copy of a slice, and pins the
 * pages, so it is kept. It refers to pages, not to addresses. Memory that was
 * freed and allocated again at the same address would be read from the old
 * pages. So an entry is valid only for the region that it was made for, and
 * when regions are freed their entries are dropped, with the pages that they
 * pin. For other memory the time of its release is unknown, so it is copied.
 */
#include "verbs.h"

#include "wire/memory.h"

#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

/* ---- the user's memory ---- */

static void drop_region(struct gw__verbs *verbs, unsigned index)
{
    struct gw__verbs_region *entry = &verbs->regions[index];
    if (entry->mr)
        ibv_dereg_mr(entry->mr);
    *entry = verbs->regions[--verbs->region_count];
}

static bool any_inflight(const struct gw__verbs *verbs)
{
    for (unsigned r = 0; r < verbs->wire.size; r++)
        if (verbs->links[r].completed < verbs->links[r].sent)
            return true;
    return false;
}

/* A freed region is no longer lent: its owner has waited for its return before
 * freeing it. */
void gw__verbs_drop_freed(struct gw__verbs *verbs)
{
    uint64_t generation = gw__region_generation();
    if (verbs->region_generation == generation)
        return;
    verbs->region_generation = generation;
    for (unsigned i = verbs->region_count; i-- > 0;) {
        struct gw__verbs_region *entry = &verbs->regions[i];
        struct gw__region region;
        if (!gw__region_find(entry->base, entry->bytes, &region) ||
            region.id != entry->id)
            drop_region(verbs, i);
    }
}

/* Makes room by dropping the least recently used entry, unless it may be in
 * use. */
static bool evict_region(struct gw__verbs *verbs)
{
    unsigned oldest = 0;
    if (verbs->region_count < GW__VERBS_REGIONS_MAX)
        return true;
    if (any_inflight(verbs))
        return false;
    for (unsigned i = 1; i < verbs->region_count; i++)
        if (verbs->regions[i].used < verbs->regions[oldest].used)
            oldest = i;
    drop_region(verbs, oldest);
    return true;
}

static struct gw__verbs_region *find_region(struct gw__verbs *verbs,
                                            uintptr_t at, size_t bytes)
{
    for (unsigned i = 0; i < verbs->region_count; i++) {
        struct gw__verbs_region *entry = &verbs->regions[i];
        uintptr_t base = (uintptr_t)entry->base;
        if (at >= base && at - base <= entry->bytes &&
            bytes <= entry->bytes - (at - base))
            return entry;
    }
    return NULL;
}

static struct gw__verbs_region *add_region(struct gw__verbs *verbs,
                                           const void *data, size_t bytes)
{
    struct gw__region region;
    if (!gw__region_find(data, bytes, &region) || !evict_region(verbs))
        return NULL;
    struct gw__verbs_region *entry = &verbs->regions[verbs->region_count++];
    *entry = (struct gw__verbs_region){
        .id = region.id,
        .base = region.base,
        .bytes = region.bytes,
        .mr = ibv_reg_mr(verbs->domain, region.base, region.bytes, 0)};
    return entry;
}

bool gw__verbs_key(struct gw__verbs *verbs, const void *data, size_t bytes,
                   uint32_t *key)
{
    gw__verbs_drop_freed(verbs);
    struct gw__verbs_region *entry = find_region(verbs, (uintptr_t)data, bytes);
    if (!entry)
        entry = add_region(verbs, data, bytes);
    if (!entry || !entry->mr)
        return false;
    entry->used = ++verbs->region_uses;
    *key = entry->mr->lkey;
    return true;
}

void gw__verbs_forget(struct gw__verbs *verbs)
{
    while (verbs->region_count > 0)
        drop_region(verbs, verbs->region_count - 1);
}

/* ---- the wire's own ---- */

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static size_t zone_for(size_t slice_bytes, unsigned peers)
{
    size_t least = GW__VERBS_ZONE_SLICES * gw__verbs_need(slice_bytes);
    size_t share = GW__VERBS_ZONES_BYTES / (peers ? peers : 1);
    if (share > GW__VERBS_ZONE_BYTES_MAX)
        share = GW__VERBS_ZONE_BYTES_MAX;
    return whole_pages(share > least ? share : least);
}

enum {
    RECEIVES_BYTES = GW__VERBS_RECEIVES * GW__VERBS_CONTROL_ROOM,
    CONTROLS_BYTES = GW__VERBS_CONTROLS * GW__VERBS_CONTROL_ROOM,
};

static enum gw_err own(struct gw__verbs *verbs, void *at, size_t bytes,
                       unsigned access, struct ibv_mr **mr,
                       struct gw_error *why)
{
    access |= IBV_ACCESS_LOCAL_WRITE;
    *mr = ibv_reg_mr(verbs->domain, at, bytes, access);
    if (*mr)
        return GW_OK;
    return gw_fail_errno(
        why,
        "registering %zu bytes (raise the limit on locked memory: ulimit -l)",
        bytes);
}

static void lay_out_zones(struct gw__verbs *verbs, struct gw__verbs_link *link,
                          unsigned char *zone, unsigned char *local)
{
    link->zone = zone;
    link->staging = local;
    link->receives = local + verbs->zone_bytes;
    link->controls = link->receives + RECEIVES_BYTES;
}

enum gw_err gw__verbs_make_memory(struct gw__verbs *verbs, struct gw_error *why)
{
    unsigned peers = verbs->wire.size - 1, i = 0;
    verbs->zone_bytes = zone_for(verbs->slice_bytes, peers);
    size_t zone = verbs->zone_bytes;
    size_t local = zone + whole_pages(RECEIVES_BYTES + CONTROLS_BYTES);
    verbs->memory_bytes = peers * (zone + local);
    if (peers == 0)
        return GW_OK;
    void *memory = mmap(NULL, verbs->memory_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return gw_fail_errno(why, "%zu bytes for %u peers", verbs->memory_bytes,
                             peers);
    verbs->memory = memory;
    unsigned char *locals = verbs->memory + peers * zone;
    enum gw_err err =
        own(verbs, locals, peers * local, 0, &verbs->local_mr, why);
    for (unsigned r = 0; r < verbs->wire.size && !err; r++) {
        struct gw__verbs_link *link = &verbs->links[r];
        if (r == verbs->wire.rank)
            continue;
        lay_out_zones(verbs, link, verbs->memory + i * zone,
                      locals + i * local);
        err = own(verbs, link->zone, zone, IBV_ACCESS_REMOTE_WRITE,
                  &link->zone_mr, why);
        i++;
    }
    return err;
}

void gw__verbs_free_memory(struct gw__verbs *verbs)
{
    gw__verbs_forget(verbs);
    for (unsigned r = 0; verbs->links && r < verbs->wire.size; r++)
        if (verbs->links[r].zone_mr)
            ibv_dereg_mr(verbs->links[r].zone_mr);
    if (verbs->local_mr)
        ibv_dereg_mr(verbs->local_mr);
    if (verbs->memory)
        munmap(verbs->memory, verbs->memory_bytes);
}
