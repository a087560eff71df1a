/* SPDX-License-Identifier: MIT
 *
 * The post over ZeroMQ: ipc and tcp.
 *
 *   post_zmq.c      opening, closing, knowing, forgetting
 *   post_zmq_out.c  sending: a DEALER for each known peer
 *   post_zmq_in.c   receiving by the one ROUTER
 *   post_zmq_wait.c sleeping until something changes
 *   post_frame.h    the head of a message as bytes
 *
 * What is sent is a carriage: a head, the copies of small parts, and the right
 * to give back what is lent. Each of its frames points into it or into lent
 * memory; when libzmq has freed the last one, from its own thread, the carriage
 * goes on a stack, and the post's thread takes it from there. So what waits is
 * counted by us, and the sockets have no mark for sending.
 *
 * A peer that is forgotten and known again has a new connection, a session.
 * What the kernel still carries of the old one may come before the first
 * message of the new one, but not after it.
 *
 * Peers learn of each other at different times. What comes from a node that is
 * not known yet, or in an incarnation that is not, waits a little: `early`.
 */
#ifndef GW__POST_ZMQ_H
#define GW__POST_ZMQ_H

#include "mesh.h"
#include "post_frame.h"
#include "post_parts.h"
#include "zmq_wire.h"

enum {
    GW__POST_SMALL_BYTES = GW__ZMQ_SMALL_BYTES, /* copied, lent or not */
    GW__POST_EARLY_MESSAGES = 256,
};

static const size_t gw__post_early_bytes = (size_t)64 << 20;

struct gw__post_carriage {
    _Atomic unsigned refs; /* frames that libzmq has; and the sender's own */
    struct gw__post_carriage *next;
    struct gw__post_zmq *zmq;
    unsigned node;
    size_t copied_bytes;
    bool urgent; /* somebody waits for its return */
    void (*back)(void *context);
    void *context;
    struct gw__post_head head;
    _Alignas(8) unsigned char copies[];
};

struct gw__post_zmq_peer {
    char endpoint[GW__MESH_ENDPOINT_MAX];
    void *dealer;          /* NULL: not known */
    uint32_t session;      /* of the dealer */
    uint32_t session_seen; /* of what came, in this incarnation: */
    uint64_t seen_high, seen_low;
    unsigned waiting, lent;
    size_t copied_bytes;
    bool was_known; /* and not any more, in this incarnation: */
    uint64_t former_high, former_low;
};

struct gw__post_zmq {
    struct gw__post post;
    const char *wire; /* "ipc" or "tcp" */
    bool secured;
    struct gw__zmq_key key;
    char endpoint[GW__MESH_ENDPOINT_MAX];
    void *context, *router;
    int router_fd;
    int bell; /* eventfd */
    _Atomic bool sleeping;
    struct gw__post_head mine; /* what a message for us says */
    struct gw__post_zmq_peer peers[GW__POST_NODES];
    struct gw__post_carriage *_Atomic returned;
    _Atomic bool urgent; /* one of them is */
    bool full;           /* a send was refused since */
    struct gw__post_parcel *early, **early_end;
    unsigned early_count;
    size_t early_bytes;
    bool early_changed; /* one of them may be of somebody known by now */
};

static inline struct gw__post_zmq *gw__post_zmq_of(struct gw__post *post)
{
    return (struct gw__post_zmq *)post;
}

/* ---- post_zmq_out.c ---- */

enum gw_err gw__post_zmq_send(struct gw__post *post,
                              const struct gw__letter *letter,
                              size_t *lent_bytes);
bool gw__post_zmq_tend(struct gw__post *post);

/* ---- post_zmq_in.c ---- */

struct gw__post_parcel *gw__post_zmq_take(struct gw__post *post);
/* `node` is known now: drops what came early from another incarnation. */
void gw__post_zmq_welcome(struct gw__post_zmq *zmq, unsigned node);
void gw__post_zmq_drop_early(struct gw__post_zmq *zmq);

/* ---- post_zmq_wait.c ---- */

bool gw__post_zmq_ready(struct gw__post *post);
void gw__post_zmq_sleep(struct gw__post *post, uint64_t deadline_ns);
void gw__post_zmq_rouse(struct gw__post *post);

#endif
