/* SPDX-License-Identifier: MIT
 *
 * The mesh from inside.
 *
 *   control_channel.c           opening, closing, and where the peers are
 *   control_channel_endpoint.c  which endpoints are allowed
 *   control_channel_out.c       sending: a DEALER for each node that is sent to
 *   control_channel_in.c        receiving, and sleeping until there is something
 *   control_channel_later.c     messages that are here and not yet due
 *   control_channel_frame.h     the messages as bytes
 *
 * Everything is bounded: a dead peer costs what fits its DEALER's mark, a busy
 * one what fits the ROUTER's, a slow link what fits the queue of control_channel_later.c.
 */
#ifndef GW__CONTROL_CHANNEL_PARTS_H
#define GW__CONTROL_CHANNEL_PARTS_H

#include "control_channel_frame.h"
#include "wire/accept_filter.h"
#include "wire/zmq/zmq_files.h"
#include "wire/zmq/zmq_wire.h"

enum {
    GW__CONTROL_CHANNEL_MARK = 1000, /* messages a connection, each way */
    GW__CONTROL_CHANNEL_LINGER_MS = 100,
    /* Open files: libzmq's threads, the listener; then of each peer that we
     * know: the socket that we send by and the two connections. */
    GW__CONTROL_CHANNEL_FILES = 16,
    GW__CONTROL_CHANNEL_PEER_FILES = 4,
    GW__LATER_MESSAGES = 4096,
    GW__LATER_BYTES = 4 << 20
};

/* ---- control_channel_later.c ---- */

struct gw__later_entry {
    uint64_t due_ns, number;
    zmq_msg_t *message;
};

/* The first `count` entries are a heap by (due, number); the others have the
 * messages that are free. */
struct gw__later {
    struct gw__later_entry *entries;
    zmq_msg_t *messages;
    unsigned count;
    size_t bytes;
    uint64_t number;
};

GW_MUST_CHECK enum gw_err gw__later_init(struct gw__later *later,
                                         struct gw_error *why);
void gw__later_fini(struct gw__later *later);
/* Takes what *message holds; false, and it stays, when the queue is full. */
GW_MUST_CHECK bool gw__later_put(struct gw__later *later, uint64_t due_ns,
                                 zmq_msg_t *message);
/* Asks anew when each is due, in the order in which they came; those for which
 * it is UINT64_MAX are dropped. Returns how many. */
unsigned gw__later_revise(struct gw__later *later,
                          uint64_t (*due)(void *context, zmq_msg_t *message),
                          void *context);
/* When the earliest is due; UINT64_MAX: there is none. */
uint64_t gw__later_due(const struct gw__later *later);
/* Moves the earliest, which must be there, to *message. */
void gw__later_take(struct gw__later *later, zmq_msg_t *message);

/* ---- the mesh ---- */

struct gw__control_channel_process {
    uint64_t high, low; /* its incarnation */
    struct gw__process_watch_id id;
};

struct gw__control_channel_peer {
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX]; /* "": not known */
    void *dealer;                                    /* NULL: not made yet */
    bool has_files;                                  /* reserved */
    /* Who has spoken as this node: how many processes (2 for all more), the
     * newest of them and the one before. */
    unsigned heard;
    struct gw__control_channel_process now, before;
    struct gw__due due;
};

struct gw__control_channel {
    unsigned node;
    struct gw__control_channel_process self;
    uint64_t token;
    struct gw__rules *rules;
    uint64_t changes; /* of the rules, when they were asked last */
    bool secured, bulk;
    struct gw__zmq_key key;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    void *context, *router;
    struct gw__accept_filter *gate; /* of the router; NULL: there is no key */
    int router_fd;
    unsigned files; /* reserved, in all */
    struct gw__control_channel_peer peers[GW__CONTROL_CHANNEL_NODES];
    struct gw__later later;
    bool later_first;   /* at the next receive */
    zmq_msg_t received; /* what the user looks at */
    struct gw__control_channel_counts counts;
};

/* "tcp://" and no loopback. */
bool gw__control_channel_is_remote(const char *endpoint);
/* Options and keys of both kinds of socket. */
GW_MUST_CHECK enum gw_err
gw__control_channel_make_socket(struct gw__control_channel *mesh, int type,
                                const char *endpoint, void **socket,
                                struct gw_error *why);
/* control_channel_out.c. GW_EUNREACH: there is no connection. */
enum gw_err gw__control_channel_connect(struct gw__control_channel *mesh,
                                        struct gw__control_channel_peer *peer);
/* The connection to a peer is made anew at the next send. */
void gw__control_channel_disconnect(struct gw__control_channel_peer *peer);

#endif
