/* SPDX-License-Identifier: MIT
 *
 * Between the replicas of a slot: records behind the head of a message, and
 * what a primary and its followers do with them.
 *
 *     APPEND    one entry (keys in part 1, data in part 2; the push's own
 *               numbers in the head), or notes: how far slots are committed
 *     APPENDED  how far the sender has the primary's log
 *     COPY      a piece of a slot's state (part 2); COPIED: how much has come
 *
 * All records name the slot, the sender's term and the reign (slot.h). Who is
 * told of a reign for the first time cuts its log at `base` and answers.
 * Entries that come out of order are not kept: the primary goes back to what is
 * missing.
 */
#ifndef GW__PS_REPLICATE_H
#define GW__PS_REPLICATE_H

#include "slot.h"

struct gw__append {
    uint64_t term, since, base;
    uint64_t committed;
    uint64_t index; /* of the entry that comes along; 0: a note */
    uint64_t incarnation;
    uint32_t node; /* whose push */
    uint32_t slot;
    uint32_t kind;
    uint32_t keys;
};

struct gw__appended {
    uint64_t term, since;
    uint64_t matched, committed;
    uint32_t slot;
    uint32_t gap; /* something behind `matched` has come */
};

struct gw__copy_record {
    uint64_t term, since;
    uint64_t index; /* the state is as of this entry */
    uint64_t total, offset;
    uint64_t reserved;
    uint32_t slot;
    uint32_t pad;
};

/* ---- replicate.c: the primary's side ---- */

/* Sends the peer what it has not got. */
void gw__peer_pump(struct gw__slot *slot, uint64_t now_ns,
                   struct gw__peer *peer);
void gw__replicate_tick(struct gw__slot *slot, uint64_t now_ns);
void gw__on_appended(struct gw__server *server, uint64_t now_ns,
                     const struct gw__message_in *parcel,
                     const struct gw__ps_head *head);
/* Tells the peers how far is committed, and followers' primaries what is here:
 * one letter a node. */
void gw__flush_notes(struct gw__server *server, uint64_t now_ns);
void gw__flush_acks(struct gw__server *server);
struct gw__peer *gw__slot_peer(struct gw__slot *slot, unsigned node);

/* ---- follow.c: the follower's side ---- */

void gw__on_append(struct gw__server *server, uint64_t now_ns,
                   struct gw__message_in *parcel,
                   const struct gw__ps_head *head);

/* ---- copy.c: to a learner ---- */

void gw__copy_tick(struct gw__slot *slot, uint64_t now_ns);
void gw__copy_free(struct gw__slot *slot);
void gw__on_copied(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *parcel,
                   const struct gw__ps_head *head);
void gw__on_copy(struct gw__server *server, uint64_t now_ns,
                 const struct gw__message_in *parcel,
                 const struct gw__ps_head *head);
void gw__flush_copied(struct gw__server *server);
/* A learner's, what has come of it. */
void gw__copy_forget(struct gw__slot *slot);

/* ---- move.c: promotion and handover ---- */

void gw__move_tick(struct gw__slot *slot, uint64_t now_ns);

#endif
