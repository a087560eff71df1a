/* SPDX-License-Identifier: MIT
 *
 * The event stream. Live runs, recordings and simulations emit the same typed
 * records. The live view, the traces, the labs' checks and the tests read only
 * these. A sink receives records and writes them to a file or keeps them.
 */
#ifndef GRADWIRE_EVENT_H
#define GRADWIRE_EVENT_H

#include <gradwire/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* kind, name in JSON, meaning of `value` */
#define GW_EVENTS(X)                                                           \
    X(GW_EV_OP_BEGIN, "op_begin", "collective")                                \
    X(GW_EV_OP_END, "op_end", "error code, 0 when right")                      \
    X(GW_EV_SEND, "send", "slices in this transfer")                           \
    X(GW_EV_APPLY, "apply", "0 replace, 1 add, 2 token")                       \
    X(GW_EV_WAIT, "wait", "nanoseconds waited so far")                         \
    X(GW_EV_LOST, "lost", "0")                                                 \
    X(GW_EV_STEP, "step", "training step")                                     \
    X(GW_EV_LOSS, "loss", "loss in billionths")                                \
    X(GW_EV_FAILURE, "failure", "enum gw_evidence")                            \
    X(GW_EV_MEMBER, "member", "enum gw_membership: new state")                 \
    X(GW_EV_EPOCH, "epoch", "number of members in the new view")               \
    X(GW_EV_DECISION, "decision", "0 forward, 1 exclude")                      \
    X(GW_EV_RECOVERY, "recovery", "0 the chunk is kept, 1 redone")             \
    X(GW_EV_SLOT, "slot", "enum gw_ps_role: role of the server")               \
    X(GW_EV_CLOCK, "clock", "clocks ahead of the slowest worker")              \
    X(GW_EV_STAGE, "stage", "predicted nanoseconds of a step")                 \
    X(GW_EV_PASS_BEGIN, "pass_begin", "enum gw_pass_kind")                     \
    X(GW_EV_PASS_END, "pass_end", "enum gw_pass_kind")                         \
    X(GW_EV_LEADER, "leader", "term of the new leader")                        \
    X(GW_EV_VOTE, "vote", "term of the controller's vote")                     \
    X(GW_EV_COMMIT, "commit", "entry of the log that the controller applied")  \
    X(GW_EV_LEASE, "lease", "nanoseconds of the lease; 0: expired")            \
    X(GW_EV_ROUTE, "route", "term of the slot under its primary")              \
    X(GW_EV_REQUEST, "request", "0 pull, 1 push, 2 both")                      \
    X(GW_EV_REPLY, "reply", "error code, 0 when complete")

enum gw_event_kind {
#define X(name, json, value) name,
    GW_EVENTS(X)
#undef X
        GW_EVENT_KINDS
};

#define GW_NONE UINT32_MAX /* a field that does not apply */

/* The evidence of FAILURE: why `rank` suspects that `peer` has failed. */
enum gw_evidence {
    GW_BY_EXIT,    /* its process ended */
    GW_BY_RESET,   /* its connection was reset */
    GW_BY_SILENCE, /* no heartbeat */
    GW_BY_STALL    /* it sends heartbeats but makes no progress */
};

/* The state of member `rank` in MEMBER. */
enum gw_membership {
    GW_MEMBER_JOINING,
    GW_MEMBER_ALIVE,
    GW_MEMBER_PARKED, /* cut off from the majority; waits */
    GW_MEMBER_LEFT,   /* left in an orderly way */
    GW_MEMBER_DEAD    /* declared dead */
};

/* An event: 64 bytes. A field that does not apply is GW_NONE. By kind:
 *   SEND, APPLY      a transfer of `chunk`. SEND is emitted when its first
 *                    slice leaves, with the sender as `rank`; APPLY when its
 *                    last slice has been applied, with the receiver as `rank`.
 *                    A copy or reduction inside a rank has no SEND, and itself
 *                    as `peer`. With scratch (plan.h), the value of APPLY is
 *                    action + 4 (source's scratch + 1024 receiver's).
 *   FAILURE          `rank` suspects `peer`.
 *   MEMBER           `rank` is the member. A member that is alive in a ring
 *                    has its rank in `step`. When the order of the ring
 *                    changes, each member is reported so, in the order of
 *                    ranks.
 *   EPOCH            In a ring with algorithms of its own (gw_ring_config),
 *                    `chunk` is the number of chunks of their plan for the
 *                    view, or 0 if they have none for its number of members,
 *                    so that the built-in plan is used.
 *   DECISION         about `op`.
 *   RECOVERY         about `op`, and the copy of `chunk` at `rank`.
 *   REQUEST, REPLY   worker `rank` and server `peer`: message `op` about the
 *                    slots from `chunk` on.
 *   SLOT             server `rank` and slot `chunk`. A primary is reported as
 *                    primary when it begins to serve.
 *   CLOCK            worker `rank`, its clock `step`, and its work item: data
 *                    epoch `epoch`, batch `op`, part `chunk`, granted when the
 *                    worker was `value` clocks ahead of the slowest.
 *   STAGE            emitted once before the first step: `rank` is stage
 *                    `peer` of `step` stages, each with `chunk` model chunks;
 *                    a step has `op` micro-batches.
 *   PASS_BEGIN, _END micro-batch `op`, chunk `chunk` and training step `step`.
 *                    `peer` is the stage that the pass waited for last, or
 *                    GW_NONE; `bytes` of PASS_END are the activations held
 *                    after it.
 *   LEADER to ROUTE  `rank` is the controller's node: 319 is controller 0, 318
 *                    controller 1. `peer` is the candidate of a VOTE, the
 *                    server of a LEASE, and in a ROUTE the primary of slot
 *                    `chunk`, or GW_NONE. A LEASE is emitted when a server
 *                    gains or loses its lease, not at each renewal. Only the
 *                    leader emits LEASE and ROUTE.
 *
 * In a ring whose members change, and with parameter servers, `rank` and `peer`
 * are node numbers: ranks change with the epoch, nodes keep their numbers. */
