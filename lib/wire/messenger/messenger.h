/* SPDX-License-Identifier: MIT
 *
 * Bulk messages between nodes that come and go: the data path of the parameter
 * server. The control channel (control_channel.h) carries small control
 * messages, the wires (wire.h) connect the fixed ranks of a communicator. A
 * message has up to GW__MESSENGER_PARTS parts of any size. It arrives whole,
 * once and in order, or, when the receiver ends or is forgotten, not at all:
 * protocols repeat important messages. Only `wait` blocks.
 *
 *   shm        one segment per node with a ring of descriptors for each peer;
 *              small parts inside, parts in gw_alloc memory by their place
 *              (the receiver maps it: pointers instead of copies), others
 *              through a staging area of the sender's. Waiting spins briefly,
 *              then sleeps on the receiver's doorbell, a futex.
 *   ipc, tcp   a stream socket for each direction between two nodes, written
 *              from the sender's memory and read into the message's; sealed
 *              with a key
 *   zmq        ZeroMQ over TCP: a ROUTER to receive, one DEALER per peer to
 *              send, one frame per part, large ones without a copy; CURVE with
 *              a key. Also ipc and tcp with a key, where the library is built
 *              without sealing (wire/seal.h)
 *
 * The control plane decides which nodes exchange messages. Two nodes exchange
 * their addresses (blobs), each gives the other's address to its messenger, and
 * then both can send. A node with another incarnation is another peer: messages
 * in flight to or from the former one are dropped, and messages received from a
 * former incarnation stay readable while they are held.
 *
 * Link profiles (rules.h) apply to arriving messages. One thread uses a
 * messenger. Any thread may release a received message or call `wake`.
 */
#ifndef GW__MESSENGER_H
#define GW__MESSENGER_H

#include "base/nodes/nodes.h"
#include "wire/emulation/link_profiles.h"
#include "wire/wire.h"

#include <stdatomic.h>
#include <wire/security.h>

enum { GW__MESSENGER_NODES = GW__NODES_MAX, GW__MESSENGER_PARTS = 4 };

struct gw__messenger_config {
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    const char *wire;      /* "shm", "ipc", "tcp", "zmq" */
    const char *interface; /* tcp: address to bind; NULL: loopback */
    struct gw__security security;
    bool copy_always; /* shm: never by place (for experiments) */
    struct gw__link_profiles *profiles; /* not owned; NULL: none */
};

struct gw__messenger_part {
    const void *data;
    size_t bytes;
};

/* A received message. Its parts are used in place, in the sender's memory or in
 * ZeroMQ's message; each is aligned to 8 bytes at least. Valid until the last
 * holder has released it. `receive` returns it with one hold. */
struct gw__message_in {
    unsigned from;
    uint64_t incarnation_high, incarnation_low;
    unsigned part_count;
    struct gw__messenger_part parts[GW__MESSENGER_PARTS];
    _Atomic unsigned holds;
    void (*free)(
        struct gw__message_in *message); /* when the last hold is released */
};

static inline void gw__message_in_hold(struct gw__message_in *message)
{
    atomic_fetch_add_explicit(&message->holds, 1, memory_order_relaxed);
}

/* NULL is allowed. */
static inline void gw__message_in_release(struct gw__message_in *message)
{
    if (message && atomic_fetch_sub_explicit(&message->holds, 1,
                                             memory_order_acq_rel) == 1)
        message->free(message);
}

struct gw__messenger;

/* GW_EINVAL: unknown wire, or an interface outside loopback without a key;
 * GW_ENOSPC, GW_ESYS. */
GW_MUST_CHECK enum gw_err
gw__messenger_open(const struct gw__messenger_config *config,
                   struct gw__messenger **messenger, struct gw_error *why);
/* Does not wait for peers; messages just sent have up to 100 ms to leave.
 * Received messages that are still held stay readable and may be released
 * later. All lent parts are returned before it returns. */
void gw__messenger_close(struct gw__messenger **messenger);
/* The address by which peers reach this messenger. */
const struct gw__address *
gw__messenger_address(const struct gw__messenger *messenger);

/* Sets the address of the peer `node` in that incarnation. No effect if
 * unchanged. GW_EUNREACH: not reachable from here. GW_EDATA: not a valid
 * address. GW_ELOST: its process has already ended. */
GW_MUST_CHECK enum gw_err
gw__messenger_know(struct gw__messenger *messenger, unsigned node,
                   uint64_t incarnation_high, uint64_t incarnation_low,
                   const struct gw__address *address, struct gw_error *why);
/* Drops messages in flight to and from `node`; lent parts are returned. */
void gw__messenger_forget(struct gw__messenger *messenger, unsigned node);
bool gw__messenger_knows(const struct gw__messenger *messenger, unsigned node,
                         uint64_t incarnation_high, uint64_t incarnation_low);

/* A message to send. Parts whose bit is set in `lent` are read in place and
 * must not change until `back(context)` is called: once, by the messenger's
 * thread, inside send, receive, wait, forget or close. Other parts are copied
 * before send returns. `back` must not call the messenger. */
struct gw__message_out {
    unsigned node;
    unsigned part_count;
    struct gw__messenger_part parts[GW__MESSENGER_PARTS];
    bool again;        /* it was sent before, and not answered */
    unsigned borrowed; /* bits; 0: none, and `back` is not called */
    void (*back)(void *context);
    void *context;
};
/* GW_OK, even if the message waits here for room. GW_EUNREACH: the peer is not
 * known. GW_ENOMEM: too much data waits for the peer already (1 GB of copies or
 * 65536 messages). On an error nothing is lent. A message to the own node is
 * returned by `receive`. */
enum gw_err gw__messenger_send(struct gw__messenger *messenger,
                               const struct gw__message_out *message);
/* The next message that is due, from the peers in turn; or GW_PENDING. */
GW_MUST_CHECK enum gw_err
gw__messenger_receive(struct gw__messenger *messenger,
                      struct gw__message_in **message);
/* Returns when something may have changed (a message, room, a lent part
 * returned, a wake) or gw_now_ns() is `deadline_ns`. Spins first where that
 * pays (at most one runnable thread per core), but never when `deadline_ns` is
 * 0. */
void gw__messenger_wait(struct gw__messenger *messenger, uint64_t deadline_ns);
/* From any thread: ends the current wait, or else the next one. */
void gw__messenger_wake(struct gw__messenger *messenger);

struct gw__messenger_counts {
    uint64_t sent, received;             /* messages */
    uint64_t bytes_sent, bytes_received; /* of their parts */
    uint64_t borrowed_bytes;             /* of them, not copied here */
    uint64_t dropped; /* lost by a link profile, refused or forgotten */
};
const struct gw__messenger_counts *
gw__messenger_counts(const struct gw__messenger *messenger);

#endif
