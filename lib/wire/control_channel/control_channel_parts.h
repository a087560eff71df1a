/* SPDX-License-Identifier: MIT
 *
 * The internal parts of the control channel.
 *
 *   control_channel.c           opening, closing, the peers' endpoints
 *   control_channel_endpoint.c  the allowed endpoints
 *   control_channel_out.c       sending: a DEALER for each destination node
 *   control_channel_in.c        receiving; sleeping until there is a message
 *   control_channel_later.c     messages that have arrived and are not yet due
 *   control_channel_frame.h     the messages as bytes
 *
 * Everything is bounded: a dead peer costs at most its DEALER's mark, a busy
 * one the ROUTER's, a slow link the queue of control_channel_later.c.
 */
#ifndef GW__CONTROL_CHANNEL_PARTS_H
#define GW__CONTROL_CHANNEL_PARTS_H

#include "control_channel_frame.h"
#include "wire/accept_filter.h"
#include "wire/files.h"
#include "wire/zmq/zmq_key.h"

#include <zmq.h>

enum {
    GW__CONTROL_CHANNEL_MARK = 1000, /* messages per connection, each way */
    GW__CONTROL_CHANNEL_LINGER_MS = 100,
    /* Open files: libzmq's threads and the listener; then for each known peer
     * the socket to send by and the two connections. */
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

/* The first `count` entries are a heap by (due, number); the others own the
 * unused messages. */
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
/* Moves *message to the queue. False: the queue is full and *message is
 * unchanged. */
GW_MUST_CHECK bool gw__later_put(struct gw__later *later, uint64_t due_ns,
                                 zmq_msg_t *message);
/* Computes the due time of each message again, in the order of arrival; those
 * with UINT64_MAX are dropped. Returns the number of dropped messages. */
unsigned gw__later_revise(struct gw__later *later,
                          uint64_t (*due)(void *context, zmq_msg_t *message),
                          void *context);
/* The earliest due time; UINT64_MAX: the queue is empty. */
uint64_t gw__later_due(const struct gw__later *later);
/* Moves the earliest message, which must exist, to *message. */
void gw__later_pop(struct gw__later *later, zmq_msg_t *message);

/* ---- the control channel ---- */

struct gw__control_channel_process {
    uint64_t high, low; /* the incarnation */
    struct gw__process_watch_id id;
};

struct gw__control_channel_peer {
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX]; /* "": not known */
    void *dealer;                                    /* NULL: not made yet */
    bool has_files;                                  /* reserved */
    /* The processes heard as this node: their number (2 for two or more), the
     * newest and the one before. */
    unsigned process_count;
    struct gw__control_channel_process now, before;
    struct gw__due due;
};

struct gw__control_channel {
    unsigned node;
    struct gw__control_channel_process self;
    uint64_t token;
    struct gw__link_profiles *profiles;
    uint64_t changes; /* of the link profiles, when last applied */
    bool secured, bulk;
    struct gw__zmq_key key;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    void *context, *router;
    struct gw__accept_filter *filter; /* of the router; NULL: not needed */
    int router_fd;
    unsigned files; /* reserved, in all */
    struct gw__control_channel_peer peers[GW__CONTROL_CHANNEL_NODES];
    struct gw__later later;
    bool later_first;   /* at the next receive */
    zmq_msg_t received; /* the message that the user reads */
    struct gw__control_channel_counts counts;
};

/* "tcp://" with a host that is not loopback. */
bool gw__control_channel_is_remote(const char *endpoint);
/* Options and keys of both kinds of socket. */
GW_MUST_CHECK enum gw_err
gw__control_channel_make_socket(struct gw__control_channel *channel, int type,
                                const char *endpoint, void **socket,
                                struct gw_error *why);
/* control_channel_out.c. GW_EUNREACH: no connection could be made. */
enum gw_err gw__control_channel_connect(struct gw__control_channel *channel,
                                        struct gw__control_channel_peer *peer);
/* The next send makes a new connection to the peer. */
void gw__control_channel_disconnect(struct gw__control_channel_peer *peer);

#endif
