/* SPDX-License-Identifier: MIT
 *
 * The post over ZeroMQ: ipc and tcp.
 *
 *   messenger_zmq.c      opening, closing, knowing, forgetting
 *   messenger_zmq_out.c  sending: a DEALER for each known peer
 *   messenger_zmq_in.c   receiving by the one ROUTER
 *   messenger_zmq_near.c small letters inside the host, past ZeroMQ
 *   messenger_zmq_line.c both roads in one order
 *   messenger_zmq_wait.c sleeping until something changes
 *   messenger_frame.h    the head of a message as bytes
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
    GW__REORDER_QUEUE_MAX = 1024, /* letters in all lines: no more are read */
    GW__MESSENGER_NEAR_BYTES =
        65536, /* of a letter that goes by the near road */
};

static const size_t gw__messenger_early_bytes = (size_t)64 << 20;

struct gw__send_context {
    _Atomic unsigned refs; /* frames that libzmq has; and the sender's own */
    struct gw__send_context *next;
    struct gw__messenger_zmq *zmq;
    unsigned node;
    size_t copied_bytes;
    bool urgent; /* somebody waits for its return */
    void (*back)(void *context);
    void *context;
    struct gw__messenger_head head;
    _Alignas(8) unsigned char copies[];
};

/* What has come; parts lie in frames, in pieces of heap or behind it. */
struct gw__messenger_zmq_message {
    struct gw__messenger_message base;
    bool near;
    bool is_void; /* only its place in the line counts */
    uint32_t session;
    uint64_t sequence;
    unsigned kept; /* parts that lie in frames, as bits */
    zmq_msg_t frames[GW__MESSENGER_PARTS];
    void *moved[GW__MESSENGER_PARTS]; /* large ones at an odd address */
    _Alignas(8) unsigned char copies[];
};

enum gw__arrival { GW__ARRIVAL_NONE, GW__ARRIVAL_REFUSED, GW__ARRIVAL_CAME };

/* The near road to a peer opens with a letter that ZeroMQ takes after the peer
 * was heard: then it knows us, and where our numbers are. */
enum gw__messenger_near {
    GW__MESSENGER_NEAR_SHUT,
    GW__MESSENGER_NEAR_HEARD,
    GW__MESSENGER_NEAR_OPEN,
};

struct gw__messenger_zmq_peer {
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    void *dealer;      /* NULL: not known */
    uint32_t session;  /* of the dealer */
    uint64_t sequence; /* of the next letter in it */
    enum gw__messenger_near near;
    uint32_t session_seen; /* of what came, in this incarnation: */
    uint64_t seen_high, seen_low;
    uint64_t next; /* after all that came, or comes no more */
    struct gw__messenger_message *line; /* what is here and waits its turn */
    unsigned waiting, lent;
    size_t copied_bytes;
    bool was_known; /* and not any more, in this incarnation: */
    uint64_t former_high, former_low;
};

struct gw__messenger_zmq {
    struct gw__messenger post;
    const char *wire; /* "ipc" or "tcp" */
    bool secured;
    struct gw__zmq_key key;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    void *context, *router;
    struct gw__accept_filter *gate; /* of the router; NULL: there is no key */
    int router_fd;
    int bell; /* eventfd */
    _Atomic bool sleeping;
    struct gw__messenger_head mine; /* what a message for us says */
    struct gw__messenger_zmq_peer peers[GW__MESSENGER_NODES];
    struct gw__send_context *_Atomic returned;
    _Atomic bool urgent; /* one of them is */
    bool full;           /* a send was refused since */
    struct gw__messenger_message *early, **early_end;
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

static inline struct gw__messenger_zmq *
gw__messenger_zmq_of(struct gw__messenger *post)
{
    return (struct gw__messenger_zmq *)post;
}

/* Is the near road to be read now? */
static inline bool
gw__messenger_near_is_read(const struct gw__messenger_zmq *zmq)
{
    return zmq->near_fd >= 0 &&
           (zmq->line_count < GW__REORDER_QUEUE_MAX || !zmq->near_looked);
}

/* ---- messenger_zmq_out.c ---- */

enum gw_err gw__messenger_zmq_send(struct gw__messenger *post,
                                   const struct gw__message_out *letter,
                                   size_t *lent_bytes);
bool gw__messenger_zmq_tend(struct gw__messenger *post);

/* ---- messenger_zmq_near.c ---- */

/* Also when there is none, by the endpoint or for a key. */
GW_MUST_CHECK enum gw_err gw__messenger_near_open(struct gw__messenger_zmq *zmq,
                                                  struct gw_error *why);
void gw__messenger_near_close(struct gw__messenger_zmq *zmq);
/* False: it is to go by ZeroMQ. */
bool gw__messenger_near_send(struct gw__messenger_zmq *zmq,
                             const struct gw__message_out *letter,
                             const struct gw__messenger_head *head);
enum gw__arrival
gw__messenger_near_read(struct gw__messenger_zmq *zmq,
                        struct gw__messenger_zmq_message **read);

/* ---- messenger_zmq_line.c ---- */

/* A letter of a known peer: into its line, or dropped. */
void gw__reorder_queue_add(struct gw__messenger_zmq *zmq,
                           struct gw__messenger_zmq_message *parcel);
/* One of who is not known any more: dropped. */
void gw__reorder_queue_skip(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_zmq_message *parcel);
/* One whose turn it is; NULL: none. */
struct gw__messenger_message *
gw__reorder_queue_take(struct gw__messenger_zmq *zmq);
/* Is there one, or may there be after a look at the near road? */
bool gw__reorder_queue_ready(struct gw__messenger_zmq *zmq);
void gw__reorder_queue_drop(struct gw__messenger_zmq *zmq, unsigned node);
/* As if nothing had ever come. */
void gw__reorder_queue_empty(struct gw__messenger_zmq *zmq, unsigned node);

/* ---- messenger_zmq_in.c ---- */

/* NULL: no memory. */
struct gw__messenger_zmq_message *
gw__messenger_zmq_message_new(const struct gw__messenger_head *head,
                              size_t room);
/* Counts it. */
void gw__messenger_zmq_drop(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_message *parcel);

struct gw__messenger_message *
gw__messenger_zmq_take(struct gw__messenger *post);
/* `node` is known now: drops what came early from another incarnation. */
void gw__messenger_zmq_welcome(struct gw__messenger_zmq *zmq, unsigned node);
void gw__messenger_zmq_drop_early(struct gw__messenger_zmq *zmq);

/* ---- messenger_zmq_wait.c ---- */

bool gw__messenger_zmq_ready(struct gw__messenger *post);
void gw__messenger_zmq_sleep(struct gw__messenger *post, uint64_t deadline_ns);
void gw__messenger_zmq_rouse(struct gw__messenger *post);

#endif
