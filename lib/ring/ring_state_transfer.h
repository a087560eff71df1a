/* SPDX-License-Identifier: MIT
 *
 * Messages between members, in addition to those of the machine: a joiner
 * copies the state and the newest results; a leaver checks that no member needs
 * it any more.
 *
 *     joiner -> member    REQUEST request the item after op n, or a block of it
 *     member -> joiner    BLOCK   of a snapshot of its state, or of a result;
 *                                 or there is nothing (yet)
 *     leaver -> member    PAST    have you completed op n?
 *     member -> leaver    PASSED  completed ops
 *     joiner -> member    CONFIRM request the digest (ring_state_confirm.c)
 *     member -> joiner    HAVE    the digest
 *     joiner -> joiner    NOTHING no state, and all that had it are gone, in
 *                                 this ring epoch
 *
 * Every message may be lost and is repeated. A donor stores nothing about
 * joiners except its snapshots, for some seconds.
 */
#ifndef GW__RING_STATE_TRANSFER_H
#define GW__RING_STATE_TRANSFER_H

#include <cluster/registry/command.h>
#include <gradwire/ring.h>

enum { GW__STATE_BLOCK_BYTES = 49152, GW__TRANSFER_HEAD_MAX = 512 };

enum gw__state_transfer_kind {
    GW__TRANSFER_REQUEST,
    GW__TRANSFER_BLOCK,
    GW__TRANSFER_PAST,
    GW__TRANSFER_PASSED,
    GW__TRANSFER_CONFIRM,
    GW__TRANSFER_HAVE,
    GW__TRANSFER_NOTHING,
    GW__TRANSFER_KINDS
};

enum gw__item_kind { GW__ITEM_NONE, GW__ITEM_SNAPSHOT, GW__ITEM_RESULT };

/* The item that is copied. */
struct gw__state_transfer_item {
    enum gw__item_kind kind;
    uint64_t id;    /* of the snapshot at its donor; of the op */
    uint64_t op;    /* ops in the state then */
    uint64_t bytes; /* of the whole item */
};

struct gw__transfer_request {
    uint64_t have_op;                    /* ops in the joiner's state */
    bool wants_state;                    /* it has none yet */
    uint64_t offset;                     /* of the block */
    struct gw__state_transfer_item item; /* kind and id; NONE: offer one */
    char endpoint[GW__ENDPOINT_MAX];     /* of the joiner */
};

struct gw__state_transfer_block {
    uint64_t server_op; /* ops in the donor's state */
    bool has_state;     /* the donor has a state */
    struct gw__state_transfer_item item;
    /* Of an item: the digest over the ops in the state then, and the epoch in
     * which the newest of them was completed. */
    uint64_t digest, epoch;
    struct gw_ring_result result; /* RESULT; without `data` */
    uint64_t offset;
    const void *data;
    size_t bytes;
};

/* The number of ops in the state, and the digest over them. */
struct gw__state_transfer_state {
    uint64_t ops, digest;
};

struct gw__state_transfer {
    enum gw__state_transfer_kind kind;
    union {
        struct gw__transfer_request request;
        struct gw__state_transfer_block block; /* `data` in the message */
        /* PAST, PASSED: completed ops. NOTHING: the ring epoch. */
        uint64_t ops;
        struct gw__state_transfer_state state; /* HAVE */
    };
};

enum { GW__TRANSFER_BYTES_MAX = GW__TRANSFER_HEAD_MAX + GW__STATE_BLOCK_BYTES };

size_t gw__state_transfer_encode(const struct gw__state_transfer *transfer,
                                 uint8_t out[GW__TRANSFER_BYTES_MAX]);
/* GW_EDATA: not a message of gw__state_transfer_encode. */
GW_MUST_CHECK enum gw_err
gw__state_transfer_decode(const void *data, size_t bytes,
                          struct gw__state_transfer *transfer,
                          struct gw_error *why);

#endif
