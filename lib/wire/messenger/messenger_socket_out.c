/* SPDX-License-Identifier: MIT
 *
 * The messages to a peer. Each peer has a connection of its own, so that a peer
 * that does not read holds up no other. A message whose bytes the kernel takes
 * at once is never copied. The rest waits in a queue: copies of the parts that
 * are not lent, and the places of those that are.
 *
 * A connection is made when there is a message for it. If it fails or breaks,
 * the messages wait for the next attempt.
 */
#include "messenger_socket.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ALIGNED = 64 };

static const uint64_t longest_pause_ns = 100 * 1000000U;

/* ---- the queue ---- */

static void complete_first(struct gw__messenger_stream *out)
{
    struct gw__outgoing *entry = out->first;
    out->first = entry->next;
    if (!out->first)
        out->end = &out->first;
    out->waiting--;
    out->copied_bytes -= entry->copied_bytes;
    if (entry->back)
        entry->back(entry->context);
    free(entry);
}

/* The bytes to be copied, and the room that they take. */
static size_t measure_copies(const struct gw__message_out *message,
                             size_t *room)
{
    size_t copied = 0;
    *room = 0;
    for (unsigned i = 0; i < message->part_count; i++)
        if (!gw__messenger_is_borrowed(message, i)) {
            copied += message->parts[i].bytes;
            *room += gw__messenger_padded(message->parts[i].bytes);
        }
    return copied;
}

static bool has_room(const struct gw__messenger_stream *out, size_t copied)
{
    return out->waiting < GW__MESSENGER_WAITING_MAX &&
           out->copied_bytes + copied <= gw__messenger_copies_max;
}

static bool is_too_large(const struct gw__message_out *message)
{
    for (unsigned i = 0; i < message->part_count; i++)
        if (message->parts[i].bytes > gw__messenger_largest_part)
            return true;
    return false;
}

static void copy_parts(struct gw__outgoing *entry,
                       const struct gw__message_out *message)
{
    unsigned char *copy = entry->copies;
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        entry->parts[i] = *part;
        if (gw__messenger_is_borrowed(message, i))
            continue;
        if (part->bytes > 0)
            memcpy(copy, part->data, part->bytes);
        entry->parts[i].data = copy;
        copy += gw__messenger_padded(part->bytes);
    }
}

static enum gw_err enqueue(struct gw__messenger_stream *out,
                           const struct gw__message_out *message,
                           const struct gw__messenger_head *head)
{
    size_t room, copied = measure_copies(message, &room);
    struct gw__outgoing *entry =
        has_room(out, copied) ? malloc(sizeof *entry + room) : NULL;
    if (!entry)
        return GW_ENOMEM;
    *entry =
        (struct gw__outgoing){.head = *head,
                              .copied_bytes = copied,
                              .back = message->borrowed ? message->back : NULL,
                              .context = message->context};
    copy_parts(entry, message);
    *out->end = entry;
    out->end = &entry->next;
    out->waiting++;
    out->copied_bytes += copied;
    return GW_OK;
}

/* ---- the connection ---- */

