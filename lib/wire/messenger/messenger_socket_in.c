/* SPDX-License-Identifier: MIT
 *
 * Messages out of bytes. Small messages arrive many at a time in a buffer that
 * all connections share, and each is copied to a block of its own. The parts of
 * a large one are received in their block.
 */
#include "messenger_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    DIRECT_BYTES = 16 << 10, /* received in place, if so many are missing */
    TURN_BYTES = 1 << 20,    /* then other connections have their turn */
};

/* ---- messages ---- */

static void free_message(struct gw__message_in *released)
{
    free(released); /* the first member of the block */
}

static struct gw__messenger_socket_message *
new_message(const struct gw__messenger_head *head, size_t bytes)
{
    struct gw__messenger_socket_message *message =
        malloc(sizeof *message + bytes);
    if (!message)
        return NULL;
    unsigned char *at = message->data;
    message->base = (struct gw__messenger_message){
        .in = {.from = head->from,
               .incarnation_high = head->from_high,
               .incarnation_low = head->from_low,
               .part_count = head->part_count,
               .free = free_message},
        .sent_ns = head->sent_ns};
    atomic_init(&message->base.in.holds, 1);
    for (unsigned i = 0; i < head->part_count; i++) {
        message->base.in.parts[i] =
            (struct gw__messenger_part){at, head->bytes[i]};
        message->base.bytes += head->bytes[i];
        at += gw__messenger_padded(head->bytes[i]);
    }
    return message;
}

static void deliver(struct gw__messenger_socket *s,
                    struct gw__messenger_message *message)
{
    const struct gw__message_in *in = &message->in;
    if (!gw__messenger_knows(&s->messenger, in->from, in->incarnation_high,
                             in->incarnation_low)) {
        s->messenger.counts.dropped++;
        gw__message_in_release(&message->in);
        return;
    }
    message->next = NULL;
    *s->ready_end = message;
    s->ready_end = &message->next;
}

void gw__messenger_ready_drop(struct gw__messenger_socket *s, unsigned node)
{
    struct gw__messenger_message **at = &s->ready;
    while (*at) {
        struct gw__messenger_message *message = *at;
        if (message->in.from != node) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        s->messenger.counts.dropped++;
        gw__message_in_release(&message->in);
    }
    s->ready_end = at;
}

/* ---- bytes ---- */

static size_t head_bytes(const struct gw__messenger_socket *s)
{
    return s->seal ? GW__MESSENGER_HEAD_BYTES
                   : sizeof(struct gw__messenger_head);
}

static bool read_hello(struct gw__messenger_socket *s,
                       struct gw__messenger_conn *conn)
{
    uint32_t magic;
    memcpy(&magic, conn->hello, sizeof magic);
    if (magic != GW__MESSENGER_HELLO_MAGIC)
        return false;
    if (s->seal)
        conn->seal =
            gw__socket_seal_derive(s->seal, conn->hello + sizeof magic);
    return !s->seal || conn->seal;
}

static void begin_opening(struct gw__messenger_conn *conn)
{
    gw__seal_begin(conn->seal, true, 0, conn->frame++, NULL, 0, &conn->pass);
}

/* The head is sealed by itself, so that its sizes can be trusted. */
static bool open_head(struct gw__messenger_conn *conn)
{
    size_t bytes = sizeof(struct gw__messenger_head);
    if (!conn->seal)
        return true;
    begin_opening(conn);
    gw__seal_go_on(&conn->pass, conn->head, conn->head, bytes);
    return gw__seal_fits(&conn->pass, conn->head + bytes);
}

static bool continues(const struct gw__messenger_conn *conn,
                      const struct gw__messenger_head *head)
{
    return head->from == conn->node && head->from_high == conn->high &&
           head->from_low == conn->low && head->session == conn->session;
}

static bool is_too_large(const struct gw__messenger_head *head)
{
    for (unsigned i = 0; i < head->part_count; i++)
        if (head->bytes[i] > gw__messenger_largest_part)
            return true;
    return false;
}

/* The parts have come. False: the connection has been closed. */
static bool end_message(struct gw__messenger_socket *s,
                        struct gw__messenger_conn *conn)
{
    size_t tag = conn->due - GW__SEAL_TAG_BYTES;
    if (conn->seal && !gw__seal_fits(&conn->pass, conn->message->data + tag)) {
        gw__messenger_conn_close(s, conn, true);
        return false;
    }
    struct gw__messenger_message *message = &conn->message->base;
    conn->message = NULL;
    deliver(s, message);
    return true;
}

/* The head has come. False: the connection has been closed. */
static bool begin_message(struct gw__messenger_socket *s,
                          struct gw__messenger_conn *conn)
{
    struct gw__messenger_head head;
    bool good = open_head(conn) &&
                gw__messenger_head_read(conn->head, sizeof head, &s->own, &head,
                                        NULL) == GW_OK &&
                !is_too_large(&head) && (conn->guest || continues(conn, &head));
    bool newest =
        good && (!conn->guest || gw__messenger_conn_admit(s, conn, &head));
    conn->head_got = conn->got = 0;
    if (newest) {
        conn->due = gw__messenger_head_room(&head) +
                    (conn->seal ? GW__SEAL_TAG_BYTES : 0);
        conn->message = new_message(&head, conn->due);
    }
    if (!conn->message) {
        gw__messenger_conn_close(s, conn, !good);
        return false;
    }
    if (conn->seal)
        begin_opening(conn);
    return conn->due > 0 || end_message(s, conn);
}

