/* SPDX-License-Identifier: MIT
 *
 * The messenger over stream sockets: ipc and tcp. Its own thread reads and
 * writes all of them.
 *
 *   messenger_socket.c         opening, closing, adding and forgetting peers
 *   messenger_socket_out.c     the queue of messages to a peer
 *   messenger_socket_write.c   the bytes of a message to the kernel
 *   messenger_socket_accept.c  the connections of peers, and strangers
 *   messenger_socket_in.c      messages out of bytes
 *   messenger_socket_wait.c    events, and sleeping until there is one
 *
 * A connection carries the messages of one direction. The sender connects when
 * there is a message. On a connection:
 *
 *   magic (4), salt (12), then each message: head (messenger_frame.h), parts
 *
 * Each part is followed by zeros up to a multiple of 8. With a key, the head
 * and the parts are sealed, each with a tag (seal.h). The key of a connection
 * follows from that of its receiver and from the salt, which is random, so a
 * number of a frame occurs once under a key.
 *
 * Connections of one sender are numbered (head.session), and the newest one
 * ends those before it. So a connection that breaks is replaced, and a recorded
 * one is refused. A message that the kernel has not taken whole is sent again
 * on the next connection.
 *
 * Peers learn of each other at different times. The connection of a node or an
 * incarnation that is not known yet is not read any further until it is known.
 * Messages of a forgotten one are read and dropped, so that it is not held up.
 */
#ifndef GW__MESSENGER_SOCKET_H
#define GW__MESSENGER_SOCKET_H

#include "messenger_frame.h"
#include "messenger_parts.h"
#include "wire/peer_user.h"
#include "wire/socket/socket_address.h"

#include <sys/epoll.h>
#include <sys/uio.h>

enum {
    GW__MESSENGER_HELLO_MAGIC = 0x31737067, /* "gps1" */
    GW__MESSENGER_HELLO_BYTES = sizeof(uint32_t) + GW__SOCKET_SALT_BYTES,
    GW__MESSENGER_GUESTS = 64, /* connections without a message */
    GW__MESSENGER_EARLY = 64,  /* those of nodes that are not known yet */
    GW__MESSENGER_INS =
        GW__MESSENGER_GUESTS + GW__MESSENGER_EARLY + 2 * GW__MESSENGER_NODES,
    GW__MESSENGER_EVENTS = 64,
    GW__MESSENGER_BUFFER_BYTES = 64 << 10,
    GW__MESSENGER_BLOCK_BYTES = 64 << 10, /* that are sealed at a time */
    GW__MESSENGER_HEAD_BYTES =
        sizeof(struct gw__messenger_head) + GW__SEAL_TAG_BYTES,
};

static const size_t gw__messenger_largest_part = UINT32_MAX;
static const uint64_t gw__messenger_first_pause_ns = 10 * 1000000U;

/* The kinds of owners of descriptors: the first member of each owner. */
enum gw__messenger_source {
    GW__MESSENGER_BELL,
    GW__MESSENGER_DOOR,
    GW__MESSENGER_IN,
    GW__MESSENGER_OUT,
};

/* A message that waits, or that the kernel has taken in part. */
struct gw__outgoing {
    struct gw__outgoing *next;
    struct gw__messenger_head head;
    struct gw__messenger_part parts[GW__MESSENGER_PARTS];
    size_t copied_bytes;
    void (*back)(void *context); /* NULL: no part is lent */
    void *context;
    _Alignas(8) unsigned char copies[];
};

/* The connection to a peer, and the messages that wait for it. */
struct gw__messenger_stream {
    enum gw__messenger_source source;
    bool known, connecting;
    bool full;    /* the kernel takes no more until an event reports it */
    bool watched; /* such an event will come, or that of a connection */
    int fd;       /* -1: none */
    unsigned node;
    struct gw__socket_address address;
    uint32_t session;           /* of the connection */
    uint64_t sequence;          /* of the next message */
    uint64_t dial_ns, pause_ns; /* not before, after a failure */
    unsigned char hello[GW__MESSENGER_HELLO_BYTES];
    struct gw__outgoing *first, **end;
    unsigned waiting;
    size_t copied_bytes;
    size_t written;        /* bytes of hello and of the first message */
    struct gw__seal *peer; /* the peer's key; NULL: no key */
    /* With a key: the block that is being written. */
    struct gw__seal *seal; /* of the connection */
    struct gw__seal_pass pass;
    uint64_t frame;
    size_t sealed; /* bytes of the first message */
    unsigned char *block;
    size_t block_at, block_end;
};

struct gw__messenger_socket_message {
    struct gw__messenger_message base;
    _Alignas(8) unsigned char data[];
};

/* A connection of a peer. */
struct gw__messenger_conn {
    enum gw__messenger_source source;
    bool guest; /* has not sent the head of a message */
    bool early; /* of a node that is not known yet: is not read */
    int fd;
    unsigned node;
    uint32_t session;
    uint64_t high, low; /* the incarnation of the node */
    uint64_t came_ns;
    unsigned char hello[GW__MESSENGER_HELLO_BYTES];
    unsigned char head[GW__MESSENGER_HEAD_BYTES];
    size_t hello_got, head_got;
    struct gw__messenger_socket_message *message; /* being received */
    size_t got, due;       /* bytes of its parts, and of their tag */
    struct gw__seal *seal; /* NULL: no key */
    struct gw__seal_pass pass;
    uint64_t frame;
};

struct gw__messenger_socket_peer {
    struct gw__messenger_stream out;
    uint32_t session_seen; /* of received messages, in the incarnation seen_* */
    uint64_t seen_high, seen_low;
    bool met;       /* it has been known */
    bool was_known; /* in the incarnation former_* */
    uint64_t former_high, former_low;
};

