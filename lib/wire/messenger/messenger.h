/* SPDX-License-Identifier: MIT
 *
 * Bulk messages between nodes that come and go: the data path of the parameter
 * server. Beside the mesh (mesh.h), which carries small control messages, and
 * the wires (wire.h), which join the fixed ranks of a communicator. A message
 * is up to GW__MESSENGER_PARTS pieces of memory of any size; it arrives whole, once
 * and in order, or, when the receiver ends or is forgotten, not at all:
 * protocols repeat what matters. Nothing blocks but `wait`.
 *
 *   shm        a segment a node with a ring of descriptors for each peer;
 *              small parts inside, parts in gw_alloc memory by their place
 *              (the receiver maps it: pointers instead of copies), others
 *              through a staging area of the sender's. Waiting spins briefly,
 *              then sleeps on the receiver's doorbell, a futex.
 *   ipc, tcp   ZeroMQ: a ROUTER to receive, a DEALER a peer to send, one frame
 *              a part, large ones without a copy; CURVE when a key is given.
 *              Over ipc small messages pass by ZeroMQ's threads, as datagrams
 *              of a Unix socket (messenger_zmq_near.c).
 *
 * Who speaks to whom is settled by the control plane: two nodes exchange their
 * addresses (blobs), each tells its post what it knows of the other, and then
 * both can send. A node with another incarnation is another peer: what was
 * under way to or from the former one is dropped, and parcels of a former
 * incarnation that are still held stay readable.
 *
 * Link rules (rules.h) apply to what comes in. One thread uses a post; a parcel
 * may be released, and `wake` called, by any thread.
 */
#ifndef GW__MESSENGER_H
#define GW__MESSENGER_H

#include "wire/emulation/rules.h"
#include "wire/wire.h"

#include <stdatomic.h>

enum { GW__MESSENGER_NODES = 64, GW__MESSENGER_PARTS = 4 };

struct gw__messenger_config {
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    const char *wire;        /* "shm", "ipc", "tcp" */
    const char *interface;   /* tcp: address to bind; NULL: loopback */
    uint64_t token;          /* of the run */
    const char *key_file;    /* CURVE; NULL: none */
    bool insecure;           /* tcp outside loopback without a key */
    bool copy_always;        /* shm: never by place (an experiment) */
    struct gw__rules *rules; /* not owned; NULL: none */
};

struct gw__messenger_part {
    const void *data;
    size_t bytes;
};

/* A message that has come. The parts lie where they lie: in the sender's
 * memory, or in ZeroMQ's message; each is aligned to 8 bytes at least. Valid
 * until the last holder has released it; `receive` gives the first hold. */
struct gw__message_in {
    unsigned from;
    uint64_t incarnation_high, incarnation_low;
    unsigned part_count;
    struct gw__messenger_part parts[GW__MESSENGER_PARTS];
    _Atomic unsigned holds;
    void (*free)(
        struct gw__message_in *parcel); /* when the last hold is gone */
};

static inline void gw__message_in_hold(struct gw__message_in *parcel)
{
    atomic_fetch_add_explicit(&parcel->holds, 1, memory_order_relaxed);
}

/* NULL allowed. */
static inline void gw__message_in_release(struct gw__message_in *parcel)
{
    if (parcel &&
        atomic_fetch_sub_explicit(&parcel->holds, 1, memory_order_acq_rel) == 1)
        parcel->free(parcel);
}

struct gw__messenger;

/* GW_EINVAL: no such wire, an interface outside loopback without a key;
 * GW_ENOSPC, GW_ESYS. */
GW_MUST_CHECK enum gw_err
gw__messenger_open(const struct gw__messenger_config *config,
                   struct gw__messenger **post, struct gw_error *why);
/* Waits for nobody; what was sent just before gets up to 100 ms to leave.
 * Parcels that are still held stay readable and may be released afterwards.
 * Everything that was lent comes back before it returns. */
void gw__messenger_close(struct gw__messenger **post);
/* What peers must know to speak with this post. */
const struct gw__address *
gw__messenger_address(const struct gw__messenger *post);

/* The peer `node` in that incarnation is to be reached so. The same again: no
 * effect. GW_EUNREACH, GW_EDATA for what is no address; GW_ELOST: its process
 * has ended meanwhile. */
GW_MUST_CHECK enum gw_err
gw__messenger_know(struct gw__messenger *post, unsigned node,
                   uint64_t incarnation_high, uint64_t incarnation_low,
                   const struct gw__address *address, struct gw_error *why);
/* Drops what is under way to and from `node`; lent parts come back. */
void gw__messenger_forget(struct gw__messenger *post, unsigned node);
bool gw__messenger_knows(const struct gw__messenger *post, unsigned node,
                         uint64_t incarnation_high, uint64_t incarnation_low);

/* A message to be sent. Parts whose bit is set in `lent` are read where they
 * lie and must not change until `back(context)` has been called, once, by the
 * post's thread inside send, receive, wait, forget or close; the others are
 * copied before send returns. `back` must not call the post. */
struct gw__message_out {
    unsigned node;
    unsigned part_count;
    struct gw__messenger_part parts[GW__MESSENGER_PARTS];
    unsigned lent; /* bits; 0: none, and `back` is not called */
    void (*back)(void *context);
    void *context;
};
/* GW_OK, also when it waits here for room; GW_EUNREACH: the peer is not known
 * (nothing is lent then). GW_ENOMEM: too much waits for it already (1 GB of
 * copies or 65536 messages; nothing is lent then). A message to the own node
 * comes back by `receive`. */
enum gw_err gw__messenger_send(struct gw__messenger *post,
                               const struct gw__message_out *letter);
/* The next parcel that is due, from any peer, fairly; or GW_PENDING. */
GW_MUST_CHECK enum gw_err gw__messenger_receive(struct gw__messenger *post,
                                                struct gw__message_in **parcel);
/* Returns when something may have changed (a parcel, room, a lent part back, a
 * wake) or gw_now_ns() is `deadline_ns`. Spins first where that pays (at most
 * one runnable thread a core), but never when `deadline_ns` is 0. */
void gw__messenger_wait(struct gw__messenger *post, uint64_t deadline_ns);
/* From any thread: ends a wait, or the next one. */
void gw__messenger_wake(struct gw__messenger *post);

struct gw__messenger_counts {
    uint64_t sent, received;             /* messages */
    uint64_t bytes_sent, bytes_received; /* of their parts */
    uint64_t lent_bytes;                 /* of them not copied by us */
    uint64_t dropped;                    /* by rules, refusals, forgetting */
};
const struct gw__messenger_counts *
gw__messenger_counts(const struct gw__messenger *post);

#endif