/* `bytes` more of the parts have come to their block. */
static bool advance_parts(struct gw__messenger_socket *s,
                          struct gw__messenger_conn *conn, size_t bytes)
{
    size_t sealed = conn->seal ? conn->due - GW__SEAL_TAG_BYTES : 0;
    size_t from = conn->got, until = from + bytes;
    unsigned char *data = conn->message->data;
    conn->got = until;
    if (from < sealed)
        gw__seal_go_on(&conn->pass, data + from, data + from,
                       (until < sealed ? until : sealed) - from);
    return until < conn->due || end_message(s, conn);
}

static size_t copy_some(unsigned char *to, size_t *got, size_t due,
                        const unsigned char *data, size_t bytes)
{
    size_t missing = due - *got, some = bytes < missing ? bytes : missing;
    memcpy(to + *got, data, some);
    return some;
}

/* Returns the bytes that were used; 0: the connection has been closed. */
static size_t feed_some(struct gw__messenger_socket *s,
                        struct gw__messenger_conn *conn,
                        const unsigned char *data, size_t bytes)
{
    size_t some;
    if (conn->message) {
        some =
            copy_some(conn->message->data, &conn->got, conn->due, data, bytes);
        return advance_parts(s, conn, some) ? some : 0;
    }
    if (conn->hello_got < sizeof conn->hello) {
        some = copy_some(conn->hello, &conn->hello_got, sizeof conn->hello,
                         data, bytes);
        conn->hello_got += some;
        if (conn->hello_got < sizeof conn->hello || read_hello(s, conn))
            return some;
        gw__messenger_conn_close(s, conn, true);
        return 0;
    }
    some = copy_some(conn->head, &conn->head_got, head_bytes(s), data, bytes);
    conn->head_got += some;
    return conn->head_got < head_bytes(s) || begin_message(s, conn) ? some : 0;
}

/* False: the connection has been closed. */
static bool feed(struct gw__messenger_socket *s,
                 struct gw__messenger_conn *conn, size_t bytes)
{
    size_t used = 0;
    while (used < bytes) {
        size_t some = feed_some(s, conn, s->buffer + used, bytes - used);
        if (some == 0)
            return false;
        used += some;
    }
    return true;
}

/* ---- reading ---- */

/* Where the next bytes go. A guest is read no further than its first head, so
 * that the bytes after it stay in the kernel if it must wait. */
static struct iovec next_room(struct gw__messenger_socket *s,
                              struct gw__messenger_conn *conn)
{
    size_t missing = conn->message ? conn->due - conn->got : 0;
    if (missing > DIRECT_BYTES)
        return (struct iovec){
            .iov_base = conn->message->data + conn->got,
            .iov_len = conn->seal && missing > GW__MESSENGER_BLOCK_BYTES
                           ? GW__MESSENGER_BLOCK_BYTES
                           : missing};
    size_t most = GW__MESSENGER_BUFFER_BYTES;
    if (conn->hello_got < sizeof conn->hello)
        most = sizeof conn->hello - conn->hello_got;
    else if (conn->guest)
        most = head_bytes(s) - conn->head_got;
    return (struct iovec){.iov_base = s->buffer, .iov_len = most};
}

static void end_conn(struct gw__messenger_socket *s,
                     struct gw__messenger_conn *conn)
{
    bool half = conn->guest && (conn->hello_got > 0 || conn->head_got > 0);
    gw__messenger_conn_close(s, conn, half);
}

void gw__messenger_conn_read(struct gw__messenger_socket *s,
                             struct gw__messenger_conn *conn)
{
    for (size_t turn = 0; turn < TURN_BYTES && !conn->early;) {
        struct iovec room = next_room(s, conn);
        bool direct = room.iov_base != s->buffer;
        bool guest = conn->guest;
        ssize_t came =
            recv(conn->fd, room.iov_base, room.iov_len, MSG_DONTWAIT);
        if (came < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (came <= 0) {
            end_conn(s, conn);
            return;
        }
        if (!(direct ? advance_parts(s, conn, (size_t)came)
                     : feed(s, conn, (size_t)came)))
            return;
        if (!guest && (size_t)came < room.iov_len)
            return;
        turn += (size_t)came;
    }
}

struct gw__messenger_message *
gw__messenger_socket_pop(struct gw__messenger *messenger)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    if (!s->ready)
        gw__messenger_handle_events(s);
    struct gw__messenger_message *message = s->ready;
    if (message) {
        s->ready = message->next;
        if (!s->ready)
            s->ready_end = &s->ready;
    }
    return message;
}
