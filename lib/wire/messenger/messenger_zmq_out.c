/* SPDX-License-Identifier: MIT
 *
 * Sending over ZeroMQ. Each peer has a DEALER of its own, so that a peer that
 * does not read holds up no other. Small parts are copied into the send
 * context; large lent parts are sent in place.
 */
#include "messenger_zmq.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 1 + GW__MESSENGER_PARTS };

/* The largest frame that libzmq accepts (ZMQ_MAXMSGSIZE of the receiver). */
static const size_t largest_part = UINT32_MAX;

/* ---- returned contexts ---- */

/* Drops one reference: by libzmq's thread, or by ours. */
static void release_context(struct gw__send_context *carriage)
{
    struct gw__messenger_zmq *zmq = carriage->zmq;
    if (atomic_fetch_sub_explicit(&carriage->refs, 1, memory_order_acq_rel) !=
        1)
        return;
    bool urgent = carriage->urgent; /* the next line gives it up */
    carriage->next = atomic_load_explicit(&zmq->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&zmq->returned, &carriage->next,
                                         carriage))
        ;
    if (!urgent)
        return;
    atomic_store(&zmq->urgent, true);
    gw__messenger_zmq_rouse(&zmq->post);
}

static void give_back_frame(void *data, void *carriage)
{
    (void)data;
    release_context(carriage);
}

static void settle_sent(struct gw__messenger_zmq *zmq,
                        struct gw__send_context *carriage)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[carriage->node];
    peer->waiting--;
    peer->copied_bytes -= carriage->copied_bytes;
    if (carriage->back) {
        peer->lent--;
        carriage->back(carriage->context);
    }
    free(carriage);
}

/* The stack has the newest first; users are notified in the order of sending.
 */
static struct gw__send_context *reversed(struct gw__send_context *carriage)
{
    struct gw__send_context *oldest = NULL;
    while (carriage) {
        struct gw__send_context *next = carriage->next;
        carriage->next = oldest;
        oldest = carriage;
        carriage = next;
    }
    return oldest;
}

bool gw__messenger_zmq_tend(struct gw__messenger *post)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(post);
    if (!atomic_load_explicit(&zmq->returned, memory_order_relaxed))
        return false;
    bool urgent = atomic_exchange(&zmq->urgent, false) || zmq->full;
    struct gw__send_context *carriage =
        reversed(atomic_exchange(&zmq->returned, NULL));
    zmq->full = false;
    while (carriage) {
        struct gw__send_context *next = carriage->next;
        settle_sent(zmq, carriage);
        carriage = next;
    }
    return urgent;
}

/* ---- sending ---- */

static bool goes_from_where_it_lies(const struct gw__message_out *letter,
                                    unsigned part)
{
    return gw__messenger_is_lent(letter, part) &&
           letter->parts[part].bytes > GW__MESSENGER_SMALL_BYTES;
}

/* The bytes to be copied and the room that they take. False: a part is too
 * large. */
static bool measure_message(const struct gw__message_out *letter,
                            size_t *copied, size_t *room, size_t *lent)
{
    *copied = *room = *lent = 0;
    for (unsigned i = 0; i < letter->part_count; i++) {
        size_t bytes = letter->parts[i].bytes;
        if (bytes > largest_part)
            return false;
        if (goes_from_where_it_lies(letter, i)) {
            *lent += bytes;
        } else {
            *copied += bytes;
            *room += gw__messenger_padded(bytes);
        }
    }
    return true;
}

static struct gw__messenger_head
address_head(struct gw__messenger_zmq *zmq,
             const struct gw__message_out *letter)
{
    const struct gw__messenger_peer *peer = &zmq->post.peers[letter->node];
    struct gw__messenger_head head = {
        .from = (uint16_t)zmq->post.node,
        .to = (uint16_t)letter->node,
        .token = zmq->post.token,
        .from_high = zmq->post.incarnation_high,
        .from_low = zmq->post.incarnation_low,
        .to_high = peer->incarnation_high,
        .to_low = peer->incarnation_low,
        .sent_ns = gw_now_ns(),
        .part_count = letter->part_count,
        .session = zmq->peers[letter->node].session,
        .sequence = zmq->peers[letter->node].sequence};
    for (unsigned i = 0; i < letter->part_count; i++)
        head.bytes[i] = letter->parts[i].bytes;
    return head;
}

