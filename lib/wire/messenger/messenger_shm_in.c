/* SPDX-License-Identifier: MIT
 *
 * Receiving: a descriptor is copied out of the peer's ring into a message, and
 * the memory that it names is mapped. The message keeps alive the parts of the
 * messenger that it needs: the mappings, and the segment to which its loan is
 * returned.
 *
 * A peer is a process of the same user, but it may be faulty or have been
 * replaced a moment ago. So a descriptor is checked after it has been copied,
 * and its link again after its memory has been mapped.
 */
#include "messenger_shm.h"

#include <stdlib.h>
#include <string.h>

struct shm_message {
    struct gw__messenger_message base;
    struct gw__messenger_source *source; /* NULL: nothing is to be returned */
    struct gw__messenger_mapping *mappings[GW__MESSENGER_PARTS];
    uint16_t loan;
    bool borrowed;
    _Alignas(8) unsigned char body[GW__MESSENGER_BODY];
};

/* ---- release, by any thread ---- */

void gw__messenger_home_release(struct gw__messenger_home *home)
{
    if (atomic_fetch_sub_explicit(&home->refs, 1, memory_order_acq_rel) != 1)
        return;
    gw__region_free(&home->region);
    free(home);
}

void gw__messenger_source_release(struct gw__messenger_source *source)
{
    if (atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) != 1)
        return;
    gw__region_unmap(source->segment, source->segment_bytes);
    gw__messenger_home_release(source->home);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

static void return_loan(struct gw__messenger_source *source, uint16_t loan,
                        bool borrowed)
{
    struct gw__messenger_home *home = source->home;
    struct gw__messenger_link *ours = &home->segment->links[source->node];
    struct gw__messenger_link *theirs = &source->segment->links[home->node];
    pthread_mutex_lock(&source->lock);
    bool attached = !source->detached;
    if (attached) {
        uint64_t returned =
            atomic_load_explicit(&ours->returned, memory_order_relaxed);
        ours->returns[returned % GW__MESSENGER_LOANS] = loan;
        atomic_store_explicit(&ours->returned, returned + 1,
                              memory_order_release);
    }
    pthread_mutex_unlock(&source->lock);
    atomic_thread_fence(memory_order_seq_cst);
    if (attached && (borrowed || atomic_load_explicit(&theirs->wants_room,
                                                      memory_order_relaxed)))
        gw__messenger_ring(source->segment);
}

static void free_message(struct gw__message_in *released)
{
    struct shm_message *message = (struct shm_message *)released;
    struct gw__messenger_source *source = message->source;
    for (unsigned i = 0; i < GW__MESSENGER_PARTS; i++)
        if (message->mappings[i])
            gw__messenger_mapping_release(message->mappings[i]);
    if (source) {
        return_loan(source, message->loan, message->borrowed);
        gw__messenger_source_release(source);
    }
    free(message);
}

/* ---- the ring ---- */

static bool is_for_us(struct gw__messenger_shm *shm,
                      struct gw__messenger_link *theirs)
{
    return atomic_load_explicit(&theirs->to, memory_order_acquire) ==
           shm->home->segment->nonce;
}

static struct gw__stream_message *head(struct gw__messenger_shm *shm,
                                       unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    struct gw__stream_message *entry =
        &theirs->ring[peer->consumed % GW__MESSENGER_SLOTS];
    return atomic_load_explicit(&entry->sequence, memory_order_acquire) ==
                       peer->consumed + 1 &&
                   is_for_us(shm, theirs)
               ? entry
               : NULL;
}

bool gw__messenger_shm_has(struct gw__messenger_shm *shm, unsigned node)
{
    return head(shm, node) != NULL;
}

/* Gives the slot back to the sender. */
static void advance(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *ours = gw__messenger_link_to(shm, node);
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    atomic_store_explicit(&ours->consumed, ++peer->consumed,
                          memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&theirs->wants_room, memory_order_relaxed))
        gw__messenger_ring(peer->source->segment);
}

/* Copies the head. False: the link has been reset meanwhile. */
static bool copy_head(struct gw__messenger_shm *shm, unsigned node,
                      const struct gw__stream_message *head,
                      struct gw__stream_message *entry)
{
    memcpy(entry, head, sizeof *entry);
    atomic_thread_fence(memory_order_acquire);
    return is_for_us(shm, gw__messenger_link_from(shm, node));
}

static bool is_current(struct gw__messenger_shm *shm, unsigned node,
                       const struct gw__stream_message *entry)
{
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&theirs->session) == entry->session &&
           is_for_us(shm, theirs);
}

/* ---- messages ---- */

static bool is_mapped(const struct gw__stream_message *entry, unsigned part)
{
    return entry->mapped >> part & 1;
}

