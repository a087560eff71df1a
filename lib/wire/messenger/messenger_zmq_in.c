/* SPDX-License-Identifier: MIT
 *
 * Receiving over ZeroMQ. The frames of a message:
 *
 *     connection id (of ROUTER) | head | part | ...
 *
 * libzmq delivers all of them or none. A message that does not match its head
 * exactly is refused as a whole. A large part stays in libzmq's message, which
 * has memory of its own. A small part is at any address in a common read buffer
 * and is copied.
 */
#include "messenger_zmq.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 256 }; /* per take: a flood of refusals must not hold us */

static void free_message(struct gw__message_in *released)
{
    struct gw__messenger_zmq_message *message =
        (struct gw__messenger_zmq_message *)released;
    for (unsigned i = 0; i < GW__MESSENGER_PARTS; i++) {
        if (message->kept >> i & 1)
            zmq_msg_close(&message->frames[i]);
        free(message->moved[i]);
    }
    free(message);
}

struct gw__messenger_zmq_message *
gw__messenger_zmq_message_new(const struct gw__messenger_head *head,
                              size_t room)
{
    struct gw__messenger_zmq_message *message = malloc(sizeof *message + room);
    if (!message)
        return NULL;
    message->base = (struct gw__messenger_message){
        .in = {.from = head->from,
               .incarnation_high = head->from_high,
               .incarnation_low = head->from_low,
               .part_count = head->part_count,
               .free = free_message},
        .sent_ns = head->sent_ns};
    atomic_init(&message->base.in.holds, 1);
    message->session = head->session;
    message->kept = 0;
    memset(message->moved, 0, sizeof message->moved);
    return message;
}

void gw__messenger_zmq_drop(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_message *message)
{
    zmq->messenger.counts.dropped++;
    gw__message_in_release(&message->in);
}

/* ---- frames ---- */

static void skip_rest(void *router, bool more)
{
    zmq_msg_t frame;
    while (more) {
        zmq_msg_init(&frame);
        more = zmq_msg_recv(&frame, router, ZMQ_DONTWAIT) >= 0 &&
               zmq_msg_more(&frame);
        zmq_msg_close(&frame);
    }
}

/* Room for the copies of small parts. */
static size_t room_of(const struct gw__messenger_head *head)
{
    size_t room = 0;
    for (unsigned i = 0; i < head->part_count; i++)
        if (head->bytes[i] <= GW__MESSENGER_SMALL_BYTES)
            room += gw__messenger_padded(head->bytes[i]);
    return room;
}

/* The final address of the part's bytes; NULL: no memory. */
static const void *part_data(struct gw__messenger_zmq_message *message,
                             unsigned part, unsigned char *copy)
{
    zmq_msg_t *frame = &message->frames[part];
    const void *data = zmq_msg_data(frame);
    size_t bytes = zmq_msg_size(frame);
    if (bytes > GW__MESSENGER_SMALL_BYTES && (uintptr_t)data % 8 == 0)
        return data;
    if (bytes > GW__MESSENGER_SMALL_BYTES)
        copy = message->moved[part] = malloc(bytes);
    if (copy && bytes > 0)
        memcpy(copy, data, bytes);
    message->kept &= ~(1U << part);
    zmq_msg_close(frame);
    return copy;
}

/* False: refused; *more: frames are left. */
static bool read_parts(struct gw__messenger_zmq *zmq,
                       struct gw__messenger_zmq_message *message,
                       const struct gw__messenger_head *head, bool *more)
{
    unsigned char *copy = message->copies;
    for (unsigned i = 0; i < head->part_count; i++) {
        struct gw__messenger_part *part = &message->base.in.parts[i];
        zmq_msg_init(&message->frames[i]);
        message->kept |= 1U << i;
        if (!*more ||
            zmq_msg_recv(&message->frames[i], zmq->router, ZMQ_DONTWAIT) < 0)
            return false;
        *more = zmq_msg_more(&message->frames[i]);
        part->bytes = zmq_msg_size(&message->frames[i]);
        if (part->bytes != head->bytes[i])
            return false;
        part->data = part_data(message, i, copy);
        if (!part->data)
            return false;
        if (part->bytes <= GW__MESSENGER_SMALL_BYTES)
            copy += gw__messenger_padded(part->bytes);
        message->base.bytes += part->bytes;
    }
    return !*more;
}

static enum gw__arrival read_message(struct gw__messenger_zmq *zmq,
                                     struct gw__messenger_zmq_message **read)
{
    zmq_msg_t frame;
    struct gw__messenger_head head;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, zmq->router, ZMQ_DONTWAIT) < 0)
        return GW__ARRIVAL_NONE;
    bool more = zmq_msg_more(&frame);
    bool good = more && zmq_msg_recv(&frame, zmq->router, ZMQ_DONTWAIT) >= 0;
    more = good && zmq_msg_more(&frame);
    good = good &&
           gw__messenger_head_read(zmq_msg_data(&frame), zmq_msg_size(&frame),
                                   &zmq->mine, &head, NULL) == GW_OK;
    zmq_msg_close(&frame);
    *read = good ? gw__messenger_zmq_message_new(&head, room_of(&head)) : NULL;
    if (*read && read_parts(zmq, *read, &head, &more))
        return GW__ARRIVAL_MESSAGE;
    skip_rest(zmq->router, more);
    if (*read)
        gw__message_in_release(&(*read)->base.in);
    zmq->messenger.counts.dropped++;
    return GW__ARRIVAL_REFUSED;
}