static bool make_frame(struct gw__send_context *carriage, zmq_msg_t *frame,
                       void *data, size_t bytes)
{
    if (bytes == 0)
        return zmq_msg_init(frame) == 0;
    if (zmq_msg_init_data(frame, data, bytes, give_back_frame, carriage) != 0)
        return false;
    atomic_fetch_add_explicit(&carriage->refs, 1, memory_order_relaxed);
    return true;
}

/* Returns the number of frames made: all, or fewer without memory. */
static unsigned make_frames(struct gw__send_context *carriage,
                            const struct gw__message_out *letter,
                            zmq_msg_t frames[FRAMES])
{
    unsigned char *copy = carriage->copies;
    struct gw__messenger_head sealed = carriage->head;
    gw__messenger_head_seal(&sealed, &carriage->head);
    if (!make_frame(carriage, &frames[0], &carriage->head,
                    sizeof carriage->head))
        return 0;
    for (unsigned i = 0; i < letter->part_count; i++) {
        const struct gw__messenger_part *part = &letter->parts[i];
        void *data = (void *)(uintptr_t)part->data;
        if (!goes_from_where_it_lies(letter, i)) {
            if (part->bytes > 0)
                memcpy(copy, part->data, part->bytes);
            data = copy;
            copy += gw__messenger_padded(part->bytes);
        }
        if (!make_frame(carriage, &frames[1 + i], data, part->bytes))
            return 1 + i;
    }
    return 1 + letter->part_count;
}

/* The pipe has no mark, so it is never full; libzmq takes all frames or none.
 */
static bool send_frames(void *dealer, zmq_msg_t *frames, unsigned count)
{
    bool sent = true;
    for (unsigned i = 0; i < count; i++) {
        int more = i + 1 < count ? ZMQ_SNDMORE : 0;
        sent =
            sent && zmq_msg_send(&frames[i], dealer, more | ZMQ_DONTWAIT) >= 0;
        if (!sent)
            zmq_msg_close(&frames[i]);
    }
    return sent;
}

static enum gw_err refuse_full(struct gw__messenger_zmq *zmq)
{
    zmq->full = true;
    return GW_ENOMEM;
}

static void close_frames(zmq_msg_t *frames, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        zmq_msg_close(&frames[i]);
}

static enum gw_err send_far(struct gw__messenger_zmq *zmq,
                            const struct gw__message_out *letter,
                            const struct gw__messenger_head *head,
                            size_t *lent_bytes)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[letter->node];
    zmq_msg_t frames[FRAMES];
    size_t copied, room, lent;
    if (!measure_message(letter, &copied, &room, &lent) ||
        peer->waiting >= GW__MESSENGER_WAITING_MAX ||
        peer->copied_bytes + copied > gw__messenger_copies_max)
        return refuse_full(zmq);
    struct gw__send_context *carriage = malloc(sizeof *carriage + room);
    if (!carriage)
        return refuse_full(zmq);
    *carriage = (struct gw__send_context){.zmq = zmq,
                                          .node = letter->node,
                                          .copied_bytes = copied,
                                          .head = *head};
    atomic_init(&carriage->refs, 1);
    peer->waiting++;
    peer->copied_bytes += copied;
    unsigned made = make_frames(carriage, letter, frames);
    bool sent = false;
    if (made <= letter->part_count)
        close_frames(frames, made);
    else
        sent = send_frames(peer->dealer, frames, made);
    if (sent && lent > 0) {
        carriage->urgent = true;
        carriage->back = letter->back;
        carriage->context = letter->context;
        peer->lent += letter->back != NULL;
    }
    release_context(carriage);
    if (!sent)
        return refuse_full(zmq);
    *lent_bytes = lent;
    return GW_OK;
}

enum gw_err gw__messenger_zmq_send(struct gw__messenger *post,
                                   const struct gw__message_out *letter,
                                   size_t *lent_bytes)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(post);
    struct gw__messenger_zmq_peer *peer = &zmq->peers[letter->node];
    gw__messenger_zmq_tend(post);
    struct gw__messenger_head head = address_head(zmq, letter);
    if (!gw__messenger_near_send(zmq, letter, &head)) {
        enum gw_err err = send_far(zmq, letter, &head, lent_bytes);
        if (err)
            return err;
        if (peer->near == GW__MESSENGER_NEAR_HEARD)
            peer->near = GW__MESSENGER_NEAR_OPEN;
    }
    peer->sequence++;
    if (letter->lent && *lent_bytes == 0 && letter->back)
        letter->back(letter->context);
    return GW_OK;
}