static bool map_part(struct gw__messenger_shm_peer *peer,
                     struct shm_message *message, unsigned part,
                     const struct gw__memory_range *range)
{
    struct gw__messenger_part *shown = &message->base.in.parts[part];
    if (range->fd < 0 || range->region == 0 ||
        range->offset > range->region_bytes ||
        shown->bytes > range->region_bytes - range->offset)
        return false;
    struct gw__messenger_mapping *mapping = gw__messenger_map(peer, range);
    if (!mapping)
        return false;
    message->mappings[part] = mapping;
    shown->data = (unsigned char *)mapping->base + range->offset;
    return true;
}

/* Finds all parts. False: the descriptor is invalid, or its memory is gone. */
static bool lay_out_parts(struct gw__messenger_shm_peer *peer,
                          struct shm_message *message,
                          const struct gw__stream_message *entry)
{
    struct gw__message_in *shown = &message->base.in;
    size_t at = 0;
    if (entry->part_count < 1 || entry->part_count > GW__MESSENGER_PARTS)
        return false;
    shown->part_count = entry->part_count;
    for (unsigned i = 0; i < shown->part_count; i++) {
        struct gw__memory_range range;
        shown->parts[i].bytes = entry->bytes[i];
        message->base.bytes += entry->bytes[i];
        if (!is_mapped(entry, i))
            continue;
        memcpy(&range, message->body + at, sizeof range);
        at += sizeof range;
        if (!map_part(peer, message, i, &range))
            return false;
    }
    for (unsigned i = 0; i < shown->part_count; i++) {
        if (is_mapped(entry, i))
            continue;
        if (entry->bytes[i] > sizeof message->body - at)
            return false;
        shown->parts[i].data = message->body + at;
        at += gw__messenger_padded(entry->bytes[i]);
    }
    return true;
}

static struct shm_message *make_message(struct gw__messenger_shm *shm,
                                        unsigned node,
                                        const struct gw__stream_message *entry)
{
    const struct gw__messenger_peer *known = &shm->messenger.peers[node];
    struct shm_message *message = malloc(sizeof *message);
    if (!message)
        return NULL;
    message->base = (struct gw__messenger_message){
        .in = {.from = node,
               .incarnation_high = known->incarnation_high,
               .incarnation_low = known->incarnation_low,
               .free = free_message},
        .sent_ns = entry->sent_ns};
    atomic_init(&message->base.in.holds, 1);
    memset(message->mappings, 0, sizeof message->mappings);
    memcpy(message->body, entry->body, sizeof message->body);
    message->source = NULL;
    if (entry->loan != GW__MESSENGER_NO_LOAN) {
        message->source = shm->peers[node].source;
        atomic_fetch_add(&message->source->refs, 1);
        message->loan = entry->loan;
        message->borrowed = entry->borrowed;
    }
    return message;
}

/* Takes the head of a ring; NULL: there was none, or it was dropped. *taken:
 * there was one. */
static struct gw__messenger_message *
pop_from(struct gw__messenger_shm *shm, unsigned node, bool wanted, bool *found)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__stream_message entry, *first = head(shm, node);
    *found = first && copy_head(shm, node, first, &entry);
    if (!*found)
        return NULL;
    struct shm_message *message = make_message(shm, node, &entry);
    if (!message) {
        *found = false; /* no memory: it stays in the ring */
        return NULL;
    }
    wanted = wanted && is_current(shm, node, &entry) &&
             lay_out_parts(peer, message, &entry) &&
             is_current(shm, node, &entry);
    advance(shm, node);
    if (wanted)
        return &message->base;
    shm->messenger.counts.dropped++;
    gw__message_in_release(&message->base.in);
    return NULL;
}

static struct gw__messenger_message *pop_between(struct gw__messenger_shm *shm,
                                                 unsigned first, unsigned end)
{
    bool found;
    for (unsigned node = gw__nodes_next(&shm->known, first); node < end;
         node = gw__nodes_next(&shm->known, node + 1)) {
        struct gw__messenger_message *message =
            pop_from(shm, node, true, &found);
        if (!message)
            continue;
        shm->turn = node + 1;
        return message;
    }
    return NULL;
}

struct gw__messenger_message *
gw__messenger_shm_pop(struct gw__messenger *messenger)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    unsigned begin = shm->turn++ % GW__MESSENGER_NODES;
    struct gw__messenger_message *message =
        pop_between(shm, begin, GW__MESSENGER_NODES);
    return message ? message : pop_between(shm, 0, begin);
}

void gw__messenger_shm_drain(struct gw__messenger_shm *shm, unsigned node)
{
    bool found = true;
    for (unsigned i = 0; i < GW__MESSENGER_SLOTS && found; i++)
        pop_from(shm, node, false, &found);
}
