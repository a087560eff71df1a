/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the log; see raft_log.h. Everything without a lock
 * belongs to the thread that runs the loop.
 */
#ifndef GW__CLUSTER_RAFT_LOG_PARTS_H
#define GW__CLUSTER_RAFT_LOG_PARTS_H

#include "cluster/registry/registry.h"
#include "raft_ack.h"
#include "raft_log.h"

#include <wire/control_channel/control_channel.h>

#include <pthread.h>
#include <raft.h>
#include <raft/uv.h>
#include <stdatomic.h>

/* The result of sending a message, reported to its sender later. */
struct gw__raft_sent {
    struct raft_io_send *request;
    raft_io_send_cb done;
    int status;
    struct gw__raft_sent *next;
};

enum { GW__RAFT_WISHES_BYTES = 4 << 20, GW__RAFT_PATH_MAX = 128 };

/* Queued commands: length (8 bytes), then the bytes. */
struct gw__raft_wishes {
    uint8_t *bytes;
    size_t used;
};

/* Received messages that are not yet due (raft_log_held.c), in the order of
 * their arrival. */
struct gw__raft_held;
struct gw__raft_holding {
    uv_timer_t alarm;
    uint64_t changes; /* of the profiles, at the last check */
    struct gw__due links[GW__CONTROL_CHANNEL_NODES]; /* by index */
    struct gw__raft_held *first, **end;
    unsigned count;
    size_t bytes;
};

/* A write of entries, from its start until its result is reported. */
struct gw__raft_append {
    struct raft_io_append request;
    struct gw__raft_log *log;
    raft_term term;
    uint64_t number, since_ns;
    uint64_t overtaken_ns; /* time when a follower had stored them; 0: not
                              yet */
    const struct raft_entry *entries;
    unsigned count;
    raft_index first; /* of the entries */
    raft_index
        truncated_from; /* entries from here on were truncated meanwhile */
    struct raft_io_append *outer;
    raft_io_append_cb done;
    struct gw__raft_append *next; /* in the list of pending or cancelled
                                     writes */
};

struct gw__raft_log {
    struct gw__raft_log_config config;
    uv_loop_t loop;
    uv_async_t bell;      /* a command was queued, or the log must stop */
    uv_work_t first_work; /* starts libuv's threads */
    uv_prepare_t prepare; /* once per turn of the loop */
    uv_timer_t patience;  /* while closing */
    uv_poll_t poll;       /* of `channel` */
    bool has_loop, has_tcp, has_poll, has_uv, has_raft;

    /* With a key (raft_log_channel.c), else NULL. */
    struct gw__control_channel *channel;
    uint8_t *frame; /* the frame being sent */

