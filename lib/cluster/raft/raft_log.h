/* SPDX-License-Identifier: MIT
 *
 * The controllers' log: libraft on libuv, in a separate thread, with its own
 * replica of the registry. The replica is needed because a snapshot must be of
 * exactly the state at the index at which Raft took it. The log is in a
 * directory on disk.
 *
 * Entry numbers are the registry's own count. The replica and the snapshots
 * carry this count, so it is the same on every controller, whatever other
 * entries Raft puts in its log.
 *
 * Workarounds for libraft 0.15. Its random numbers are those of an unseeded
 * rand(), the same in every process, so elections would tie. It crashes when a
 * follower's write ends after its leader is gone. It must be closed without
 * pending writes. It may report that it is closed while parts of its work still
 * refer to it, and report it again after them. Entries are padded to a multiple
 * of 8 bytes, and there are no proposals from inside its own calls.
 *
 *   raft_log_open.c  opening
 *   raft_log.c       proposals, the thread, the leader, closing
 *   raft_log_fsm.c   committed entries, snapshots
 *   raft_log_io.c    between libraft and its back end: cut links, late
 *                    writes, counts
 *   raft_log_held.c  messages delayed by link profiles
 *   raft_log_slow.c  a disk that does not finish a write
 *   raft_log_record.c acknowledgements
 *   raft_log_channel.c  messages between controllers with a key
 *   raft_message.h   their encoding
 *   raft_dir.h      checks the directory before libraft starts
 *   raft_ack.h       the file of acknowledgements
 */
#ifndef GW__CLUSTER_RAFT_LOG_H
#define GW__CLUSTER_RAFT_LOG_H

#include <gradwire/base.h>
#include <wire/security.h>

struct gw__raft_log;
struct gw__link_profiles; /* wire/emulation/link_profiles.h */

struct gw__raft_log_config {
    unsigned index; /* index of this controller, below `count` */
    unsigned count;
    /* Needed during `open` only: */
    const char *const *addresses; /* [index]: "127.0.0.1:port"; with a key
                                     also "[::1]:port" */
    const char *directory;        /* created if missing */
    bool accept_loss;             /* of damaged data there */
    struct gw__security security;
    /* Link profiles for messages of the other controllers, received here;
     * `nodes` [index] are their nodes. Not owned; NULL: none. */
    struct gw__link_profiles *profiles;
    const unsigned *nodes;
    unsigned election_ms; /* followers wait for one to two times this */
    unsigned heartbeat_ms;
    void *context;
    /* Called in the log's thread or in `open`, in order. Each entry comes once;
     * after a snapshot only later entries come. */
    void (*on_entry)(void *context, uint64_t index, const void *command,
                     size_t bytes);
    void (*on_snapshot)(void *context, const void *data, size_t bytes);
    void (*on_leader)(void *context, unsigned leader); /* `count`: none */
    /* This controller has voted; may be NULL. */
    void (*on_vote)(void *context, unsigned candidate, uint64_t term);
};

/* Progress of this controller, as of its last turn. */
struct gw__raft_stats {
    uint64_t term, last, committed; /* of Raft's own log */
};

/* Reads the log on disk, or creates it. GW_EDATA: damage (raft_dir.h).
 * GW_EUNREACH: cannot listen. GW_EINVAL: the address needs a key; a bad key. */
GW_MUST_CHECK enum gw_err
gw__raft_log_open(const struct gw__raft_log_config *config,
                  struct gw__raft_log **log, struct gw_error *why);
/* Starts the thread; may be called once. */
GW_MUST_CHECK enum gw_err gw__raft_log_run(struct gw__raft_log *log,
                                           struct gw_error *why);
/* Ends the thread after pending writes. There are no callbacks any more, and
 * proposals are refused (GW_ECLOSED). */
void gw__raft_log_stop(struct gw__raft_log *log);
/* Stops and frees it; NULL allowed. */
void gw__raft_log_close(struct gw__raft_log **log);

/* ---- from any thread ---- */

/* Queues a command to be appended; it is lost if this controller does not lead
 * then. GW_ENOMEM: the queue is full. */
enum gw_err gw__raft_log_propose(struct gw__raft_log *log, const void *command,
                                 size_t bytes);
void gw__raft_log_stats(struct gw__raft_log *log, struct gw__raft_stats *out);
/* Drops messages to controller `index` while `down`. */
void gw__raft_log_cut(struct gw__raft_log *log, unsigned index, bool down);
/* GW_OK while it runs. */
enum gw_err gw__raft_log_error(struct gw__raft_log *log, struct gw_error *why);

#endif
