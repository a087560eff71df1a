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
static void release_context(struct gw__send_context *context)
{
    struct gw__messenger_zmq *zmq = context->zmq;
    if (atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) != 1)
        return;
    bool urgent = context->urgent; /* the next line gives it up */
    context->next = atomic_load_explicit(&zmq->returned, memory_order_relaxed);
    while (
        !atomic_compare_exchange_weak(&zmq->returned, &context->next, context))
        ;
    if (!urgent)
        return;
    atomic_store(&zmq->urgent, true);
    gw__messenger_zmq_rouse(&zmq->messenger);
}

static void return_frame(void *data, void *context)
{
    (void)data;
    release_context(context);
}

static void complete_send(struct gw__messenger_zmq *zmq,
                          struct gw__send_context *context)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[context->node];
    peer->waiting--;
    peer->copied_bytes -= context->copied_bytes;
    if (context->back) {
        peer->borrowed--;
        context->back(context->context);
    }
    free(context);
}

/* The stack has the newest first; users are notified in the order of sending.
 */
static struct gw__send_context *reversed(struct gw__send_context *context)
{
    struct gw__send_context *oldest = NULL;
    while (context) {
        struct gw__send_context *next = context->next;
        context->next = oldest;
        oldest = context;
        context = next;
    }
    return oldest;
}

bool gw__messenger_zmq_tend(struct gw__messenger *messenger)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    if (!atomic_load_explicit(&zmq->returned, memory_order_relaxed))
        return false;
    bool urgent = atomic_exchange(&zmq->urgent, false) || zmq->full;
    struct gw__send_context *context =
        reversed(atomic_exchange(&zmq->returned, NULL));
    zmq->full = false;
    while (context) {
        struct gw__send_context *next = context->next;
        complete_send(zmq, context);
        context = next;
    }
    return urgent;
}

/* ---- sending ---- */

static bool goes_from_where_it_lies(const struct gw__message_out *message,
                                    unsigned part)
{
    return gw__messenger_is_borrowed(message, part) &&
           message->parts[part].bytes > GW__MESSENGER_SMALL_BYTES;
}

/* The bytes to be copied and the room that they take. False: a part is too
 * large. */
static bool measure_message(const struct gw__message_out *message,
                            size_t *copied, size_t *room, size_t *borrowed)
{
    *copied = *room = *borrowed = 0;
    for (unsigned i = 0; i < message->part_count; i++) {
        size_t bytes = message->parts[i].bytes;
        if (bytes > largest_part)
            return false;
        if (goes_from_where_it_lies(message, i)) {
            *borrowed += bytes;
        } else {
            *copied += bytes;
            *room += gw__messenger_padded(bytes);
        }
    }
    return true;
}

static struct gw__messenger_head
address_head(struct gw__messenger_zmq *zmq,
             const struct gw__message_out *message)
{
    const struct gw__messenger_peer *peer =
        &zmq->messenger.peers[message->node];
    struct gw__messenger_head head = {
        .from = (uint16_t)zmq->messenger.node,
        .to = (uint16_t)message->node,
        .token = zmq->messenger.token,
        .from_high = zmq->messenger.incarnation_high,
        .from_low = zmq->messenger.incarnation_low,
        .to_high = peer->incarnation_high,
        .to_low = peer->incarnation_low,
        .sent_ns = gw_now_ns(),
        .part_count = message->part_count,
        .session = zmq->peers[message->node].session,
        .sequence = zmq->peers[message->node].sequence};
    for (unsigned i = 0; i < message->part_count; i++)
        head.bytes[i] = message->parts[i].bytes;
    return head;
}

static bool make_frame(struct gw__send_context *context, zmq_msg_t *frame,
                       void *data, size_t bytes)
{
    if (bytes == 0)
        return zmq_msg_init(frame) == 0;
    if (zmq_msg_init_data(frame, data, bytes, return_frame, context) != 0)
        return false;
    atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
    return true;
}

/* Returns the number of frames made: all, or fewer without memory. */
static unsigned make_frames(struct gw__send_context *context,
                            const struct gw__message_out *message,
                            zmq_msg_t frames[FRAMES])
{
    unsigned char *copy = context->copies;
    struct gw__messenger_head sealed = context->head;
    gw__messenger_head_seal(&sealed, &context->head);
    if (!make_frame(context, &frames[0], &context->head, sizeof context->head))
        return 0;
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        void *data = (void *)(uintptr_t)part->data;
        if (!goes_from_where_it_lies(message, i)) {
            if (part->bytes > 0)
                memcpy(copy, part->data, part->bytes);
            data = copy;
            copy += gw__messenger_padded(part->bytes);
        }
        if (!make_frame(context, &frames[1 + i], data, part->bytes))
            return 1 + i;
    }
    return 1 + message->part_count;
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

static enum gw_err send_message(struct gw__messenger_zmq *zmq,
                                const struct gw__message_out *message,
                                const struct gw__messenger_head *head,
                                size_t *borrowed_bytes)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[message->node];
    zmq_msg_t frames[FRAMES];
    size_t copied, room, borrowed;
    if (!measure_message(message, &copied, &room, &borrowed) ||
        peer->waiting >= GW__MESSENGER_WAITING_MAX ||
        peer->copied_bytes + copied > gw__messenger_copies_max)
        return refuse_full(zmq);
    struct gw__send_context *context = malloc(sizeof *context + room);
    if (!context)
        return refuse_full(zmq);
    *context = (struct gw__send_context){.zmq = zmq,
                                         .node = message->node,
                                         .copied_bytes = copied,
                                         .head = *head};
    atomic_init(&context->refs, 1);
    peer->waiting++;
    peer->copied_bytes += copied;
    unsigned made = make_frames(context, message, frames);
    bool sent = false;
    if (made <= message->part_count)
        close_frames(frames, made);
    else
        sent = send_frames(peer->dealer, frames, made);
    if (sent && borrowed > 0) {
        context->urgent = true;
        context->back = message->back;
        context->context = message->context;
        peer->borrowed += message->back != NULL;
    }
    release_context(context);
    if (!sent)
        return refuse_full(zmq);
    *borrowed_bytes = borrowed;
    return GW_OK;
}

enum gw_err gw__messenger_zmq_send(struct gw__messenger *messenger,
                                   const struct gw__message_out *message,
                                   size_t *borrowed_bytes)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    struct gw__messenger_zmq_peer *peer = &zmq->peers[message->node];
    gw__messenger_zmq_tend(messenger);
    struct gw__messenger_head head = address_head(zmq, message);
    enum gw_err err = send_message(zmq, message, &head, borrowed_bytes);
    if (err)
        return err;
    peer->sequence++;
    if (message->borrowed && *borrowed_bytes == 0 && message->back)
        message->back(message->context);
    return GW_OK;
}
