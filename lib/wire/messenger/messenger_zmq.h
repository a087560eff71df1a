/* SPDX-License-Identifier: MIT
 *
 * The messenger over ZeroMQ, over TCP unless the wire is ipc. It is used by name,
 * and where there is a key and the library cannot seal (wire/seal.h).
 *
 *   messenger_zmq.c      opening, closing, adding and forgetting peers
 *   messenger_zmq_out.c  sending: a DEALER for each known peer
 *   messenger_zmq_in.c   receiving by the one ROUTER
 *   messenger_zmq_wait.c sleeping until something changes
 *   messenger_frame.h    the head of a message as bytes
 *
 * Each message is sent from a send context: the head, the copies of small
 * parts, and the callback that returns lent parts. Each of its frames points
 * into the context or into lent memory. When libzmq's thread has freed the last
 * one, the context is pushed on a stack, from which the messenger's thread
 * takes it. So waiting messages are counted here, and the sockets have no mark
 * for sending.
 *
 * A peer that is forgotten and added again has a new connection, a session.
 * Messages of the old session that the kernel still holds may arrive before the
 * first message of the new one, but not after it.
 *
 * Peers learn of each other at different times. A message of a node or an
 * incarnation that is not known yet waits for a while in the list `early`.
 */
#ifndef GW__MESSENGER_ZMQ_H
#define GW__MESSENGER_ZMQ_H

#include "messenger_frame.h"
#include "messenger_parts.h"
#include "wire/accept_filter.h"
#include "wire/control_channel/control_channel.h"
#include "wire/zmq/zmq_wire.h"

enum {
    GW__MESSENGER_SMALL_BYTES = GW__ZMQ_SMALL_BYTES, /* copied, lent or not */
    GW__MESSENGER_EARLY_MESSAGES = 256,
};

static const size_t gw__messenger_early_bytes = (size_t)64 << 20;

struct gw__send_context {
    _Atomic unsigned refs; /* frames held by libzmq, and one of the sender */
    struct gw__send_context *next;
    struct gw__messenger_zmq *zmq;
    unsigned node;
    size_t copied_bytes;
    bool urgent; /* the user waits for its return */
    void (*back)(void *context);
    void *context;
    struct gw__messenger_head head;
    _Alignas(8) unsigned char copies[];
};

/* A received message. Its parts are in frames, in heap blocks or in `copies`.
 */
struct gw__messenger_zmq_message {
    struct gw__messenger_message base;
    uint32_t session;
    unsigned kept; /* parts that are in frames, as bits */
    zmq_msg_t frames[GW__MESSENGER_PARTS];
    void *moved[GW__MESSENGER_PARTS]; /* large ones at an odd address */
    _Alignas(8) unsigned char copies[];
};

enum gw__arrival { GW__ARRIVAL_NONE, GW__ARRIVAL_REFUSED, GW__ARRIVAL_MESSAGE };

/* The newest connection of an incarnation of a peer, by received messages. */
struct gw__newest_session {
    uint64_t high, low;
    uint32_t session;
};

struct gw__messenger_zmq_peer {
    void *dealer;                     /* NULL: not known */
    uint32_t session;                 /* of the dealer */
    uint64_t sequence;                /* of the next message in it */
    struct gw__newest_session newest; /* of the incarnation known now or last */
    struct gw__newest_session newest_early; /* of one that is not known yet */
    unsigned waiting, borrowed;
    size_t copied_bytes;
    bool was_known; /* but is not known now, in the incarnation former_* */
    uint64_t former_high, former_low;
};

struct gw__messenger_zmq {
    struct gw__messenger messenger;
    const char *wire; /* "ipc" or "tcp" */
    bool secured;
    struct gw__zmq_key key;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    void *context, *router;
    struct gw__accept_filter *filter; /* of the router; NULL: not needed */
    int router_fd;
    int bell; /* eventfd */
    _Atomic bool sleeping;
    struct gw__messenger_head mine; /* address fields that messages must have */
    struct gw__messenger_zmq_peer peers[GW__MESSENGER_NODES];
    struct gw__send_context *_Atomic returned;
    _Atomic bool urgent; /* one of the returned contexts is */
    bool full;           /* a send was refused since */
    struct gw__messenger_message *early, **early_end;
    unsigned early_count;
    size_t early_bytes;
    bool early_changed; /* an early message may be from a peer known now */
};

static inline struct gw__messenger_zmq *
gw__messenger_zmq_of(struct gw__messenger *messenger)
{
    return (struct gw__messenger_zmq *)messenger;
}

/* ---- messenger_zmq_out.c ---- */

enum gw_err gw__messenger_zmq_send(struct gw__messenger *messenger,
                                   const struct gw__message_out *message,
                                   size_t *borrowed_bytes);
bool gw__messenger_zmq_tend(struct gw__messenger *messenger);

/* ---- messenger_zmq_in.c ---- */

/* NULL: no memory. */
struct gw__messenger_zmq_message *
gw__messenger_zmq_message_new(const struct gw__messenger_head *head,
                              size_t room);
/* Drops the message and counts it. */
void gw__messenger_zmq_drop(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_message *message);

struct gw__messenger_message *
gw__messenger_zmq_pop(struct gw__messenger *messenger);
/* `node` is known now: drops early messages of its other incarnations. */
void gw__messenger_zmq_welcome(struct gw__messenger_zmq *zmq, unsigned node);
void gw__messenger_zmq_drop_early(struct gw__messenger_zmq *zmq);

/* ---- messenger_zmq_wait.c ---- */

bool gw__messenger_zmq_ready(struct gw__messenger *messenger);
void gw__messenger_zmq_sleep(struct gw__messenger *messenger,
                             uint64_t deadline_ns);
void gw__messenger_zmq_rouse(struct gw__messenger *messenger);

#endif
