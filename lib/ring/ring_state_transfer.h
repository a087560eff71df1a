/* SPDX-License-Identifier: MIT
 *
 * What members say to each other beside the machine's messages: a joiner copies
 * the state and the newest results; one that leaves makes sure that nobody
 * needs it any more.
 *
 *     joiner -> member    ASK     what comes after op n, a piece of it
 *     member -> joiner    PIECE   of a snapshot of its state, or of a result;
 *                                 or that there is nothing (yet)
 *     leaver -> member    PAST    have you completed op n?
 *     member -> leaver    PASSED  these
 *     joiner -> member    SURE    what is your state? (ring_state_confirm.c)
 *     member -> joiner    HAVE    this
 *     joiner -> joiner    NOTHING since when: none, and nobody is left who has
 *
 * Everything may be lost, and is asked again. A donor keeps nothing about who
 * asks but the snapshots that it has taken, for some seconds.
 */
#ifndef GW__RING_FOREIGN_H
#define GW__RING_FOREIGN_H

#include <cluster/registry/command.h>
#include <gradwire/ring.h>

enum { GW__PIECE_BYTES = 49152, GW__FOREIGN_HEAD_MAX = 512 };

enum gw__foreign_kind {
    GW__FOREIGN_ASK,
    GW__FOREIGN_PIECE,
    GW__FOREIGN_PAST,
    GW__FOREIGN_PASSED,
    GW__FOREIGN_SURE,
    GW__FOREIGN_HAVE,
    GW__FOREIGN_NOTHING,
    GW__FOREIGN_KINDS
};

enum gw__item_kind { GW__ITEM_NONE, GW__ITEM_SNAPSHOT, GW__ITEM_RESULT };

/* What is being copied. */
struct gw__foreign_item {
    enum gw__item_kind kind;
    uint64_t id;    /* of the snapshot at its donor; of the op */
    uint64_t op;    /* ops that are in the state then */
    uint64_t bytes; /* of the whole */
};

struct gw__foreign_ask {
    uint64_t have_op;                /* ops that are in the joiner's state */
    bool wants_state;                /* it has none yet */
    uint64_t offset;                 /* of the piece */
    struct gw__foreign_item item;    /* kind and id; NONE: offer one */
    char endpoint[GW__ENDPOINT_MAX]; /* of the joiner */
};

struct gw__foreign_piece {
    uint64_t donor_op; /* ops that are in the donor's state */
    bool gives;        /* the donor has a state */
    struct gw__foreign_item item;
    /* Of an item: over the ops that are in the state then, and the epoch in
     * which the newest of them was completed. */
    uint64_t digest, epoch;
    struct gw_ring_result result; /* RESULT; without `data` */
    uint64_t offset;
    const void *data;
    size_t bytes;
};

/* How many ops are in the state, and the digest over them. */
struct gw__foreign_state {
    uint64_t ops, digest;
};

struct gw__foreign {
    enum gw__foreign_kind kind;
    union {
        struct gw__foreign_ask ask;
        struct gw__foreign_piece piece; /* `data` in the message */
        uint64_t ops; /* PAST, PASSED: how many are complete; NOTHING: the
                         ring epoch */
        struct gw__foreign_state state; /* HAVE */
    };
};

enum { GW__FOREIGN_BYTES_MAX = GW__FOREIGN_HEAD_MAX + GW__PIECE_BYTES };

size_t gw__foreign_encode(const struct gw__foreign *foreign,
                          uint8_t out[GW__FOREIGN_BYTES_MAX]);
/* GW_EDATA for what was not written by that. */
GW_MUST_CHECK enum gw_err gw__foreign_decode(const void *data, size_t bytes,
                                             struct gw__foreign *foreign,
                                             struct gw_error *why);

#endif
