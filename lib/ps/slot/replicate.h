/* SPDX-License-Identifier: MIT
 *
 * Replication of a slot: the records after the head of a message, and their
 * handling by the primary and its followers.
 *
 *     APPEND    one entry (keys in part 1, data in part 2, the push's own
 *               numbers in the head), or notes: the commit index of slots
 *     APPENDED  how much of the primary's log the sender has
 *     COPY      a block of a slot's state (part 2)
 *     COPIED    how much of the state has arrived
 *
 * All records have the slot, the sender's term and the leadership (slot.h). At
 * the first record of a new leadership a follower cuts its log at `base` and
 * answers. Entries out of order are not kept: the primary sends again from the
 * first missing one.
 */
#ifndef GW__PS_REPLICATE_H
#define GW__PS_REPLICATE_H

#include "slot.h"

struct gw__append {
    uint64_t term, leader_since, log_base;
    uint64_t committed;
    uint64_t index; /* of the entry in this message; 0: a note */
    uint64_t incarnation;
    uint32_t node; /* the worker of the push */
    uint32_t slot;
    uint32_t kind;
    uint32_t keys;
};

struct gw__appended {
    uint64_t term, leader_since;
    uint64_t matched, committed;
    uint32_t slot;
    uint32_t gap; /* an entry after `matched` + 1 has arrived */
};

struct gw__copy_record {
    uint64_t term, leader_since;
    uint64_t index; /* the state's newest entry */
    uint64_t total, offset;
    uint64_t reserved;
    uint32_t slot;
    uint32_t pad;
};

/* ---- replicate.c: the primary's side ---- */

/* Sends the peer its missing entries. */
void gw__peer_pump(struct gw__slot *slot, uint64_t now_ns,
                   struct gw__peer *peer);
void gw__replicate_tick(struct gw__slot *slot, uint64_t now_ns);
void gw__on_appended(struct gw__server *server, uint64_t now_ns,
                     const struct gw__message_in *message,
                     const struct gw__ps_head *head);
/* Sends the newest commits to the peers, in one message per node. */
void gw__replicate_notify(struct gw__server *server, uint64_t now_ns);
void gw__flush_acks(struct gw__server *server);
struct gw__peer *gw__slot_peer(struct gw__slot *slot, unsigned node);

/* ---- follow.c: the follower's side ---- */

void gw__on_append(struct gw__server *server, uint64_t now_ns,
                   struct gw__message_in *message,
                   const struct gw__ps_head *head);

/* ---- copy.c: to a learner ---- */

void gw__copy_tick(struct gw__slot *slot, uint64_t now_ns);
void gw__copy_free(struct gw__slot *slot);
void gw__on_copied(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *message,
                   const struct gw__ps_head *head);
void gw__on_copy(struct gw__server *server, uint64_t now_ns,
                 const struct gw__message_in *message,
                 const struct gw__ps_head *head);
void gw__flush_copied(struct gw__server *server);
/* Frees a partial copy on a learner. */
void gw__copy_forget(struct gw__slot *slot);

/* ---- move.c: promotion and handover ---- */

void gw__move_tick(struct gw__slot *slot, uint64_t now_ns);

#endif
