/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the log; see raft_log.h. Everything without a lock
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

/* How the sending of a message has ended: its sender is told later. */
struct gw__raft_sent {
    struct raft_io_send *request;
    raft_io_send_cb done;
    int status;
    struct gw__raft_sent *next;
};

enum { GW__RAFT_WISHES_BYTES = 4 << 20, GW__RAFT_PATH_MAX = 128 };

/* Commands that wait for their turn: length (8 bytes), then the bytes. */
struct gw__raft_wishes {
    uint8_t *bytes;
    size_t used;
};

/* Messages that are here and not yet due (raft_log_held.c), in the order in
 * which they came. */
struct gw__raft_held;
struct gw__raft_holding {
    uv_timer_t alarm;
    uint64_t changes; /* of the rules, when they were asked last */
    struct gw__due links[GW__CONTROL_CHANNEL_NODES]; /* by index */
    struct gw__raft_held *first, **end;
    unsigned count;
    size_t bytes;
};

/* A write of entries, from its beginning until it is told. */
struct gw__raft_append {
    struct raft_io_append request;
    struct gw__raft_log *log;
    raft_term term;
    uint64_t number, since_ns;
    uint64_t overtaken_ns; /* a follower has stored them; 0: none */
    const struct raft_entry *entries;
    unsigned count;
    raft_index first;      /* of the entries */
    raft_index taken_back; /* those from there on, meanwhile */
    struct raft_io_append *outer;
    raft_io_append_cb done;
    struct gw__raft_append *next; /* of those under way, or cancelled */
};

struct gw__raft_log {
    struct gw__raft_log_config config;
    uv_loop_t loop;
    uv_async_t bell;      /* something was proposed, or the end has come */
    uv_work_t first_work; /* starts libuv's threads */
    uv_prepare_t prepare; /* once a turn of the loop */
    uv_timer_t patience;  /* while closing */
    uv_poll_t ear;        /* of `mesh` */
    bool has_loop, has_tcp, has_ear, has_uv, has_raft;

    /* With a key (raft_log_channel.c), else NULL. */
    struct gw__control_channel *mesh;
    uint8_t *frame; /* what is being sent */

    char path[GW__RAFT_PATH_MAX]; /* of the directory, to be told */
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
    struct gw__raft_append *writing, **writing_end; /* the first one first */
    uint64_t slow_since_ns;        /* 0: the disk is quick enough */
    struct raft_transfer handover; /* of the lead, while: */
    bool handing_over;
    struct gw__raft_append *cancelled; /* not yet told; the last first */
    raft_term in_term;                 /* as it was written */
    uint64_t appends;                  /* begun so far */
    struct gw_rng rng;
    struct gw__raft_sent *sent, **sent_end;
    _Atomic uint64_t cut; /* indices as bits */

    unsigned under_way;   /* writes that the back end has not ended yet */
    bool ends;            /* the end of one is being told to libraft */
    raft_term ended_term; /* in which it began, or 0: that does not matter */
    unsigned installs;    /* of those under way: snapshots of the leader */
    unsigned looks;
    unsigned quiet;       /* looks in a row at which there was none */
    bool broken;          /* a write has failed: nothing is begun any more */
    bool ending, closing; /* waits for them; raft_close was called */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of these: */
    bool stop;
    struct gw__raft_wishes filling;
    struct gw_error error;
    struct gw__raft_figures figures;
    struct gw__raft_wishes working; /* the loop's own */
};

/* The first failure counts. */
GW_PRINTF(3, 4)
void gw__raft_log_fail(struct gw__raft_log *log, enum gw_err code,
                       const char *format, ...);

/* What libraft's status means: its raft_strerror() does not know them all. */
const char *gw__raft_log_text(int status);

/* What the loop hears and does of its own; libuv's error. */
int gw__raft_log_init_handles(struct gw__raft_log *log);

/* A length, the bytes, zeros up to a multiple of 8; 0 or RAFT_NOMEM. */
GW_MUST_CHECK int gw__raft_pack(const void *data, size_t bytes,
                                struct raft_buffer *out);
/* The bytes in it; none when it is broken. */
const void *gw__raft_unpack(const struct raft_buffer *in, size_t *bytes);

void gw__raft_fsm_init(struct gw__raft_log *log);

/* ---- raft_log_io.c ---- */

/* Puts us between libraft and its back end. */
void gw__raft_io_init(struct gw__raft_log *log);
/* libraft and its back end keep `data` and `impl`; the struct is ours. */
struct gw__raft_log *gw__raft_log_of(struct raft_io *io);
/* At the next turn: 0, or libraft's error. RAFT_NOMEM: never. */
GW_MUST_CHECK int gw__raft_io_tell_later(struct gw__raft_log *log,
                                         struct raft_io_send *request,
                                         raft_io_send_cb done, int status);
void gw__raft_io_turn(struct gw__raft_log *log);
/* Both take what `message` refers to: at once or when it is due, and at once.
 */
void gw__raft_io_receive(struct raft_io *io, struct raft_message *message);
void gw__raft_io_hand_over(struct gw__raft_log *log,
                           struct raft_message *message);

/* A write has failed: nothing is begun any more. */
void gw__raft_io_break(struct gw__raft_log *log, const char *what,
                       const char *text);

/* ---- raft_log_note.c: to be noted before it is told; false: it cannot ---- */

/* Puts us between libraft and its back end: for votes, and what is taken back.
 */
void gw__raft_note_init(struct gw__raft_log *log);
bool gw__raft_note_entries(const struct gw__raft_append *written);
bool gw__raft_note_snapshot(struct gw__raft_log *log,
                            const struct gw__raft_ack_slot *snapshot);
/* All entries are about to be replaced by a snapshot. */
bool gw__raft_note_replaced(struct gw__raft_log *log);
uint32_t gw__raft_note_crc(const struct raft_buffer buffers[], unsigned count);

/* ---- raft_log_slow.c ---- */

/* What another one has stored. */
void gw__raft_slow_hear(struct gw__raft_log *log,
                        const struct raft_message *message);
/* At each tick: true while the disk does not finish a write. */
bool gw__raft_slow_turn(struct gw__raft_log *log);

/* ---- raft_log_held.c ---- */

/* libuv's error. */
GW_MUST_CHECK int gw__raft_held_init(struct gw__raft_log *log);
/* After the loop. */
void gw__raft_held_fini(struct gw__raft_log *log);
/* False: it is due, after all that came before it. */
GW_MUST_CHECK bool gw__raft_held_take(struct gw__raft_log *log,
                                      struct raft_message *message);

/* ---- raft_log_channel.c ---- */

/* GW_EINVAL: not a place where this one should listen, with a key or without.
 */
GW_MUST_CHECK enum gw_err
gw__raft_channel_check(const struct gw__raft_log_config *config,
                       struct gw_error *why);
/* The mesh, and a transport for the back end. */
GW_MUST_CHECK enum gw_err gw__raft_channel_open(struct gw__raft_log *log,
                                                struct gw_error *why);
/* After the loop. */
void gw__raft_channel_close(struct gw__raft_log *log);
/* As raft_io's send. */
int gw__raft_channel_send(struct raft_io *io, struct raft_io_send *request,
                          const struct raft_message *message,
                          raft_io_send_cb done);
/* Receives what is there. */
void gw__raft_channel_turn(struct gw__raft_log *log);

#endif