struct gw__messenger_socket {
    struct gw__messenger messenger;
    const char *wire;  /* "ipc" or "tcp" */
    char endpoint[80]; /* for notices */
    struct gw__socket_address address;
    unsigned char secret[GW__SEAL_KEY_BYTES]; /* of the cluster */
    struct gw__seal *seal;         /* for what this node receives, or NULL */
    struct gw__messenger_head own; /* address fields that messages must have */
    enum gw__messenger_source bell_source, door_source;
    int epoll_fd, bell, door;
    unsigned files;  /* reserved descriptors, */
    unsigned places; /* which are enough for so many peers, */
    unsigned met;    /* of which so many have been known */
    _Atomic bool sleeping;
    struct gw__peers users; /* tcp without a key */
    bool reported;          /* a stranger */
    bool door_shut;         /* all places for guests are taken */
    uint64_t due_ns; /* something is to be tried again then; UINT64_MAX */
    struct gw__messenger_socket_peer peers[GW__MESSENGER_NODES];
    struct gw__messenger_conn *conns[GW__MESSENGER_INS];
    unsigned conn_count;
    unsigned full_count; /* streams that are watched */
    struct gw__messenger_message *ready, **ready_end;
    struct epoll_event events[GW__MESSENGER_EVENTS];
    int event_at, event_count; /* those not handled yet */
    unsigned char *buffer;
};

static inline struct gw__messenger_socket *
gw__messenger_socket_of(struct gw__messenger *messenger)
{
    return (struct gw__messenger_socket *)messenger;
}

/* A part is followed by zeros up to this size. */
static inline size_t gw__messenger_head_room(const struct gw__messenger_head *h)
{
    size_t room = 0;
    for (unsigned i = 0; i < h->part_count; i++)
        room += gw__messenger_padded(h->bytes[i]);
    return room;
}

/* ---- messenger_socket_out.c ---- */

enum gw_err gw__messenger_socket_send(struct gw__messenger *messenger,
                                      const struct gw__message_out *message,
                                      size_t *borrowed_bytes);
/* Writes what the kernel takes; connects if there is no connection. */
void gw__messenger_stream_push(struct gw__messenger_socket *s,
                               struct gw__messenger_stream *out);
void gw__messenger_stream_event(struct gw__messenger_socket *s,
                                struct gw__messenger_stream *out,
                                uint32_t events);
/* Returns lent memory and drops all messages. */
void gw__messenger_stream_close(struct gw__messenger_socket *s,
                                struct gw__messenger_stream *out);

/* ---- messenger_socket_write.c ---- */

/* Writes the first part of the connection, or of `entry`. GW_OK: the kernel has
 * all of it. GW_PENDING: not yet. GW_ELOST: the connection has ended. */
enum gw_err gw__messenger_write_hello(struct gw__messenger_stream *out);
enum gw_err gw__messenger_write(struct gw__messenger_stream *out,
                                const struct gw__outgoing *entry);

/* ---- messenger_socket_accept.c ---- */

GW_MUST_CHECK enum gw_err
gw__messenger_door_open(struct gw__messenger_socket *s, struct gw_error *why);
void gw__messenger_door_event(struct gw__messenger_socket *s);
/* Ends a connection; `stranger`: it has sent what a member does not send. */
void gw__messenger_conn_close(struct gw__messenger_socket *s,
                              struct gw__messenger_conn *conn, bool stranger);
/* It has sent its first head: ends those before it. False: it is an old one
 * itself. */
GW_MUST_CHECK bool
gw__messenger_conn_admit(struct gw__messenger_socket *s,
                         struct gw__messenger_conn *conn,
                         const struct gw__messenger_head *head);
/* `node` is known now: reads its connections, and ends those of its other
 * incarnations. */
void gw__messenger_conn_welcome(struct gw__messenger_socket *s, unsigned node);

/* ---- messenger_socket_in.c ---- */

/* Reads the bytes that have come. May end the connection. */
void gw__messenger_conn_read(struct gw__messenger_socket *s,
                             struct gw__messenger_conn *conn);
struct gw__messenger_message *
gw__messenger_socket_pop(struct gw__messenger *messenger);
/* Drops the received messages of `node`. */
void gw__messenger_ready_drop(struct gw__messenger_socket *s, unsigned node);

/* ---- messenger_socket_wait.c ---- */

GW_MUST_CHECK bool gw__messenger_listen(struct gw__messenger_socket *s, int fd,
                                        enum gw__messenger_source *owner,
                                        uint32_t events);
/* Changes the events of a descriptor; 0: not even its end is reported. */
void gw__messenger_relisten(struct gw__messenger_socket *s, int fd,
                            enum gw__messenger_source *owner, uint32_t events);
/* Closes a descriptor, and forgets its events. */
void gw__messenger_unlisten(struct gw__messenger_socket *s, int fd,
                            const enum gw__messenger_source *owner);
/* `tend` is to try again at that time. */
void gw__messenger_remind(struct gw__messenger_socket *s, uint64_t due_ns);
/* Handles the events that have come. */
void gw__messenger_handle_events(struct gw__messenger_socket *s);
bool gw__messenger_socket_tend(struct gw__messenger *messenger);
bool gw__messenger_socket_ready(struct gw__messenger *messenger);
void gw__messenger_socket_sleep(struct gw__messenger *messenger,
                                uint64_t deadline_ns);
void gw__messenger_socket_rouse(struct gw__messenger *messenger);

#endif
