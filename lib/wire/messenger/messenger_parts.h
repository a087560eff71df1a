/* SPDX-License-Identifier: MIT
 *
 * The internal parts of the messenger.
 *
 *   messenger.c             opening, closing, known peers, sending, receiving
 *   messenger_held.c        messages not yet due, and those to the own node
 *   messenger_spin.c        whether spinning pays now
 *   messenger_shm.h         the segment, and the state of a peer on this host
 *   messenger_socket.h      stream sockets
 *   messenger_zmq.h         the sockets of ZeroMQ
 *   messenger_frame.h       the head of a message as bytes
 *
 * A transport is a table of functions. It returns the messages of each peer in
 * their order; link profiles, messages to the own node and taking turns are
 * common. Each received message is a heap block of its own, so that it may
 * outlive the messenger.
 */
#ifndef GW__MESSENGER_PARTS_H
#define GW__MESSENGER_PARTS_H

#include "messenger.h"
#include "wire/process_watch.h"

enum {
    GW__MESSENGER_WAITING_MAX = 65536, /* messages */
    GW__MESSENGER_CLOSE_MS = 100,
    GW__MESSENGER_HELD_MAX = 65536,
};

/* Of the copies of messages that wait. */
static const size_t gw__messenger_copies_max = (size_t)1 << 30;

/* The common head of all transports' received messages. */
struct gw__messenger_message {
    struct gw__message_in in;
    struct gw__messenger_message *next;
    uint64_t sent_ns, due_ns;
    size_t bytes; /* of all parts */
};

/* Messages of one node that are not due, in their order. */
struct gw__reorder_queue {
    struct gw__messenger_message *first, *last;
    struct gw__due due;
};

struct gw__messenger_held {
    struct gw__reorder_queue queues[GW__MESSENGER_NODES];
    struct gw_nodes nodes; /* with messages in their queue */
    unsigned count, turn;
    size_t own_bytes;
    unsigned own_count;
    uint64_t changes; /* of the link profiles, when last applied */
};

struct gw__messenger_spin {
    unsigned cores;
    bool pays;
    uint64_t checked_ns, not_before_ns, penalty_ns;
};

struct gw__messenger_peer {
    bool known;
    uint64_t incarnation_high, incarnation_low;
    uint64_t address_hash;
};

struct gw__messenger_ops {
    enum gw_err (*know)(struct gw__messenger *, unsigned node,
                        const struct gw__address *, struct gw_error *why);
    void (*forget)(struct gw__messenger *, unsigned node);
    /* To a known node other than the own; does not count. *lent_bytes: the
     * bytes that were not copied. */
    enum gw_err (*send)(struct gw__messenger *, const struct gw__message_out *,
                        size_t *borrowed_bytes);
    /* The next message of any known peer; NULL: none. */
    struct gw__messenger_message *(*pop)(struct gw__messenger *);
    /* Takes back lent parts and sends waiting messages. True: there were any.
     */
    bool (*tend)(struct gw__messenger *);
    /* Is there work for `take` or `tend`? Cheap, since spinning calls it. */
    bool (*ready)(struct gw__messenger *);
    /* Sleeps until `ready`, a wake, or the deadline; may return early. */
    void (*sleep)(struct gw__messenger *, uint64_t deadline_ns);
    /* Ends a sleep; any thread may call it. */
    void (*rouse)(struct gw__messenger *);
    void (*close)(struct gw__messenger *);
};

/* The first member of each transport's state. */
struct gw__messenger {
    const struct gw__messenger_ops *ops;
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    uint64_t token;
    struct gw__link_profiles *profiles;
    bool copy_always;
    bool held_first; /* at the next receive */
    struct gw__address address;
    struct gw__messenger_peer peers[GW__MESSENGER_NODES];
    struct gw__messenger_held held;
    struct gw__messenger_spin spin;
    _Atomic bool woken;
    struct gw__messenger_counts counts;
};

static inline size_t gw__messenger_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static inline bool
gw__messenger_is_borrowed(const struct gw__message_out *message, unsigned part)
{
    return message->borrowed >> part & 1;
}

size_t gw__message_out_bytes(const struct gw__message_out *message);
/* Random, never 0: a secret that lets a peer send. */
GW_MUST_CHECK enum gw_err gw__messenger_nonce(uint64_t *nonce,
                                              struct gw_error *why);

/* Has this process ended? Known only for those of this host. */
bool gw__messenger_has_ended(const struct gw__process_watch_id *process);
/* Makes malloc keep large blocks. */
void gw__messenger_keep_blocks(void);

/* The openers set the members that depend on the transport. */
GW_MUST_CHECK enum gw_err
gw__messenger_shm_open(const struct gw__messenger_config *config,
                       struct gw__messenger **messenger, struct gw_error *why);
GW_MUST_CHECK enum gw_err
gw__messenger_socket_open(const struct gw__messenger_config *config,
                          struct gw__messenger **messenger,
                          struct gw_error *why);
GW_MUST_CHECK enum gw_err
gw__messenger_zmq_open(const struct gw__messenger_config *config,
                       struct gw__messenger **messenger, struct gw_error *why);

/* ---- messenger_held.c ---- */

/* Copies a message to the own node. */
GW_MUST_CHECK enum gw_err
gw__messenger_held_own(struct gw__messenger *messenger,
                       const struct gw__message_out *message);
/* True: the message that has just arrived is due now. Otherwise it is held, or
 * dropped and counted. */
GW_MUST_CHECK bool
gw__messenger_held_admit(struct gw__messenger *messenger,
                         struct gw__messenger_message *message);
/* A message that is due, from the nodes in turn; NULL: none. */
struct gw__messenger_message *
gw__messenger_held_pop(struct gw__messenger *messenger);
/* The earliest due time; UINT64_MAX: none is held. */
uint64_t gw__messenger_held_due(const struct gw__messenger *messenger);
/* Applies the link profiles again if they have changed. */
void gw__messenger_held_heed(struct gw__messenger *messenger);
/* Drops the held messages of `node`. */
void gw__messenger_held_forget(struct gw__messenger *messenger, unsigned node);

/* ---- messenger_spin.c ---- */

void gw__messenger_spin_init(struct gw__messenger_spin *spin);
/* Spins while it pays. True: the transport is ready, or a wake has come. */
bool gw__messenger_spin(struct gw__messenger *messenger, uint64_t deadline_ns);

#endif
