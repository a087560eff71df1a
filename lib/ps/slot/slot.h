/* SPDX-License-Identifier: MIT
 *
 * One slot on one server: a replica of a state machine with a log (server.h).
 *
 *     log:   ...applied | committed, not applied | not committed | ...last
 *                 ^ kept while a replica or learner still needs it
 *
 * A reign is the time in which one server is primary of the slot without a
 * break; `since`, the term in which it began, names it. A replica follows one
 * reign: all its entries through `matched` are the primary's. What lies behind
 * is left from the reign before, and may be committed: it is replaced one by
 * one as the primary sends its own, and what the primary did not have when its
 * reign began (behind `base`) is dropped at the first word from it.
 *
 *   slot.c          begins, ends, changes its role
 *   slot_log.c      entries: appending, committing, forgetting
 *   slot_apply.c    what an entry does to the state
 *   slot_closed.c   closings
 *   slot_save.c     the state as bytes; slot_load.c: and back
 */
#ifndef GW__PS_SLOT_H
#define GW__PS_SLOT_H

#include "dedup.h"
#include "entry.h"
#include "pending_pushes.h"
#include "ps/server/server.h"

struct gw__copy;

/* Who follows this primary. */
struct gw__peer {
    unsigned node;
    uint64_t incarnation;
    bool learner;
    bool needed; /* commits wait for it */
    bool keeps;  /* the log must keep what it has not acknowledged */
    bool synced; /* it has spoken in this reign; a learner: has the copy */
    uint64_t acked, sent; /* through this entry */
    uint64_t told;        /* that this is committed, */
    uint64_t knows;       /* that, as it has said itself */
    uint64_t noted_ns;    /* when it was told last by a note */
    uint64_t need_from;   /* a learner: what was appended without it */
    uint64_t sent_ns;     /* when it got something last */
    uint64_t progress_ns; /* when `acked` grew last, or all was here */
    uint64_t rewound_ns;  /* when it was sent what it lacks once more */
};
enum { GW__PEERS_MAX = GW_PS_REPLICAS_MAX + 2 };

/* Kept of a restored or copied state, until there is a table of that name. */
struct gw__orphan {
    struct gw__orphan *next;
    struct gw_ps_table_config config;
    size_t bytes;
    uint8_t data[];
};

struct gw__slot {
    struct gw__server *server;
    unsigned number;
    enum gw_ps_role role;
    bool had;      /* in this life of the server */
    bool silent;   /* is in sync by the routes and has nothing: trouble */
    uint64_t term; /* the highest that is known of */
    uint64_t route_term;
    uint64_t fenced; /* primary: a higher term was heard of; 0: not */
    uint64_t since, base;
    uint64_t matched; /* secondary, learner */
    bool ack_due, ack_gap;
    unsigned leader; /* secondary, learner: who spoke last */

    uint64_t first, last; /* entries kept */
    uint64_t applied, committed;
    uint64_t keys_asked;     /* as primary: of pulls and pushes */
    uint64_t bytes_asked;    /* of those keys and their values */
    struct gw__entry **ring; /* entry i is at i % room */
    size_t room;

    /* The state. */
    uint64_t generation;
    struct gw__store *stores[GW_PS_TABLES_MAX]; /* NULL: not touched yet */
    struct gw__dedup seen;
    uint64_t closed[GW_PS_GROUPS_MAX];
    struct gw__clock *clocks[GW_PS_GROUPS_MAX]; /* of groups that live here */
    struct gw__stage stage;
    struct gw__orphan *orphans;

    /* A primary's. */
    unsigned peer_count;
    struct gw__peer peers[GW__PEERS_MAX];
    uint64_t closed_appended[GW_PS_GROUPS_MAX];
    uint64_t workers_appended[GW_PS_GROUPS_MAX]; /* index of that entry */
    uint64_t prune_appended[GW_PS_GROUPS_MAX];
    bool seen_due; /* its closings are to be reported */
    bool frozen;
    uint64_t frozen_ns, proposed_ns;
    struct gw__copy *copy; /* to the learner */

    /* A learner's: what has come of the copy. */
    bool loaded;
    uint64_t copy_since, copy_index, copy_total, copy_have;
    uint8_t *copy_data;
    bool copied_due;
};

/* ---- slot.c ---- */

