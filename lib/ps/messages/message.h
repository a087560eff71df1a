/* SPDX-License-Identifier: MIT
 *
 * What workers and servers say to each other on the data path (wire/post/post.h):
 * messages of up to three parts.
 *
 *     part 0   struct gw__ps_head, then its segments
 *     part 1   keys, 8 bytes each
 *     part 2   values, f32 or f16
 *
 * PUSH, PULL, PUSH_PULL   worker -> primary. Keys and values lie segment by
 *     segment, a segment a slot. A key list that the server knows travels as
 *     its signature (`key_list`) alone, part 1 is empty then.
 * CLOCK   worker -> primary of the group's clock: part 1 a clock command.
 * REPLY   to one of these: `done` has the slots that are done; for them the
 *     values pulled are part 2, in the order of the request's segments. `code`:
 *     why the others, or all, are not: for good (GW_EINVAL, GW_EDATA,
 *     GW_EMISMATCH, GW_ENUMERIC, GW_ECLOSED, GW_ENOTSUP, GW_EWRONG), or, with
 *     any other one, for now: the worker asks again. With GW__PS_NEWER part 1
 * has routes newer than those the request was made by; with GW__PS_WANT_KEYS
 * the key list must be sent; else part 1 is a sentence when `code` is not
 * GW_OK. Of CLOCK NEXT: part 2 is a struct gw_ps_work. APPEND  primary ->
 * replica: one entry of some of its slots' logs, or only how far they are
 * committed. APPENDED goes back. COPY    primary -> learner: a piece of a
 * slot's state. COPIED goes back. CLOSED  a clock's primary -> servers:
 * closings. SEEN: how far they applied. SAVE    client -> every server: what it
 * holds at marker `sequence` (clock.h) is to be written into the directory of
 * part 1; said before the marker is made, and again to ask. REPLY: GW_PENDING:
 * it knows; GW_OK: the snapshot is whole (snapshot.h); else why it cannot be
 * written.
 *
 * Structs travel as they are: all hosts are little-endian (gw__ps_check refuses
 * others by the magic). Whatever comes is checked as a whole before use.
 */
#ifndef GW__PS_MESSAGE_H
#define GW__PS_MESSAGE_H

#include <gradwire/ps.h>
#include <wire/post/post.h>

enum gw__ps_kind {
    GW__PS_PUSH = 1,
    GW__PS_PULL,
    GW__PS_PUSH_PULL,
    GW__PS_CLOCK,
    GW__PS_REPLY,
    GW__PS_APPEND,
    GW__PS_APPENDED,
    GW__PS_COPY,
    GW__PS_COPIED,
    GW__PS_CLOSED,
    GW__PS_SEEN,
    GW__PS_SAVE,
    GW__PS_KINDS
};

enum gw__ps_flag {
    GW__PS_HALF = 1,      /* values are f16 */
    GW__PS_NEWER = 2,     /* REPLY: part 1 has routes */
    GW__PS_WANT_KEYS = 4, /* REPLY: that key list is not known */
    GW__PS_CACHE = 8      /* request: remember this key list */
};

#define GW__PS_MAGIC 0x31505767u /* "gWP1" */

struct gw__ps_head {
    uint32_t magic;
    uint16_t kind;
    uint16_t flags;
    uint64_t request;  /* of the sender; comes back in the reply */
    uint64_t routes;   /* version that the sender goes by */
    uint64_t sequence; /* of a push, from 1, by worker incarnation */
    uint64_t floor;    /* all its pushes up to this one are acknowledged */
    uint64_t clock;    /* of the unit; GW__NO_CLOCK */
    uint64_t closed;   /* pulls: closings of the group that must be applied */
    uint64_t key_list; /* signature of segments and keys; 0: none */
    uint64_t done;     /* REPLY: slots, as bits */
    uint64_t keys;     /* how many in all segments */
    int32_t code;      /* REPLY: enum gw_err */
    uint16_t table;
    uint8_t group;
    uint8_t reserved;
    uint32_t segments;
    uint32_t nans; /* pushes that this worker has refused so far, for NaNs */
};
_Static_assert(sizeof(struct gw__ps_head) == 96, "no holes");

/* APPEND and its like give the last three fields a meaning of their own
 * (lib/ps/slot/replicate.h). */
struct gw__ps_segment {
    uint32_t slot;
    uint32_t keys; /* of this segment */
};

/* The head of a parcel that is well-formed as far as all kinds have it in
 * common: sizes agree, segments name distinct slots below GW_PS_SLOTS_MAX,
 * counts add up, values have a multiple of their size. GW_EDATA. `width`: of
 * the table; 0: values are not looked at. */
GW_MUST_CHECK enum gw_err gw__ps_check(const struct gw__parcel *parcel,
                                       const struct gw__ps_head **head,
                                       const struct gw__ps_segment **segments,
                                       struct gw_error *why);
/* Of segments and keys; never 0. */
uint64_t gw__ps_key_list(const struct gw__ps_segment *segments,
                         unsigned segment_count, const uint64_t *keys,
                         size_t key_count, unsigned table);

#endif