struct gw_event {
    uint64_t time_ns;
    uint64_t bytes;
    int64_t value;
    uint32_t kind; /* enum gw_event_kind */
    uint32_t rank;
    uint32_t peer;
    uint32_t epoch;
    uint32_t op;
    uint32_t step;
    uint32_t chunk;
    uint32_t reserved[3];
};

/* A sink: the destination of records from one thread. `emit` receives a record,
 * `close` frees the sink. A FILE or descriptor that the sink writes to stays
 * open and belongs to the caller; ferror() reports a failed write. */
struct gw_sink {
    void (*emit)(struct gw_sink *sink, const struct gw_event *event);
    void (*close)(struct gw_sink *sink);
};

/* Returns the name of a kind in JSON: "op_begin". */
GW_API const char *gw_event_name(enum gw_event_kind kind);
/* Writes an event as a sentence: "node 2 is dead", "epoch 3: 4 members". It is
 * cut to `room` bytes with its zero. */
GW_API void gw_event_text(const struct gw_event *event, char *out, size_t room);
/* Returns whether an event is a change of members, views, leaders or of the
 * result of an op: not a step, a chunk or a message. */
GW_API bool gw_event_is_change(const struct gw_event *event);

/* Creates a sink that writes one JSON object per line. It flushes at `close`
 * and after each `flush_every` records; 0: only at `close`. Fields that do not
 * apply are left out. The caller closes each sink with gw_sink_close.
 * GW_ENOMEM: *sink is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_sink_jsonl(FILE *file, unsigned flush_every,
                                               struct gw_sink **sink,
                                               struct gw_error *why);
/* Creates a sink that keeps the last `capacity` records in memory. It allocates
 * nothing in `emit`. GW_EINVAL: capacity is 0. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_ring(size_t capacity, struct gw_sink **sink, struct gw_error *why);
/* Copies the records of gw_sink_ring, oldest first, to out[0..capacity) and
 * returns their number. *dropped (may be NULL) is the number of overwritten
 * records. */
GW_API size_t gw_sink_ring_read(const struct gw_sink *sink,
                                struct gw_event *out, size_t capacity,
                                uint64_t *dropped);
/* Creates a sink that writes Chrome trace events for Perfetto: one process per
 * rank, transfers as async spans, with flow arrows from SEND to APPLY. The JSON
 * document is complete after `close`. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_chrome(FILE *file, struct gw_sink **sink, struct gw_error *why);
/* Creates a sink that counts events and bytes by kind, rank and peer. It writes
 * the counts as Prometheus text at `close`. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_prometheus(FILE *file, struct gw_sink **sink, struct gw_error *why);
/* Creates a sink that writes raw records of 64 bytes to a file descriptor, such
 * as a pipe to the supervisor. A full pipe makes `emit` wait. When the reader
 * has closed the pipe, records are dropped; the process should ignore
 * SIGPIPE. */
GW_API GW_MUST_CHECK enum gw_err gw_sink_fd(int fd, struct gw_sink **sink,
                                            struct gw_error *why);
/* Creates a sink that passes each record to all of `sinks` and closes them at
 * `close`. On failure they still belong to the caller. */
GW_API GW_MUST_CHECK enum gw_err gw_sink_tee(struct gw_sink *const *sinks,
                                             size_t count,
                                             struct gw_sink **sink,
                                             struct gw_error *why);
/* Passes a record to a sink. NULL does nothing. */
GW_API void gw_emit(struct gw_sink *sink, const struct gw_event *event);
/* Closes and frees a sink, and sets the pointer to NULL. */
GW_API void gw_sink_close(struct gw_sink **sink);

/* Reads one line that gw_sink_jsonl has written. Unknown fields are ignored.
 * GW_EDATA: the line is not a JSON object, has no known `kind`, or has a field
 * of the wrong type or range; *event is unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_event_parse(const char *line, struct gw_event *event, struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
