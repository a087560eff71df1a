/* SPDX-License-Identifier: MIT
 *
 * The post over ZeroMQ: ipc and tcp.
 *
 *   post_zmq.c      opening, closing, knowing, forgetting
 *   post_zmq_out.c  sending: a DEALER for each known peer
 *   post_zmq_in.c   receiving by the one ROUTER
 *   post_zmq_near.c small letters inside the host, past ZeroMQ
 *   post_zmq_line.c both roads in one order
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

#include "post_frame.h"
#include "post_parts.h"
#include "wire/gate.h"
#include "wire/mesh/mesh.h"
#include "wire/zmq/zmq_wire.h"

enum {
    GW__POST_SMALL_BYTES = GW__ZMQ_SMALL_BYTES, /* copied, lent or not */
    GW__POST_EARLY_MESSAGES = 256,
    GW__POST_LINES_MAX = 1024,   /* letters in all lines: no more are read */
    GW__POST_NEAR_BYTES = 65536, /* of a letter that goes by the near road */
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

/* What has come; parts lie in frames, in pieces of heap or behind it. */
struct gw__post_zmq_parcel {
    struct gw__post_parcel base;
    bool near;
    bool is_void; /* only its place in the line counts */
    uint32_t session;
    uint64_t sequence;
    unsigned kept; /* parts that lie in frames, as bits */
    zmq_msg_t frames[GW__POST_PARTS];
    void *moved[GW__POST_PARTS]; /* large ones at an odd address */
    _Alignas(8) unsigned char copies[];
};

enum gw__arrival { GW__ARRIVAL_NONE, GW__ARRIVAL_REFUSED, GW__ARRIVAL_CAME };

/* The near road to a peer opens with a letter that ZeroMQ takes after the peer
 * was heard: then it knows us, and where our numbers are. */
enum gw__post_near {
    GW__POST_NEAR_SHUT,
    GW__POST_NEAR_HEARD,
    GW__POST_NEAR_OPEN,
};

struct gw__post_zmq_peer {
    char endpoint[GW__MESH_ENDPOINT_MAX];
    void *dealer;      /* NULL: not known */
    uint32_t session;  /* of the dealer */
    uint64_t sequence; /* of the next letter in it */
    enum gw__post_near near;
    uint32_t session_seen; /* of what came, in this incarnation: */
    uint64_t seen_high, seen_low;
    uint64_t next;                /* after all that came, or comes no more */
    struct gw__post_parcel *line; /* what is here and waits its turn */
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
    struct gw__gate *gate; /* of the router; NULL: there is no key */
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
    uint64_t lines;     /* peers whose line is not empty, as bits */
    unsigned line_count;
    int near_fd; /* -1: there is no near road */
    unsigned char *near_letter;
    bool near_looked; /* it was empty since a letter was read from ZeroMQ */
    bool near_turn;   /* at the next look */
};

static inline struct gw__post_zmq *gw__post_zmq_of(struct gw__post *post)
{
    return (struct gw__post_zmq *)post;
}

/* Is the near road to be read now? */
static inline bool gw__post_near_is_read(const struct gw__post_zmq *zmq)
{
    return zmq->near_fd >= 0 &&
           (zmq->line_count < GW__POST_LINES_MAX || !zmq->near_looked);
}

/* ---- post_zmq_out.c ---- */

enum gw_err gw__post_zmq_send(struct gw__post *post,
                              const struct gw__letter *letter,
                              size_t *lent_bytes);
bool gw__post_zmq_tend(struct gw__post *post);

/* ---- post_zmq_near.c ---- */

/* Also when there is none, by the endpoint or for a key. */
GW_MUST_CHECK enum gw_err gw__post_near_open(struct gw__post_zmq *zmq,
                                             struct gw_error *why);
void gw__post_near_close(struct gw__post_zmq *zmq);
/* False: it is to go by ZeroMQ. */
bool gw__post_near_send(struct gw__post_zmq *zmq,
                        const struct gw__letter *letter,
                        const struct gw__post_head *head);
enum gw__arrival gw__post_near_read(struct gw__post_zmq *zmq,
                                    struct gw__post_zmq_parcel **read);

/* ---- post_zmq_line.c ---- */

/* A letter of a known peer: into its line, or dropped. */
void gw__post_line_add(struct gw__post_zmq *zmq,
                       struct gw__post_zmq_parcel *parcel);
/* One of who is not known any more: dropped. */
void gw__post_line_skip(struct gw__post_zmq *zmq,
                        struct gw__post_zmq_parcel *parcel);
/* One whose turn it is; NULL: none. */
struct gw__post_parcel *gw__post_line_take(struct gw__post_zmq *zmq);
/* Is there one, or may there be after a look at the near road? */
bool gw__post_line_ready(struct gw__post_zmq *zmq);
void gw__post_line_drop(struct gw__post_zmq *zmq, unsigned node);
/* As if nothing had ever come. */
void gw__post_line_empty(struct gw__post_zmq *zmq, unsigned node);

/* ---- post_zmq_in.c ---- */

/* NULL: no memory. */
struct gw__post_zmq_parcel *
gw__post_zmq_parcel_new(const struct gw__post_head *head, size_t room);
/* Counts it. */
void gw__post_zmq_drop(struct gw__post_zmq *zmq,
                       struct gw__post_parcel *parcel);

struct gw__post_parcel *gw__post_zmq_take(struct gw__post *post);
/* `node` is known now: drops what came early from another incarnation. */
void gw__post_zmq_welcome(struct gw__post_zmq *zmq, unsigned node);
void gw__post_zmq_drop_early(struct gw__post_zmq *zmq);

/* ---- post_zmq_wait.c ---- */

bool gw__post_zmq_ready(struct gw__post *post);
void gw__post_zmq_sleep(struct gw__post *post, uint64_t deadline_ns);
void gw__post_zmq_rouse(struct gw__post *post);

#endif