    char path[GW__RAFT_PATH_MAX]; /* the directory, for messages */
    char addresses[GW__CONTROL_CHANNEL_NODES][GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    struct gw__raft_holding held;

    struct raft_uv_transport transport;
    struct raft_io io;
    struct raft_fsm fsm;
    struct raft raft;
    struct gw__registry *replica;
    struct gw__raft_ack *ack;
    unsigned leader; /* an index, or config.count */

    /* The back end's own calls (raft_log_io.c). */
    struct raft_io back;
    raft_io_tick_cb tick;
    raft_io_recv_cb receive;
    raft_io_close_cb closed;
    struct gw__raft_append *writing, **writing_end; /* oldest first */
    uint64_t slow_since_ns;        /* 0: the disk is fast enough */
    struct raft_transfer handover; /* of the leadership, while: */
    bool handing_over;
    struct gw__raft_append *cancelled; /* not yet reported; the last first */
    raft_term in_term;                 /* as written */
    uint64_t appends;                  /* number so far */
    struct gw_rng rng;
    struct gw__raft_sent *sent, **sent_end;
    _Atomic uint64_t cut; /* indices as bits */

    unsigned pending_writes; /* writes without a result from the back end */
    bool ends;               /* a result is being reported to libraft */
    raft_term ended_term;    /* in which it began, or 0: irrelevant */
    unsigned installs;       /* pending snapshots from the leader */
    unsigned checks;
    unsigned quiet; /* consecutive checks without a pending write */
    bool broken;    /* a write has failed: nothing new begins */
    bool ending,
        shutting_down; /* waits for pending writes; raft_close was called */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the following: */
    bool stop;
    struct gw__raft_wishes filling;
    struct gw_error error;
    struct gw__raft_stats stats;
    struct gw__raft_wishes working; /* used by the loop only */
};

/* Records a failure; the first one counts. */
GW_PRINTF(3, 4)
void gw__raft_log_fail(struct gw__raft_log *log, enum gw_err code,
                       const char *format, ...);

/* The text of libraft's status: raft_strerror() does not know all of them. */
const char *gw__raft_log_text(int status);

/* Initialises the loop's own handles; returns libuv's error. */
int gw__raft_log_init_handles(struct gw__raft_log *log);

/* A length, the bytes, zeros up to a multiple of 8; 0 or RAFT_NOMEM. */
GW_MUST_CHECK int gw__raft_pack(const void *data, size_t bytes,
                                struct raft_buffer *out);

void gw__raft_fsm_init(struct gw__raft_log *log);

/* ---- raft_log_io.c ---- */

/* Inserts this layer between libraft and its back end. */
void gw__raft_io_init(struct gw__raft_log *log);
/* libraft and its back end use `data` and `impl`, so the log is found by the
 * struct's address. */
struct gw__raft_log *gw__raft_log_of(struct raft_io *io);
/* Reports the result at the next turn. Returns 0 or libraft's error; after
 * RAFT_NOMEM it is never reported. */
GW_MUST_CHECK int gw__raft_io_report_later(struct gw__raft_log *log,
                                           struct raft_io_send *request,
                                           raft_io_send_cb done, int status);
void gw__raft_io_turn(struct gw__raft_log *log);
/* Both take ownership of the memory of `message`. The first passes it on at
 * once or when it is due, the second at once. */
void gw__raft_io_receive(struct raft_io *io, struct raft_message *message);
void gw__raft_io_hand_over(struct gw__raft_log *log,
                           struct raft_message *message);

/* A write has failed: nothing new begins. */
void gw__raft_io_break(struct gw__raft_log *log, const char *what,
                       const char *text);

/* ---- raft_log_record.c: records acknowledgements; false: not possible ---- */

/* Inserts this layer between libraft and its back end: for votes and
 * truncation. */
void gw__raft_record_init(struct gw__raft_log *log);
bool gw__raft_record_entries(const struct gw__raft_append *written);
bool gw__raft_record_snapshot(struct gw__raft_log *log,
                              const struct gw__raft_ack_slot *snapshot);
/* Called before a snapshot replaces all entries. */
bool gw__raft_record_replaced(struct gw__raft_log *log);
uint32_t gw__raft_buffers_crc(const struct raft_buffer buffers[],
                              unsigned count);

/* ---- raft_log_slow.c ---- */

/* Reads the peer's stored entries from a message. */
void gw__raft_slow_record(struct gw__raft_log *log,
                          const struct raft_message *message);
/* At each tick: true while the disk does not finish a write. */
bool gw__raft_slow_turn(struct gw__raft_log *log);

/* ---- raft_log_held.c ---- */

/* Returns libuv's error. */
GW_MUST_CHECK int gw__raft_held_init(struct gw__raft_log *log);
/* Called after the loop has ended. */
void gw__raft_held_fini(struct gw__raft_log *log);
/* False: the message is due, and all messages before it have been passed on. */
GW_MUST_CHECK bool gw__raft_held_add(struct gw__raft_log *log,
                                     struct raft_message *message);

/* ---- raft_log_channel.c ---- */

/* GW_EINVAL: this controller must not listen at its address, with or without a
 * key. */
GW_MUST_CHECK enum gw_err
gw__raft_channel_check(const struct gw__raft_log_config *config,
                       struct gw_error *why);
/* A transport for the back end that neither listens nor connects. */
void gw__raft_channel_none(struct gw__raft_log *log);
/* Opens the control channel, and sets that transport. */
GW_MUST_CHECK enum gw_err gw__raft_channel_open(struct gw__raft_log *log,
                                                struct gw_error *why);
/* Called after the loop has ended. */
void gw__raft_channel_close(struct gw__raft_log *log);
/* As raft_io's send. */
int gw__raft_channel_send(struct raft_io *io, struct raft_io_send *request,
                          const struct raft_message *message,
                          raft_io_send_cb done);
/* Receives the messages that have arrived. */
void gw__raft_channel_turn(struct gw__raft_log *log);

#endif
