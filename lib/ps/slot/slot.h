/* SPDX-License-Identifier: MIT
 *
 * One slot on one server: a replica of a state machine with a log (server.h).
 *
 *     log:   ...applied | committed, not applied | not committed | ...last
 *                 ^ kept while a replica or learner still needs it
 *
 * A leadership is the time in which one server is the slot's primary without a
 * break. The term in which it began (`since`) identifies it. A replica follows
 * one leadership: its entries through `matched` are the primary's. Later
 * entries are left from earlier leaderships and may be committed. They are
 * replaced one by one as the primary sends its own. Entries that the primary
 * did not have when its leadership began (after `base`) are dropped at its
 * first message.
 *
 *   slot.c          creation, destruction, change of role
 *   slot_log.c      entries: append, commit, trim
 *   slot_apply.c    the effect of an entry on the state
 *   slot_closed.c   round commits
 *   slot_save.c     saves the state as bytes; slot_load.c: loads them
 */
#ifndef GW__PS_SLOT_H
#define GW__PS_SLOT_H

#include "dedup.h"
#include "entry.h"
#include "pending_pushes.h"
#include "ps/server/server.h"

struct gw__copy;

/* A follower of this primary. */
struct gw__peer {
    unsigned node;
    uint64_t incarnation;
    bool learner;
    bool needed; /* commits wait for it */
    bool keeps;  /* the log keeps its unacknowledged entries */
    /* it has answered in this leadership; a learner: has the copy */
    bool synced;
    uint64_t acked, sent; /* through this entry */
    uint64_t notified;    /* commit index last sent to it */
    uint64_t knows;       /* commit index that it has reported */
    uint64_t notified_ns; /* time of the last note */
    /* a learner: `last` when commits began to wait for it */
    uint64_t need_from;
    uint64_t sent_ns; /* time of the last message */
    /* time of the last new `acked`, or of a complete log */
    uint64_t progress_ns;
    uint64_t rewound_ns; /* time of the last repetition of missing entries */
};
enum { GW__PEERS_MAX = GW_PS_REPLICAS_MAX + 2 };

/* Restored or copied data of a table that does not exist here yet. */
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
    bool had;      /* since this server started */
    bool silent;   /* in sync by the routes, but without the state: an error */
    uint64_t term; /* the highest one known */
    uint64_t route_term;
    uint64_t fenced; /* primary: a higher term seen; 0: none */
    uint64_t leader_since, log_base;
    uint64_t matched; /* secondary, learner */
    bool ack_due, ack_gap;
    unsigned leader; /* secondary, learner: sender of the last record */

    uint64_t first, last; /* entries kept */
    uint64_t applied, committed;
    uint64_t keys_requested;  /* as primary: keys in pulls and pushes */
    uint64_t bytes_requested; /* keys and values of these */
    struct gw__entry **ring;  /* entry i is at i % room */
    size_t room;

    /* The state. */
    uint64_t generation;
    struct gw__store *stores[GW_PS_TABLES_MAX]; /* NULL: not used yet */
    struct gw__dedup dedup;
    uint64_t closed[GW_PS_GROUPS_MAX];
    /* of groups with their clock here */
    struct gw__clock *clocks[GW_PS_GROUPS_MAX];
    struct gw__pending pending;
    struct gw__orphan *orphans;

    /* For a primary. */
    unsigned peer_count;
    struct gw__peer peers[GW__PEERS_MAX];
    uint64_t closed_appended[GW_PS_GROUPS_MAX];
    /* index of the newest WORKERS */
    uint64_t workers_appended[GW_PS_GROUPS_MAX];
    uint64_t prune_appended[GW_PS_GROUPS_MAX];
    bool report_due; /* its applied round commits must be reported */
    bool frozen;
    uint64_t frozen_ns, proposed_ns;
    struct gw__copy *copy; /* to the learner */

    /* For a learner: the progress of the copy. */
    bool loaded;
    uint64_t copy_leader_since, copy_index, copy_total, copy_have;
    uint8_t *copy_data;
    bool copied_due;
};

/* ---- slot.c ---- */

void gw__slot_init(struct gw__slot *slot, struct gw__server *server,
                   unsigned number);