/* ---- early messages ---- */

static struct gw__messenger_message *
unlink_early(struct gw__messenger_zmq *zmq, struct gw__messenger_message **at)
{
    struct gw__messenger_message *message = *at;
    *at = message->next;
    if (!*at)
        zmq->early_end = at;
    zmq->early_count--;
    zmq->early_bytes -= message->bytes;
    return message;
}

static void keep_early(struct gw__messenger_zmq *zmq,
                       struct gw__messenger_message *message)
{
    message->next = NULL;
    *zmq->early_end = message;
    zmq->early_end = &message->next;
    zmq->early_count++;
    zmq->early_bytes += message->bytes;
    while (zmq->early && (zmq->early_count > GW__MESSENGER_EARLY_MESSAGES ||
                          zmq->early_bytes > gw__messenger_early_bytes))
        gw__messenger_zmq_drop(zmq, unlink_early(zmq, &zmq->early));
}

static bool is_known(const struct gw__messenger_zmq *zmq,
                     const struct gw__message_in *message)
{
    return gw__messenger_knows(&zmq->messenger, message->from,
                               message->incarnation_high,
                               message->incarnation_low);
}

static bool is_former(const struct gw__messenger_zmq *zmq,
                      const struct gw__message_in *message)
{
    const struct gw__messenger_zmq_peer *peer = &zmq->peers[message->from];
    return peer->was_known && message->incarnation_high == peer->former_high &&
           message->incarnation_low == peer->former_low;
}

/* An early message of a peer that is known now; NULL: none. */
static struct gw__messenger_message *pop_early(struct gw__messenger_zmq *zmq)
{
    struct gw__messenger_message **at = &zmq->early;
    while (zmq->early_changed && *at) {
        if (is_known(zmq, &(*at)->in))
            return unlink_early(zmq, at);
        at = &(*at)->next;
    }
    zmq->early_changed = false;
    return NULL;
}

static bool is_of(const struct gw__newest_session *newest, uint64_t high,
                  uint64_t low)
{
    return newest->high == high && newest->low == low;
}

/* The newest connection from the time before the peer was known. */
static void remember_early(struct gw__messenger_zmq_peer *peer,
                           const struct gw__messenger_peer *known)
{
    uint64_t high = known->incarnation_high, low = known->incarnation_low;
    const struct gw__newest_session *early = &peer->newest_early;
    if (is_of(early, high, low) && (!is_of(&peer->newest, high, low) ||
                                    peer->newest.session < early->session))
        peer->newest = *early;
}

void gw__messenger_zmq_welcome(struct gw__messenger_zmq *zmq, unsigned node)
{
    const struct gw__messenger_peer *peer = &zmq->messenger.peers[node];
    struct gw__messenger_message **at = &zmq->early;
    remember_early(&zmq->peers[node], peer);
    while (*at) {
        const struct gw__message_in *message = &(*at)->in;
        if (message->from == node &&
            (message->incarnation_high != peer->incarnation_high ||
             message->incarnation_low != peer->incarnation_low))
            gw__messenger_zmq_drop(zmq, unlink_early(zmq, at));
        else
            at = &(*at)->next;
    }
    zmq->early_changed = zmq->early != NULL;
}

void gw__messenger_zmq_drop_early(struct gw__messenger_zmq *zmq)
{
    while (zmq->early)
        gw__messenger_zmq_drop(zmq, unlink_early(zmq, &zmq->early));
}

/* ---- taking ---- */

/* Is it of the newest connection of its sender? Late messages of incarnations
 * before the known one must not be remembered in its place. */
static bool is_newest(struct gw__newest_session *newest,
                      const struct gw__messenger_zmq_message *message)
{
    const struct gw__message_in *in = &message->base.in;
    if (is_of(newest, in->incarnation_high, in->incarnation_low) &&
        message->session < newest->session)
        return false;
    *newest = (struct gw__newest_session){
        in->incarnation_high, in->incarnation_low, message->session};
    return true;
}

/* Returns the message if it is for the user now. */
static struct gw__messenger_message *
admit_message(struct gw__messenger_zmq *zmq,
              struct gw__messenger_zmq_message *message)
{
    const struct gw__message_in *in = &message->base.in;
    struct gw__messenger_zmq_peer *peer = &zmq->peers[in->from];
    bool known = is_known(zmq, in);
    if (known && is_newest(&peer->newest, message))
        return &message->base;
    if (!known && !is_former(zmq, in) &&
        is_newest(&peer->newest_early, message))
        keep_early(zmq, &message->base);
    else
        gw__messenger_zmq_drop(zmq, &message->base);
    return NULL;
}

struct gw__messenger_message *
gw__messenger_zmq_pop(struct gw__messenger *messenger)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    struct gw__messenger_message *message = pop_early(zmq);
    for (unsigned i = 0; i < TRIES && !message; i++) {
        struct gw__messenger_zmq_message *read;
        enum gw__arrival arrival = read_message(zmq, &read);
        if (arrival == GW__ARRIVAL_NONE)
            break;
        if (arrival == GW__ARRIVAL_MESSAGE)
            message = admit_message(zmq, read);
    }
    return message;
}
