/* SPDX-License-Identifier: MIT
 *
 * The messages between workers and servers on the data path
 * (wire/messenger/messenger.h).
 * A message has up to three parts:
 *
 *     part 0   struct gw__ps_head, then its segments
 *     part 1   keys, 8 bytes each
 *     part 2   values, f32 or f16
 *
 * PUSH, PULL, PUSH_PULL
 *           worker -> primary. Keys and values follow each other segment by
 *           segment, one segment per slot, at most GW_PS_SEGMENTS_MAX. A key
 *           list that the server knows travels as its signature (`key_list`)
 *           alone; part 1 is empty then.
 * CLOCK     worker -> primary of the group's clock. Part 1 is a clock command.
 * REPLY     to one of these. `done` has the segments that are done. Part 2 has the
 *           values pulled from them, in the order of the request's segments.
 *           `code` is the reason why the others, or all, are not done. The
 *           error is permanent if it is GW_EINVAL, GW_EDATA, GW_EMISMATCH,
 *           GW_ENUMERIC, GW_ECLOSED, GW_ENOTSUP or GW_EWRONG. With any other
 *           code the worker sends the request again. With GW__PS_NEWER part 1
 *           has routes newer than those of the request. With GW__PS_WANT_KEYS
 *           the key list must be sent. Otherwise part 1 is the error's text if
 *           `code` is not GW_OK. In a reply to CLOCK NEXT part 2 is a struct
 *           gw_ps_work.
 * APPEND    primary -> replica: one entry of the logs of some of its slots, or
 *           only their commit indices. APPENDED is the answer.
 * COPY      primary -> learner: a part of a slot's state. COPIED is the answer.
 * CLOSED    a clock's primary -> servers: round commits. APPLIED is the answer:
 *           the newest ones applied.
 * SAVE      client -> every server: write the state at marker `sequence`
 *           (clock.h) into the directory of part 1. It is sent before the
 *           marker is made, and again to ask for progress. REPLY: GW_PENDING:
 *           the server has the request; GW_OK: the snapshot is complete
 *           (snapshot.h); otherwise the reason why it cannot be written.
 *
 * Structs travel as they are: all hosts are little-endian (gw__ps_check refuses
 * others by the magic). Each message is checked as a whole before use.
 */
#ifndef GW__PS_MESSAGE_H
#define GW__PS_MESSAGE_H

#include <gradwire/ps.h>
#include <wire/messenger/messenger.h>

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
    GW__PS_APPLIED,
    GW__PS_SAVE,
    GW__PS_KINDS
};

enum gw__ps_flag {
    GW__PS_HALF = 1,      /* values are f16 */
    GW__PS_NEWER = 2,     /* REPLY: part 1 has newer routes */
    GW__PS_WANT_KEYS = 4, /* REPLY: the key list is unknown, send the keys */
    GW__PS_CACHE = 8      /* request: remember this key list */
};

#define GW__PS_MAGIC 0x32505767u /* "gWP2" */

struct gw__ps_head {
    uint32_t magic;
    uint16_t kind;
    uint16_t flags;
    uint64_t request;  /* chosen by the sender, copied to the reply */
    uint64_t routes;   /* the sender's version */
    uint64_t sequence; /* of a push, from 1, per worker incarnation */
    /* all pushes of the sender through this one are acknowledged */
    uint64_t low_watermark;
    uint64_t clock;    /* of the item, or GW__NO_CLOCK */
    uint64_t closed;   /* pulls: the newest round commit that must be applied */
    uint64_t key_list; /* signature of segments and keys; 0: none */
    uint64_t done;     /* REPLY: segments done, as bits; a command is bit 0 */
    uint64_t keys;     /* total of all segments */
    int32_t code;      /* REPLY: enum gw_err */
    uint16_t table;
    uint8_t group;
    uint8_t reserved;
    uint32_t segments;
    uint32_t nans; /* pushes that this worker has refused because of NaNs */
};
_Static_assert(sizeof(struct gw__ps_head) == 96, "no holes");

/* APPEND, COPY and their answers use the last three fields in another way
 * (lib/ps/slot/replicate.h). */
struct gw__ps_segment {
    uint32_t slot;
    uint32_t keys; /* number of keys in this segment */
};

/* Checks the format that all kinds have in common: sizes agree, segments have
 * distinct slots, counts add up, and the size of the
 * values is a multiple of their width. GW_EDATA. `width` is the table's; 0:
 * values are not checked. */
GW_MUST_CHECK enum gw_err gw__ps_check(const struct gw__message_in *message,
                                       const struct gw__ps_head **head,
                                       const struct gw__ps_segment **segments,
                                       struct gw_error *why);
/* The signature of segments and keys; never 0. */
uint64_t gw__ps_key_list(const struct gw__ps_segment *segments,
                         unsigned segment_count, const uint64_t *keys,
                         size_t key_count, unsigned table);

#endif
