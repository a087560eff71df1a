/* SPDX-License-Identifier: MIT
 *
 * Sending: a message becomes the image of a descriptor, which is put into the
 * ring at once or waits here for room. Each part is treated as follows:
 *
 *     lent, in gw_alloc memory, not small    its place
 *     fits the body together with the rest   copied there
 *     else                                   copied into staging memory
 *
 * So only the first kind is lent to the peer; copied parts are returned at the
 * end of send.
 */
#include "messenger_shm.h"

#include <stdlib.h>
#include <string.h>

/* Smaller parts are cheaper to copy than to lend. */
enum { MAPPED_BYTES_MIN = 152 };

/* ---- the image ---- */

enum treatment { INLINE, STAGED, MAPPED };

struct plan {
    enum treatment treatments[GW__MESSENGER_PARTS];
    struct gw__memory_range places[GW__MESSENGER_PARTS];
    size_t staged_bytes; /* padded */
    size_t copied_bytes, borrowed_bytes;
};

static bool find_place(const struct gw__messenger_part *part,
                       struct gw__memory_range *range)
{
    struct gw__region region;
    uintptr_t at = (uintptr_t)part->data;
    if (part->bytes < MAPPED_BYTES_MIN || at % 8 != 0 ||
        !gw__region_find(part->data, part->bytes, &region))
        return false;
    *range = (struct gw__memory_range){.fd = region.fd,
                                       .region = region.id,
                                       .region_bytes = region.bytes,
                                       .offset = at - (uintptr_t)region.base};
    return true;
}

/* The largest inline part; -1: all of them fit. */
static int largest_inline(const struct gw__message_out *message,
                          const struct plan *plan)
{
    size_t body = 0, most = 0;
    int largest = -1;
    for (unsigned i = 0; i < message->part_count; i++) {
        size_t bytes = message->parts[i].bytes;
        if (plan->treatments[i] != INLINE) {
            body += sizeof(struct gw__memory_range);
            continue;
        }
        if (bytes > GW__MESSENGER_BODY)
            return (int)i;
        body += gw__messenger_padded(bytes);
        if (bytes > most) {
            most = bytes;
            largest = (int)i;
        }
    }
    return body > GW__MESSENGER_BODY ? largest : -1;
}

static void make_plan(const struct gw__messenger *messenger,
                      const struct gw__message_out *message, struct plan *plan)
{
    int largest;
    plan->staged_bytes = plan->copied_bytes = plan->borrowed_bytes = 0;
    for (unsigned i = 0; i < message->part_count; i++) {
        bool mapped = gw__messenger_is_borrowed(message, i) &&
                      !messenger->copy_always &&
                      find_place(&message->parts[i], &plan->places[i]);
        plan->treatments[i] = mapped ? MAPPED : INLINE;
        if (mapped)
            plan->borrowed_bytes += message->parts[i].bytes;
    }
    while ((largest = largest_inline(message, plan)) >= 0) {
        plan->treatments[largest] = STAGED;
        plan->staged_bytes +=
            gw__messenger_padded(message->parts[largest].bytes);
        plan->copied_bytes += message->parts[largest].bytes;
    }
}

/* Copies the staged parts into one block and sets their places. */
static bool stage_parts(struct gw__messenger_shm *shm,
                        const struct gw__message_out *message,
                        struct plan *plan, struct gw__messenger_block **block)
{
    size_t offset = 0;
    *block = NULL;
    if (plan->staged_bytes == 0)
        return true;
    *block = gw__messenger_staging_new(&shm->staging, plan->staged_bytes);
    if (!*block)
        return false;
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        if (plan->treatments[i] != STAGED)
            continue;
        memcpy(gw__messenger_staging_memory(*block) + offset, part->data,
               part->bytes);
        plan->places[i] = gw__messenger_staging_place(*block);
        plan->places[i].offset += offset;
        offset += gw__messenger_padded(part->bytes);
    }
    return true;
}

static void fill_body(struct gw__stream_message *entry,
                      const struct gw__message_out *message,
                      const struct plan *plan)
{
    unsigned char *at = entry->body;
    for (unsigned i = 0; i < message->part_count; i++)
        if (plan->treatments[i] != INLINE) {
            entry->mapped |= (uint8_t)(1U << i);
            memcpy(at, &plan->places[i], sizeof *plan->places);
            at += sizeof *plan->places;
        }
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        entry->bytes[i] = part->bytes;
        if (plan->treatments[i] != INLINE || part->bytes == 0)
            continue;
        memcpy(at, part->data, part->bytes);
        at += gw__messenger_padded(part->bytes);
    }
}

static bool make_image(struct gw__messenger_shm *shm,
                       const struct gw__message_out *message,
                       struct gw__messenger_image *image)
{
    struct plan plan;
    make_plan(&shm->messenger, message, &plan);
    if (shm->peers[message->node].copied_bytes + plan.copied_bytes >
        gw__messenger_copies_max)
        return false;
    image->next = NULL;
    image->loan =
        (struct gw__messenger_loan){.copied_bytes = plan.copied_bytes};
    image->borrowed_bytes = plan.borrowed_bytes;
    image->entry.session = gw__messenger_link_to(shm, message->node)->session;
    image->entry.sent_ns = gw_now_ns();
    image->entry.loan = GW__MESSENGER_NO_LOAN;
    image->entry.part_count = (uint8_t)message->part_count;
    image->entry.mapped = 0;
    image->entry.borrowed = plan.borrowed_bytes > 0;
    if (!stage_parts(shm, message, &plan, &image->loan.block))
        return false;
    if (image->entry.borrowed) {
        image->loan.back = message->back;
        image->loan.context = message->context;
    }
    fill_body(&image->entry, message, &plan);
    return true;
}