/* Waits for room in the kernel, or waits no more. */
static void watch_room(struct gw__messenger_socket *s,
                       struct gw__messenger_stream *out)
{
    if (out->fd < 0 || out->watched == out->full)
        return;
    out->watched = out->full;
    s->full_count += out->full ? 1 : -1U;
    gw__messenger_relisten(s, out->fd, &out->source,
                           out->full ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void hang_up(struct gw__messenger_socket *s,
                    struct gw__messenger_stream *out)
{
    if (out->fd >= 0)
        gw__messenger_unlisten(s, out->fd, &out->source);
    gw__seal_free(&out->seal);
    s->full_count -= out->watched;
    out->fd = -1;
    out->connecting = out->full = out->watched = false;
    out->written = out->sealed = out->block_at = out->block_end = 0;
    out->frame = 0;
}

static void try_later(struct gw__messenger_socket *s,
                      struct gw__messenger_stream *out)
{
    hang_up(s, out);
    out->dial_ns = gw_now_ns() + out->pause_ns;
    gw__messenger_remind(s, out->dial_ns);
    out->pause_ns = out->pause_ns * 2 < longest_pause_ns ? out->pause_ns * 2
                                                         : longest_pause_ns;
}

/* A new salt, and the key that follows from it. False: not now. */
static bool make_hello(struct gw__messenger_stream *out)
{
    static const uint32_t magic = GW__MESSENGER_HELLO_MAGIC;
    unsigned char *salt = out->hello + sizeof magic;
    memcpy(out->hello, &magic, sizeof magic);
    if (!out->peer)
        return true;
    if (!out->block)
        out->block =
            aligned_alloc(ALIGNED, GW__MESSENGER_BLOCK_BYTES + 4 * ALIGNED);
    if (!out->block ||
        getrandom(salt, GW__SOCKET_SALT_BYTES, 0) != GW__SOCKET_SALT_BYTES)
        return false;
    out->seal = gw__socket_seal_derive(out->peer, salt);
    return out->seal;
}

static void note_connected(struct gw__messenger_stream *out)
{
    out->connecting = false;
    out->pause_ns = gw__messenger_first_pause_ns;
}

static void dial(struct gw__messenger_socket *s,
                 struct gw__messenger_stream *out)
{
    out->fd = gw__socket_dial(&out->address);
    if (out->fd < 0 || !make_hello(out) ||
        !gw__messenger_listen(s, out->fd, &out->source, EPOLLIN | EPOLLOUT)) {
        try_later(s, out);
        return;
    }
    out->session++;
    out->connecting = out->watched = true;
    s->full_count++;
}

/* Writes the hello and the queue, until the kernel takes no more. */
static enum gw_err push_queue(struct gw__messenger_stream *out)
{
    enum gw_err err = gw__messenger_write_hello(out);
    while (!err && out->first) {
        out->first->head.session = out->session;
        err = gw__messenger_write(out, out->first);
        if (err)
            break;
        out->written = sizeof out->hello;
        complete_first(out);
    }
    return err;
}

void gw__messenger_stream_push(struct gw__messenger_socket *s,
                               struct gw__messenger_stream *out)
{
    if (!out->known || !out->first)
        return;
    if (out->fd < 0 && gw_now_ns() >= out->dial_ns)
        dial(s, out);
    if (out->fd < 0 || out->full)
        return;
    if (push_queue(out) == GW_ELOST) {
        try_later(s, out);
        return;
    }
    if (!out->full)
        note_connected(out);
    watch_room(s, out);
}

/* Nothing is ever received here, so something to read is the end. */
static bool has_ended(struct gw__messenger_stream *out, uint32_t events)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        return true;
    return out->connecting &&
           (getsockopt(out->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
            error != 0);
}

void gw__messenger_stream_event(struct gw__messenger_socket *s,
                                struct gw__messenger_stream *out,
                                uint32_t events)
{
    if (has_ended(out, events)) {
        try_later(s, out);
        return;
    }
    note_connected(out);
    out->full = false;
    gw__messenger_stream_push(s, out);
    watch_room(s, out);
}

void gw__messenger_stream_close(struct gw__messenger_socket *s,
                                struct gw__messenger_stream *out)
{
    hang_up(s, out);
    while (out->first)
        complete_first(out);
    gw__seal_free(&out->peer);
    free(out->block);
    out->block = NULL;
    out->known = false;
}

/* ---- sending ---- */

static struct gw__messenger_head
address_head(const struct gw__messenger_socket *s,
             const struct gw__message_out *message)
{
    const struct gw__messenger *messenger = &s->messenger;
    const struct gw__messenger_peer *peer = &messenger->peers[message->node];
    const struct gw__messenger_stream *out = &s->peers[message->node].out;
    struct gw__messenger_head head = {.from = (uint16_t)messenger->node,
                                      .to = (uint16_t)message->node,
                                      .token = messenger->token,
                                      .from_high = messenger->incarnation_high,
                                      .from_low = messenger->incarnation_low,
                                      .to_high = peer->incarnation_high,
                                      .to_low = peer->incarnation_low,
                                      .sent_ns = gw_now_ns(),
                                      .part_count = message->part_count,
                                      .session = out->session,
                                      .sequence = out->sequence};
    for (unsigned i = 0; i < message->part_count; i++)
        head.bytes[i] = message->parts[i].bytes;
    gw__messenger_head_seal(&head, &head);
    return head;
}

/* Tries to send without a copy. GW_PENDING: the rest must wait. */
static enum gw_err send_at_once(struct gw__messenger_stream *out,
                                const struct gw__message_out *message,
                                const struct gw__messenger_head *head)
{
    struct gw__outgoing entry = {.head = *head};
    if (out->first || out->fd < 0 || out->full ||
        out->written < sizeof out->hello)
        return GW_PENDING;
    memcpy(entry.parts, message->parts, sizeof entry.parts);
    enum gw_err err = gw__messenger_write(out, &entry);
    if (err)
        return GW_PENDING;
    out->written = sizeof out->hello;
    if (message->borrowed && message->back)
        message->back(message->context);
    return GW_OK;
}

/* Without memory for its rest, a message that has begun cannot be sent: the
 * receiver must not wait for it. */
static void drop_half_sent(struct gw__messenger_socket *s,
                           struct gw__messenger_stream *out)
{
    if (!out->first && (out->written > sizeof out->hello || out->block_end > 0))
        try_later(s, out);
}

static size_t borrowed_bytes_of(const struct gw__message_out *message)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < message->part_count; i++)
        if (gw__messenger_is_borrowed(message, i))
            bytes += message->parts[i].bytes;
    return bytes;
}

enum gw_err gw__messenger_socket_send(struct gw__messenger *messenger,
                                      const struct gw__message_out *message,
                                      size_t *borrowed_bytes)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    struct gw__messenger_stream *out = &s->peers[message->node].out;
    struct gw__messenger_head head = address_head(s, message);
    if (is_too_large(message))
        return GW_ENOMEM;
    if (send_at_once(out, message, &head)) {
        enum gw_err err = enqueue(out, message, &head);
        if (err) {
            drop_half_sent(s, out);
            return err;
        }
        gw__messenger_stream_push(s, out);
        watch_room(s, out);
    }
    out->sequence++;
    *borrowed_bytes = borrowed_bytes_of(message);
    return GW_OK;
}