void gw__slot_init(struct gw__slot *slot, struct gw__server *server,
                   unsigned number);
/* Forgets everything; who waits is refused. */
void gw__slot_drop(struct gw__slot *slot);
/* Takes the role that the routes give it. */
void gw__slot_route(struct gw__slot *slot, uint64_t now_ns,
                    const struct gw__slot_route *route);
/* Nothing of its state, but its log and role, is left. */
void gw__slot_clear_state(struct gw__slot *slot);
/* The table's store, made when it is touched first; NULL: no memory, or there
 * is no such table (yet). */
struct gw__store *gw__slot_store(struct gw__slot *slot, unsigned table);
/* Is it served here, now? Else refuse. */
bool gw__slot_serves(const struct gw__slot *slot, uint64_t now_ns);
/* What was acknowledged before its reign is applied here too. */
bool gw__slot_is_settled(const struct gw__slot *slot);

/* ---- slot_log.c ---- */

struct gw__entry *gw__slot_entry(const struct gw__slot *slot, uint64_t index);
/* A primary's: the entry (copied from *like) is the last one now. With nobody
 * to wait for it is applied at once, without a copy. *like->waits goes with it.
 * GW_ENOMEM; GW_PENDING: too much is kept for slow replicas. */
GW_MUST_CHECK enum gw_err
gw__slot_append(struct gw__slot *slot, uint64_t now_ns, struct gw__entry *like);
/* A replica's: takes over the entry as number entry->index, which is at most
 * last + 1; what was there is replaced. */
GW_MUST_CHECK bool gw__slot_put(struct gw__slot *slot, struct gw__entry *entry);
/* Drops entries behind `last`; none of them is committed. */
void gw__slot_cut(struct gw__slot *slot, uint64_t last);
/* A primary's: what do all have? Then applies. */
void gw__slot_commit(struct gw__slot *slot, uint64_t now_ns);
/* Applies what is committed. */
void gw__slot_advance(struct gw__slot *slot, uint64_t now_ns);
/* Forgets applied entries that nobody needs. */
void gw__slot_trim(struct gw__slot *slot);
/* The push that waits in the log with this number; NULL: none. */
struct gw__entry *gw__slot_find_push(const struct gw__slot *slot, unsigned node,
                                     uint64_t incarnation, uint64_t sequence);
/* The same command waits in the log already; NULL: none. */
struct gw__entry *gw__slot_find_command(const struct gw__slot *slot,
                                        unsigned group, const void *data,
                                        size_t bytes);
void gw__slot_log_fini(struct gw__slot *slot);

/* ---- slot_apply.c ---- */

/* Can it be applied yet? Not when its table is not known here. */
bool gw__slot_can_apply(const struct gw__slot *slot,
                        const struct gw__entry *entry);
/* False: no memory; nothing that can be seen has changed, try again later. */
GW_MUST_CHECK bool gw__slot_apply(struct gw__slot *slot,
                                  const struct gw__entry *entry);

/* ---- slot_closed.c ---- */

/* As gw__slot_apply; closings that are done stay done. */
GW_MUST_CHECK bool gw__slot_apply_round_commits(struct gw__slot *slot,
                                                const struct gw__entry *entry);
/* A primary's: appends the closings that the server knows and it has not. */
void gw__slot_append_round_commits(struct gw__slot *slot, uint64_t now_ns,
                                   unsigned group);

/* ---- slot_save.c, slot_load.c ---- */

/* The bytes; written when they fit. */
size_t gw__slot_save(const struct gw__slot *slot, void *out, size_t room);
/* Into a slot without state. `fresh`: the workers of that time are gone. */
GW_MUST_CHECK enum gw_err gw__slot_load(struct gw__slot *slot, const void *data,
                                        size_t bytes, bool fresh,
                                        struct gw_error *why);
/* Tables that exist by now get what was kept for them. */
void gw__slot_adopt_orphans(struct gw__slot *slot);
void gw__slot_free_orphans(struct gw__slot *slot);
/* Is it what gw__slot_save has written, as far as that can be said without the
 * tables? */
GW_MUST_CHECK enum gw_err gw__slot_check_saved(const void *data, size_t bytes,
                                               struct gw_error *why);
uint64_t gw__slot_digest(struct gw__slot *slot);

#endif
