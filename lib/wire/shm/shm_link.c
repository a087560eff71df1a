/* SPDX-License-Identifier: MIT
 *
 * Slices between two ranks of a host: a single-producer ring of descriptors in
 * the sender's segment. A large slice is only named (pointer passing): the
 * receiver reduces directly from the sender's memory. A small one is in the
 * descriptor's own cache lines. Memory that the peer cannot map is copied into
 * a stage, a region of RING_SLOTS slices made at its first use.
 *
 * The receiver counts the slices that it has released in its own segment. The
 * sender reads that count for room (RING_SLOTS in flight) and for `sends_done`.
 */
#include "shm.h"

#include <assert.h>
#include <string.h>

static struct gw__shm_link *link_to(struct gw__shm *shm, unsigned peer)
{
    return &shm->segment->links[peer];
}

static struct gw__shm_link *link_from(struct gw__shm *shm, unsigned peer)
{
    return &shm->peers[peer].segment->links[shm->wire.rank];
}

/* The reason why nothing more will come from this peer; GW_OK: it may. */
static enum gw_err gone(struct gw__shm_peer *peer)
{
    if (peer->lost)
        return GW_ELOST;
    uint32_t state =
        atomic_load_explicit(&peer->segment->state, memory_order_acquire);
    return state == SHM_CLOSED ? GW_ECLOSED : GW_OK;
}

static uint64_t released(struct gw__shm *shm, unsigned rank)
{
    struct gw__shm_peer *peer = &shm->peers[rank];
    if (peer->released_seen < peer->pushed)
        peer->released_seen = atomic_load_explicit(
            &link_from(shm, rank)->released, memory_order_acquire);
    return peer->released_seen;
}

/* Buffers of copied slices are free at once; a lost or closed peer reads no
 * slices any more. */
uint64_t gw__shm_sends_done(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    uint64_t returned = released(shm, rank);
    return returned >= peer->borrowed || gone(peer) ? peer->pushed : returned;
}

bool gw__shm_all_released(struct gw__shm *shm, unsigned rank)
{
    return released(shm, rank) == shm->peers[rank].pushed;
}

static bool stage_slice(struct gw__shm *shm, struct gw__shm_peer *peer,
                        const void *data, size_t bytes,
                        struct gw__memory_range *range)
{
    if (!peer->staging.base && gw__region_new(RING_SLOTS * shm->slice_bytes,
                                              &peer->staging, &shm->error))
        return false;
    size_t offset = peer->pushed % RING_SLOTS * shm->slice_bytes;
    memcpy((unsigned char *)peer->staging.base + offset, data, bytes);
    *range = (struct gw__memory_range){.fd = peer->staging.fd,
                                       .region = peer->staging.id,
                                       .region_bytes = peer->staging.bytes,
                                       .offset = offset};
    return true;
}

enum gw_err gw__shm_send(struct gw__wire *wire, unsigned rank,
                         const struct gw__header *header, const void *data,
                         bool copy)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    size_t bytes = header->bytes;
    assert(rank != wire->rank);
    assert(bytes <= shm->slice_bytes);
    enum gw_err why = gone(peer);
    if (why)
        return why;
    if (peer->pushed - peer->released_seen >= RING_SLOTS &&
        peer->pushed - released(shm, rank) >= RING_SLOTS)
        return GW_PENDING;
    struct gw__shm_entry *entry =
        &link_to(shm, rank)->ring[peer->pushed % RING_SLOTS];
    bool borrow = false;
    entry->range.fd = -1;
    if (bytes <= INLINE_BYTES) {
        if (bytes)
            memcpy(entry->bytes, data, bytes);
    } else {
        if (!copy)
            entry->range = gw__shm_show(wire, data, bytes);
        borrow = entry->range.fd >= 0;
        if (!borrow && !stage_slice(shm, peer, data, bytes, &entry->range))
            return shm->error.code;
    }
    entry->header = *header;
    entry->borrowed = borrow;
    peer->pushed++;
    if (borrow)
        peer->borrowed = peer->pushed;
    atomic_store_explicit(&entry->sequence, peer->pushed, memory_order_release);
    gw__shm_moved(wire);
    gw__shm_wake(wire, rank);
    return GW_OK;
}

enum gw_err gw__shm_peek(struct gw__wire *wire, unsigned rank,
                         struct gw__slice_view *view)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    struct gw__shm_entry *entry =
        &link_from(shm, rank)->ring[peer->consumed % RING_SLOTS];
    if (atomic_load_explicit(&entry->sequence, memory_order_acquire) !=
        peer->consumed + 1) {
        enum gw_err why = gone(peer);
        /* A slice may have come between our look and its closing. */
        if (!why ||
            atomic_load_explicit(&entry->sequence, memory_order_acquire) !=
                peer->consumed + 1)
            return why ? why : GW_PENDING;
    }
    view->header = &entry->header;
    view->data = entry->bytes;
    if (entry->range.fd >= 0) {
        view->data = gw__shm_reach(wire, rank, &entry->range);
        if (!view->data)
            return gone(&shm->peers[rank]);
    }
    return GW_OK;
}

void gw__shm_release(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    bool borrowed =
        link_from(shm, rank)->ring[peer->consumed % RING_SLOTS].borrowed;
    /* A peer that has closed without waiting for us may have overwritten the
     * data that we read. (A peer that waits closes after it has seen our
     * release.) The fence orders our loads before this one. */
    atomic_thread_fence(memory_order_acquire);
    if (borrowed && atomic_load_explicit(&peer->segment->state,
                                         memory_order_relaxed) == SHM_CLOSED)
        wire->read_raced = true;
    peer->consumed++;
    atomic_store_explicit(&link_to(shm, rank)->released, peer->consumed,
                          memory_order_release);
    gw__shm_moved(wire);
    gw__shm_wake(wire, rank);
    /* A rank that has failed gets its memory back before it was read. The fence
     * in `wake` orders our loads before this one. */
    if (borrowed &&
        atomic_load_explicit(&peer->segment->abort_code, memory_order_relaxed))
        wire->read_raced = true;
}