/* Deletes everything and refuses the waiting requests. */
void gw__slot_drop(struct gw__slot *slot);
/* Changes the role according to the routes. */
void gw__slot_route(struct gw__slot *slot, uint64_t now_ns,
                    const struct gw__slot_route *route);
/* Deletes the state, but not the log and the role. */
void gw__slot_clear_state(struct gw__slot *slot);
/* The table's store, created at the first use. NULL: out of memory, or the
 * table does not exist (yet). */
struct gw__store *gw__slot_store(struct gw__slot *slot, unsigned table);
/* True if the slot is served here now. Otherwise requests are refused. */
bool gw__slot_serves(const struct gw__slot *slot, uint64_t now_ns);
/* True if all entries from before this leadership are applied here. */
bool gw__slot_is_caught_up(const struct gw__slot *slot);

/* ---- slot_log.c ---- */

struct gw__entry *gw__slot_entry(const struct gw__slot *slot, uint64_t index);
/* Primary: appends a copy of *like. Without followers it is applied at once,
 * without a copy. Takes over *like->waits. GW_ENOMEM. GW_PENDING: too many
 * entries are kept for slow replicas. */
GW_MUST_CHECK enum gw_err
gw__slot_append(struct gw__slot *slot, uint64_t now_ns, struct gw__entry *like);
/* Replica: takes over the entry at entry->index, at most last + 1; an existing
 * entry is replaced. */
GW_MUST_CHECK bool gw__slot_put(struct gw__slot *slot, struct gw__entry *entry);
/* Drops the entries after `last`, which are not committed. */
void gw__slot_truncate(struct gw__slot *slot, uint64_t last);
/* Primary: computes the commit index from the followers' progress, and
 * applies. */
void gw__slot_commit(struct gw__slot *slot, uint64_t now_ns);
/* Applies committed entries. */
void gw__slot_advance(struct gw__slot *slot, uint64_t now_ns);
/* Removes applied entries that are not needed by a follower. */
void gw__slot_trim(struct gw__slot *slot);
/* Finds a push that waits in the log by its number; NULL: none. */
struct gw__entry *gw__slot_find_push(const struct gw__slot *slot, unsigned node,
                                     uint64_t incarnation, uint64_t sequence);
/* Finds an equal command that waits in the log; NULL: none. */
struct gw__entry *gw__slot_find_command(const struct gw__slot *slot,
                                        unsigned group, const void *data,
                                        size_t bytes);
void gw__slot_log_fini(struct gw__slot *slot);

/* ---- slot_apply.c ---- */

/* False if its table is not known here yet. */
bool gw__slot_can_apply(const struct gw__slot *slot,
                        const struct gw__entry *entry);
/* False: out of memory; without visible changes, so try again later. */
GW_MUST_CHECK bool gw__slot_apply(struct gw__slot *slot,
                                  const struct gw__entry *entry);

/* ---- slot_closed.c ---- */

/* As gw__slot_apply, but some round commits may already be applied. */
GW_MUST_CHECK bool gw__slot_apply_round_commits(struct gw__slot *slot,
                                                const struct gw__entry *entry);
/* Primary: appends round commits that the server knows and the slot lacks. */
void gw__slot_append_round_commits(struct gw__slot *slot, uint64_t now_ns,
                                   unsigned group);

/* ---- slot_save.c, slot_load.c ---- */

/* Returns the size; writes the bytes if they fit. */
size_t gw__slot_save(const struct gw__slot *slot, void *out, size_t room);
/* Loads into a slot without state. `fresh`: all workers of the state have
 * ended. */
GW_MUST_CHECK enum gw_err gw__slot_load(struct gw__slot *slot, const void *data,
                                        size_t bytes, bool fresh,
                                        struct gw_error *why);
/* Moves the kept data of tables that exist now to their stores. */
void gw__slot_adopt_orphans(struct gw__slot *slot);
void gw__slot_free_orphans(struct gw__slot *slot);
/* Checks bytes from gw__slot_save, as far as possible without the tables. */
GW_MUST_CHECK enum gw_err gw__slot_check_saved(const void *data, size_t bytes,
                                               struct gw_error *why);
uint64_t gw__slot_digest(struct gw__slot *slot);

#endif
