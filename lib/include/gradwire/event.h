/* SPDX-License-Identifier: MIT
 *
 * The one event stream. Live runs, recordings and simulations
 * emit the same typed records; the live view, the traces, the labs' checks and
 * the tests read nothing else. A sink is where the records go.
 */
#ifndef GRADWIRE_EVENT_H
#define GRADWIRE_EVENT_H

#include <gradwire/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* kind, name in JSON, what `value` means */
#define GW_EVENTS(X)                                                           \
    X(GW_EV_OP_BEGIN, "op_begin", "collective")                                \
    X(GW_EV_OP_END, "op_end", "error code, 0 when right")                      \
    X(GW_EV_SEND, "send", "slices in this transfer")                           \
    X(GW_EV_APPLY, "apply", "0 replace, 1 add, 2 token")                       \
    X(GW_EV_WAIT, "wait", "nanoseconds waited so far")                         \
    X(GW_EV_LOST, "lost", "0")                                                 \
    X(GW_EV_STEP, "step", "training step")                                     \
    X(GW_EV_LOSS, "loss", "loss in billionths")                                \
    X(GW_EV_FAILURE, "failure", "enum gw_evidence: how it was noticed")        \
    X(GW_EV_MEMBER, "member", "enum gw_membership: what the rank is now")      \
    X(GW_EV_EPOCH, "epoch", "members of the new view")                         \
    X(GW_EV_DECISION, "decision", "0 forward, 1 exclude")                      \
    X(GW_EV_RECOVERY, "recovery", "0 the work on the chunk is kept, 1 redone") \
    X(GW_EV_SLOT, "slot", "enum gw_ps_role: what the server is to the slot")   \
    X(GW_EV_CLOCK, "clock", "staleness of the worker's unit")                  \
    X(GW_EV_STAGE, "stage", "nanoseconds that a step is predicted to take")    \
    X(GW_EV_PASS_BEGIN, "pass_begin", "enum gw_pass_kind")                     \
    X(GW_EV_PASS_END, "pass_end", "enum gw_pass_kind")                         \
    X(GW_EV_LEADER, "leader", "term in which the controller leads")            \
    X(GW_EV_VOTE, "vote", "term of the controller's vote")                     \
    X(GW_EV_COMMIT, "commit", "entry of the log that the controller applied")  \
    X(GW_EV_LEASE, "lease", "nanoseconds of a server's lease; 0: it ran out")  \
    X(GW_EV_ROUTE, "route", "term of the slot under its primary")              \
    X(GW_EV_REQUEST, "request", "0 pull, 1 push, 2 both")                      \
    X(GW_EV_REPLY, "reply", "error code, 0 when all of it is done")

enum gw_event_kind {
#define X(name, json, value) name,
    GW_EVENTS(X)
#undef X
        GW_EVENT_KINDS
};

#define GW_NONE UINT32_MAX /* a field that does not apply */

/* Of FAILURE: `rank` noticed that `peer` is gone, or seems so. */
enum gw_evidence {
    GW_BY_EXIT,    /* the process ended */
    GW_BY_RESET,   /* its connection was reset */
    GW_BY_SILENCE, /* no heartbeat */
    GW_BY_STALL    /* it beats, but does not advance */
};

/* Of MEMBER: `rank` is the one it is about. */
enum gw_membership {
    GW_MEMBER_JOINING,
    GW_MEMBER_ALIVE,
    GW_MEMBER_PARKED, /* cut off from the majority; waits */
    GW_MEMBER_LEFT,   /* went politely */
    GW_MEMBER_DEAD    /* convicted */
};

