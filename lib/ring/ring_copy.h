/* SPDX-License-Identifier: MIT
 *
 * Copying the state into a joiner: the progress of the joiner
 * (ring_state_fetch.c in the control thread, ring_copy.c in the main thread),
 * and the snapshots of a donor (ring_state_server.c, in the control thread).
 */
#ifndef GW__RING_COPY_H
#define GW__RING_COPY_H

#include "ring_state_transfer.h"

enum { GW__RING_SNAPSHOTS = 2, GW__RING_WINDOW = 8 };

/* The item that a joiner copies: a snapshot or a result, in pieces. */
struct gw__fetch {
    bool active;
    bool copied;      /* the state contains a snapshot */
    uint64_t have_op; /* ops in the state */
    unsigned snapshots;
    unsigned server; /* the member that it copies from */
    bool server_known;
    /* Ops in the donor's state; UINT64_MAX: not known. */
    uint64_t server_op;
    uint64_t received_ns, rest_ns;
    struct gw__state_transfer_item
        item;                     /* kind GW__ITEM_NONE: wait for an offer */
    struct gw_ring_result result; /* of the item */
    uint64_t digest, epoch;
    bool over; /* the ring of the copy no longer exists */
    unsigned char *data;
    size_t room;
    uint64_t requested, got; /* bytes requested; bytes received */
    struct {
        bool used;
        uint64_t offset, requested_ns;
    } window[GW__RING_WINDOW];
};

struct gw__ring_snapshot {
    uint64_t id; /* 0: none */
    uint64_t op, digest, epoch;
    unsigned char *data;
    size_t bytes;
    uint64_t made_ns, used_ns;
};

/* Main thread: becomes a member whose state is up to date. */
GW_MUST_CHECK enum gw_err
gw__ring_copy(struct gw_ring *ring, uint64_t deadline_ns, struct gw_error *why);
/* Control thread. */
void gw__fetch_turn(struct gw_ring *ring, uint64_t now_ns);
void gw__fetch_block(struct gw_ring *ring, unsigned from,
                     const struct gw__state_transfer_block *block);
/* With `lock` held: there is a membership update; a donor that is gone is
 * replaced. */
void gw__fetch_update(struct gw_ring *ring);
/* With `lock` held: is the item complete? */
bool gw__fetch_whole(const struct gw__fetch *fetch);
/* The item was used: fetch the next one. */
void gw__fetch_next(struct gw__fetch *fetch);
void gw__state_serve_block(struct gw_ring *ring, unsigned to,
                           const struct gw__transfer_request *request);
void gw__state_serve_turn(struct gw_ring *ring, uint64_t now_ns);

#endif
