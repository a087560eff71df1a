/* SPDX-License-Identifier: MIT
 *
 * The controllers' log: libraft on libuv, in a thread of its own, with a
 * replica of the registry beside it, for a snapshot must be of exactly the
 * state at the index that Raft took it at. On disk in a directory.
 *
 * Entry numbers are the registry's own count: since the replica and the
 * snapshots carry it, it is the same on every controller, whatever else Raft
 * puts in its log.
 *
 * What libraft 0.15 needs to be spared: its random numbers are those of an
 * unseeded rand(), the same in every process, so elections would tie. When a
 * follower's write ends after its leader is gone, it crashes. It must be closed
 * with no write under way. It may say that it is closed while pieces of its
 * work still refer to it, and say it again after them. Lengths of entries that
 * are no multiple of 8 are filled up; nothing is proposed from inside of its
 * own calls.
 *
 *   raft_log_open.c  the beginning
 *   raft_log.c       proposals, the thread, who leads, the end
 *   raft_log_fsm.c   what is committed, snapshots
 *   raft_log_io.c    between libraft and its back end: cut links, late
 *                    writes, counts
 *   raft_log_held.c  what link rules keep back
 *   raft_log_slow.c  a disk that does not finish a write
 *   raft_log_note.c  what is acknowledged
 *   raft_log_channel.c  what controllers say to each other behind a key
 *   raft_message.h   that as bytes
 *   raft_dir.h      whether the directory is whole, before libraft sees it
 *   raft_ack.h       what was acknowledged
 */
#ifndef GW__CLUSTER_RAFT_LOG_H
#define GW__CLUSTER_RAFT_LOG_H

#include <gradwire/base.h>

struct gw__raft_log;
struct gw__rules; /* wire/emulation/rules.h */

struct gw__raft_log_config {
    unsigned index; /* which of `count` */
    unsigned count;
    /* To be there during `open` only: */
    const char *const *addresses; /* [index]: "127.0.0.1:port"; with a key
                                     also "[::1]:port" */
    const char *directory;        /* made if missing */
    bool accept_loss;             /* of what is damaged there */
    const char *key_file;         /* NULL: none */
    bool insecure;                /* listens outside loopback without one */
    /* What links that lead here do to the others' messages; with `nodes`
     * [index], who they are. Not owned; NULL: nothing. */
    struct gw__rules *rules;
    const unsigned *nodes;
    uint64_t token;       /* of the cluster: the same for all; heeded
                             with a key */
    unsigned election_ms; /* followers wait once to twice as long */
    unsigned heartbeat_ms;
    void *context;
    /* In the log's thread or in `open`, in order. An entry comes once; after a
     * snapshot come those behind it. */
    void (*on_entry)(void *context, uint64_t index, const void *command,
                     size_t bytes);
    void (*on_snapshot)(void *context, const void *data, size_t bytes);
    void (*on_leader)(void *context, unsigned leader); /* `count`: nobody */
    /* This one has voted; NULL: nobody wants to know. */
    void (*on_vote)(void *context, unsigned candidate, uint64_t term);
};

/* Where this one stands, as of its last turn. */
struct gw__raft_figures {
    uint64_t term, last, committed; /* of Raft's own log */
};

/* Reads what is on disk, or begins it. GW_EDATA: damage (raft_dir.h).
 * GW_EUNREACH: cannot listen. GW_EINVAL: not there without a key; a bad key. */
GW_MUST_CHECK enum gw_err
gw__raft_log_open(const struct gw__raft_log_config *config,
                  struct gw__raft_log **log, struct gw_error *why);
/* Starts the thread; once. */
GW_MUST_CHECK enum gw_err gw__raft_log_run(struct gw__raft_log *log,
                                           struct gw_error *why);
/* Ends it after what is being written: nothing is told any more, what is
 * proposed is refused (GW_ECLOSED). */
void gw__raft_log_stop(struct gw__raft_log *log);
/* Stops and frees it; NULL allowed. */
void gw__raft_log_close(struct gw__raft_log **log);

/* ---- from any thread ---- */

/* To be appended, if this one leads when its turn comes, else it is lost.
 * GW_ENOMEM: too much waits already. */
enum gw_err gw__raft_log_propose(struct gw__raft_log *log, const void *command,
                                 size_t bytes);
void gw__raft_log_figures(struct gw__raft_log *log,
                          struct gw__raft_figures *out);
/* Messages to controller `index` do not get through. */
void gw__raft_log_cut(struct gw__raft_log *log, unsigned index, bool down);
/* GW_OK while it runs. */
enum gw_err gw__raft_log_error(struct gw__raft_log *log, struct gw_error *why);

#endif
