/* SPDX-License-Identifier: MIT
 *
 * The post from inside.
 *
 *   messenger.c             opening, closing, who is known, sending, receiving
 *   messenger_held.c        what is here and not yet due, and what is to oneself
 *   messenger_spin.c        whether spinning pays now
 *   messenger_shm.h         the segment, and what is known of a peer on this host
 *   messenger_zmq.h         the sockets
 *   messenger_frame.h       the head of a ZeroMQ message as bytes
 *
 * A transport is a table of functions. It hands up parcels in the order of
 * each peer; rules, own messages and taking turns are common. A parcel is a
 * piece of heap of its own, so that it may outlive the post.
 */
#ifndef GW__MESSENGER_PARTS_H
#define GW__MESSENGER_PARTS_H

#include "messenger.h"

enum {
    GW__MESSENGER_WAITING_MAX = 65536, /* messages */
    GW__MESSENGER_CLOSING_MS = 100,
    GW__MESSENGER_HELD_MAX = 65536,
};

/* Of the copies of messages that wait. */
static const size_t gw__messenger_copies_max = (size_t)1 << 30;

/* The common head of all transports' parcels. */
struct gw__messenger_message {
    struct gw__message_in parcel;
    struct gw__messenger_message *next;
    uint64_t sent_ns, due_ns;
    size_t bytes; /* of all parts */
};

/* What one node has sent and is not due, in its order. */
struct gw__reorder_queue {
    struct gw__messenger_message *first, *last;
    struct gw__due due;
};

struct gw__messenger_held {
    struct gw__reorder_queue lines[GW__MESSENGER_NODES];
    uint64_t nodes; /* whose line is not empty, as bits */
    unsigned count, turn;
    size_t own_bytes;
    unsigned own_count;
    uint64_t changes; /* of the rules, when they were asked last */
};

struct gw__messenger_spin {
    unsigned cores;
    int load_fd; /* /proc/loadavg, or -1 */
    bool pays;
    uint64_t asked_ns, not_before_ns, penalty_ns;
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
    /* To a known node, not oneself; counts nothing. *lent_bytes: of how many
     * bytes no copy was made. */
    enum gw_err (*send)(struct gw__messenger *, const struct gw__message_out *,
                        size_t *lent_bytes);
    /* The next parcel of any known peer; NULL: none. */
    struct gw__messenger_message *(*take)(struct gw__messenger *);
    /* Takes back what was lent and sends on what waits; true when there was
     * something. */
    bool (*tend)(struct gw__messenger *);
    /* Is there anything for `take` or `tend`? Cheap: spinning calls it. */
    bool (*ready)(struct gw__messenger *);
    /* Sleeps until `ready`, a wake, or the deadline; may return early. */
    void (*sleep)(struct gw__messenger *, uint64_t deadline_ns);
    /* Ends a sleep, from any thread. */
    void (*rouse)(struct gw__messenger *);
    void (*close)(struct gw__messenger *);
};

/* A transport's own state begins with it. */
struct gw__messenger {
    const struct gw__messenger_ops *ops;
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    uint64_t token;
    struct gw__rules *rules;
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

static inline bool gw__messenger_is_lent(const struct gw__message_out *letter,
                                         unsigned part)
{
    return letter->lent >> part & 1;
}

size_t gw__message_out_bytes(const struct gw__message_out *letter);
/* Random, never 0: who guesses it may speak. */
GW_MUST_CHECK enum gw_err gw__messenger_nonce(uint64_t *nonce,
                                              struct gw_error *why);

/* The openers: they fill all but what is common. */
GW_MUST_CHECK enum gw_err
gw__messenger_shm_open(const struct gw__messenger_config *config,
                       struct gw__messenger **post, struct gw_error *why);
GW_MUST_CHECK enum gw_err
gw__messenger_zmq_open(const struct gw__messenger_config *config,
                       struct gw__messenger **post, struct gw_error *why);

/* ---- messenger_held.c ---- */

/* A message to oneself: copied. */
GW_MUST_CHECK enum gw_err
gw__messenger_held_own(struct gw__messenger *post,
                       const struct gw__message_out *letter);
/* What has just come: true when it is due now; else it is kept, or dropped and
 * counted. */
GW_MUST_CHECK bool
gw__messenger_held_admit(struct gw__messenger *post,
                         struct gw__messenger_message *parcel);
/* One that is due, the nodes taking turns; NULL: none. */
struct gw__messenger_message *
gw__messenger_held_take(struct gw__messenger *post);
/* When the earliest is due; UINT64_MAX: there is none. */
uint64_t gw__messenger_held_due(const struct gw__messenger *post);
/* Asks the rules anew when they have changed. */
void gw__messenger_held_heed(struct gw__messenger *post);
/* Drops what `node` has sent. */
void gw__messenger_held_forget(struct gw__messenger *post, unsigned node);

/* ---- messenger_spin.c ---- */

void gw__messenger_spin_init(struct gw__messenger_spin *spin);
void gw__messenger_spin_fini(struct gw__messenger_spin *spin);
/* Spins while it pays; true when the transport is ready or was woken. */
bool gw__messenger_spin(struct gw__messenger *post, uint64_t deadline_ns);

#endif