/* 64 bytes. SEND is emitted when the first slice of a transfer leaves, APPLY
 * when the last slice of a transfer into a chunk has been applied. In a ring
 * whose members change, `rank` and `peer` are nodes: ranks are dealt anew in
 * each epoch, nodes keep their numbers. DECISION and RECOVERY speak of `op`;
 * RECOVERY of the copy of `chunk` at `rank`. REQUEST and REPLY are worker
 * `rank`'s, of message `op` to server `peer` about slot `chunk` and those behind
 * it. MEMBER of one that is alive in a
 * ring has its rank in `step`; when the order changes each member is reported so,
 * rank after rank. With parameter servers `rank` and
 * `peer` are nodes, too. SLOT speaks of server `rank` and slot `chunk`; a
 * primary is told as such from when it serves on. CLOCK speaks of worker
 * `rank`, whose clock is `step`, and of the unit in its hands: data epoch
 * `epoch`, batch `op`, part `chunk`, granted when it was `value` clocks ahead
 * of the slowest. In a pipeline STAGE says, once before its first step, that
 * `rank` is stage `peer` of `step` stages, each with `chunk` pieces, and that a
 * step has `op` micro-batches; PASS_BEGIN and PASS_END speak of micro-batch
 * `op` and piece `chunk` in training step `step` (`peer`: the stage that it
 * waited for last, or GW_NONE; `bytes` of END: activations held after it).
 *   The controllers' events have the controller's node as `rank`: 63 is
 * controller 0, 62 controller 1. `peer` is the candidate of a VOTE, the server
 * of a LEASE, and of a ROUTE the primary of slot `chunk`, GW_NONE if it has
 * none. A LEASE is reported when a server has one that had none, or has none any
 * longer, not at each renewal; LEASE and ROUTE by the leader alone. */
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

/* A sink takes records from one thread. `close` releases the sink; a FILE or a
 * descriptor that it writes to stays its caller's, and a failed write shows in
 * ferror() there. */
struct gw_sink {
    void (*emit)(struct gw_sink *sink, const struct gw_event *event);
    void (*close)(struct gw_sink *sink);
};

GW_API const char *gw_event_name(enum gw_event_kind kind);

/* One JSON object a line, flushed at `close` and each `flush_every` records. */
GW_API GW_MUST_CHECK enum gw_err gw_sink_jsonl(FILE *file, unsigned flush_every,
                                               struct gw_sink **sink,
                                               struct gw_error *why);
/* Keeps the last `capacity` records in memory; allocates nothing on emit. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_ring(size_t capacity, struct gw_sink **sink, struct gw_error *why);
/* Copies the kept records, oldest first, to out[0..capacity); returns how many.
 * *dropped (may be NULL) counts those that were overwritten. */
GW_API size_t gw_sink_ring_read(const struct gw_sink *sink,
                                struct gw_event *out, size_t capacity,
                                uint64_t *dropped);
/* Chrome trace events for Perfetto: pid = rank, transfers as async spans with
 * flow arrows from send to apply; a valid JSON document after `close`. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_chrome(FILE *file, struct gw_sink **sink, struct gw_error *why);
/* Counts by kind, rank and peer; written as Prometheus text at `close`. */
GW_API GW_MUST_CHECK enum gw_err
gw_sink_prometheus(FILE *file, struct gw_sink **sink, struct gw_error *why);
/* Raw 64-byte records to a file descriptor (a pipe to the supervisor). */
GW_API GW_MUST_CHECK enum gw_err gw_sink_fd(int fd, struct gw_sink **sink,
                                            struct gw_error *why);
/* Sends each record to every one of `sinks`; closes them all at `close`. */
GW_API GW_MUST_CHECK enum gw_err gw_sink_tee(struct gw_sink *const *sinks,
                                             size_t count,
                                             struct gw_sink **sink,
                                             struct gw_error *why);
/* Emits to NULL are no-ops. */
GW_API void gw_emit(struct gw_sink *sink, const struct gw_event *event);
GW_API void gw_sink_close(struct gw_sink **sink);

/* Reads one line written by gw_sink_jsonl back. */
GW_API GW_MUST_CHECK enum gw_err
gw_event_parse(const char *line, struct gw_event *event, struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