/* ---- the ring ---- */

/* Has the peer begun to read this node's ring? Then its counts are valid. */
static bool is_read(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    return atomic_load_explicit(&theirs->from, memory_order_acquire) ==
           shm->home->segment->nonce;
}

static bool has_room(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    if (peer->pushed - peer->consumed_seen < GW__MESSENGER_SLOTS)
        return true;
    if (is_read(shm, node))
        peer->consumed_seen =
            atomic_load_explicit(&gw__messenger_link_from(shm, node)->consumed,
                                 memory_order_acquire);
    return peer->pushed - peer->consumed_seen < GW__MESSENGER_SLOTS;
}

static bool push_image(struct gw__messenger_shm *shm, unsigned node,
                       struct gw__messenger_image *image)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__stream_message *entry =
        &gw__messenger_link_to(shm, node)
             ->ring[peer->pushed % GW__MESSENGER_SLOTS];
    if (!has_room(shm, node))
        return false;
    if (image->entry.mapped) {
        image->entry.loan = gw__messenger_loan_new(peer, &image->loan);
        if (image->entry.loan == GW__MESSENGER_NO_LOAN)
            return false;
        gw__nodes_add(&shm->busy, node);
    }
    size_t behind = offsetof(struct gw__stream_message, session);
    memcpy((char *)entry + behind, (char *)&image->entry + behind,
           sizeof *entry - behind);
    peer->pushed++;
    atomic_store_explicit(&entry->sequence, peer->pushed, memory_order_release);
    gw__messenger_ring(peer->source->segment);
    return true;
}

/* ---- waiting messages ---- */

static bool wait_for_room(struct gw__messenger_shm *shm, unsigned node,
                          const struct gw__messenger_image *image)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_image *kept =
        aligned_alloc(GW__MESSENGER_LINE_BYTES, sizeof *kept);
    if (!kept)
        return false;
    memcpy(kept, image, sizeof *kept);
    if (peer->first)
        peer->last->next = kept;
    else
        peer->first = kept;
    peer->last = kept;
    peer->waiting++;
    gw__nodes_add(&shm->busy, node);
    atomic_store(&gw__messenger_link_to(shm, node)->wants_room, 1);
    return true;
}

static struct gw__messenger_image *shift(struct gw__messenger_shm_peer *peer)
{
    struct gw__messenger_image *image = peer->first;
    peer->first = image->next;
    peer->waiting--;
    return image;
}

static bool push_waiting(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    bool moved = false;
    while (peer->first && push_image(shm, node, peer->first)) {
        free(shift(peer));
        moved = true;
    }
    if (moved && !peer->first)
        atomic_store(&gw__messenger_link_to(shm, node)->wants_room, 0);
    return moved;
}

void gw__messenger_shm_drop_waiting(struct gw__messenger_shm *shm,
                                    unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    while (peer->first) {
        struct gw__messenger_image *image = shift(peer);
        shm->messenger.counts.dropped++;
        gw__messenger_loan_end(shm, peer, &image->loan);
        free(image);
    }
    atomic_store(&gw__messenger_link_to(shm, node)->wants_room, 0);
}

/* Takes back returned loans and pushes waiting messages. True: there were any.
 */
static bool serve_peer(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    bool moved = gw__messenger_loans_collect(shm, node);
    moved |= push_waiting(shm, node);
    if (!peer->first && peer->out + peer->orphans == 0)
        gw__nodes_remove(&shm->busy, node);
    return moved;
}

bool gw__messenger_shm_can_serve(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    if (!is_read(shm, node))
        return false;
    return (peer->out + peer->orphans > 0 &&
            atomic_load_explicit(&theirs->returned, memory_order_acquire) !=
                peer->returned_seen) ||
           (peer->first &&
            (!peer->first->entry.mapped ||
             peer->free_loan != GW__MESSENGER_NO_LOAN) &&
            has_room(shm, node));
}

bool gw__messenger_shm_tend(struct gw__messenger *messenger)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    bool moved = false;
    for (unsigned node = gw__nodes_next(&shm->busy, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&shm->busy, node + 1))
        moved |= serve_peer(shm, node);
    return moved;
}

/* ---- messages ---- */

enum gw_err gw__messenger_shm_send(struct gw__messenger *messenger,
                                   const struct gw__message_out *message,
                                   size_t *borrowed_bytes)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    struct gw__messenger_shm_peer *peer = &shm->peers[message->node];
    struct gw__messenger_image image;
    if (peer->first)
        serve_peer(shm, message->node);
    if (peer->waiting >= GW__MESSENGER_WAITING_MAX ||
        !make_image(shm, message, &image))
        return GW_ENOMEM;
    peer->copied_bytes += image.loan.copied_bytes;
    if ((peer->first || !push_image(shm, message->node, &image)) &&
        !wait_for_room(shm, message->node, &image)) {
        image.loan.back = NULL;
        gw__messenger_loan_end(shm, peer, &image.loan);
        return GW_ENOMEM;
    }
    *borrowed_bytes = image.borrowed_bytes;
    if (message->borrowed && !image.entry.borrowed && message->back)
        message->back(message->context);
    return GW_OK;
}
