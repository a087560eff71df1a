/* SPDX-License-Identifier: MIT
 *
 * The worker's side of the data path, as a state machine without clock, socket
 * or thread. It partitions each push or pull by slots, gathers the values for
 * each server, sends and resends messages, follows the routes, and assembles
 * the replies. The library (client.c) runs it on the messenger; tests/sim runs
 * the same object code.
 *
 * A request is done when all its slots are. A slot that was refused, or whose
 * server does not answer in time, is sent again to its primary by the newest
 * routes. A push always keeps its sequence number, so that it counts once. At
 * most GW__PUSHES_MAX pushes are under way, since a slot remembers 64 numbers
 * above the low watermark.
 *
 * Key lists. The partitioning of a key list (server and slot of each key) is
 * cached by the list's signature until the routes change. A server that knows
 * the list receives only the signature.
 *
 * Values are gathered, in the order of the slots, into memory that peers can
 * map, and lent. A partition whose rows are already contiguous in the caller's
 * memory is not copied: this holds for dense tables, and for rows so wide
 * (GW__LONE_ROW_BYTES) that each run of them is a partition of its own.
 *
 *   worker.c          requests from begin to end; sequence numbers
 *   worker_command.c  requests without values: clock commands and SAVE
 *   worker_partition.c partitioning of key lists; worker_cache.c: its cache
 *   worker_attempt.c  receivers and repetitions of a partition's messages
 *   worker_message.c  one message of an attempt
 *   worker_reply.c    replies
 *   worker_rows.c     copies rows between orders; worker_slab.c: memory
 *   worker_status.c   what the worker waits for, and its counts
 */
#ifndef GW__PS_WORKER_H
#define GW__PS_WORKER_H

#include "ps/clock/clock.h"
#include "ps/messages/message.h"

#include <cluster/routes/route.h>

enum {
    GW__PUSHES_MAX = 64,
    GW__REQUESTS_MAX = 256,
    GW__LONE_ROW_BYTES = 65536
};

struct gw__worker_config {
    unsigned node;
    struct gw__id incarnation;
    bool no_key_cache, half;
    bool no_coalesce;   /* one message per slot */
    uint64_t resend_ns; /* 0: 100 ms, doubling up to 1 s */
    size_t range_bytes; /* larger values are partitioned; 0: 2 MB */
    void *context;
    /* If lent data cannot be sent, `send` must call `back` itself, at once. It
     * must not call the worker. */
    void (*send)(void *context, const struct gw__message_out *message);
};

struct gw__worker;

GW_MUST_CHECK enum gw_err gw__worker_new(const struct gw__worker_config *config,
                                         struct gw__worker **worker,
                                         struct gw_error *why);
/* Drops all requests under way. All lent memory must be back: close the
 * messenger first. */
void gw__worker_destroy(struct gw__worker **worker);

/* New routes, from the controllers or a refusal. Older routes are ignored. */
void gw__worker_routes(struct gw__worker *worker, uint64_t now_ns,
                       const struct gw__routes *routes);
const struct gw__routes *gw__worker_get_routes(const struct gw__worker *worker);
/* These nodes have become reachable. Requests that wait for them are
 * sent again at once, since an earlier message may have been lost. */
void gw__worker_reached(struct gw__worker *worker, uint64_t now_ns,
                        const struct gw_nodes *nodes);

/* A request. keys, values and out belong to the request until it has ended.
 * `values` NULL: a pull only; `out` NULL: a push only. */
struct gw__request_args {
    unsigned table;
    const uint64_t *keys;
    size_t count;
    const float *values;
    float *out;
    bool lend;       /* values may be read in place until the end */
    uint64_t clock;  /* of the item; GW__NO_CLOCK */
    uint64_t closed; /* pulls must see round commits through this one */
};
/* GW_PENDING: too many requests are under way. GW_EINVAL: unknown table or key.
 * GW_ENUMERIC: a value is not finite (or, with `half`, too large); nothing is
 * sent, and later requests report the count in `nans`. */
GW_MUST_CHECK enum gw_err
gw__worker_push_pull(struct gw__worker *worker, uint64_t now_ns,
                     const struct gw__request_args *args, uint64_t *request,
                     struct gw_error *why);
/* Sends a command to the group's clock; *work is written at the end of NEXT. */
GW_MUST_CHECK enum gw_err
gw__worker_clock(struct gw__worker *worker, uint64_t now_ns, unsigned group,
                 const struct gw__clock_command *command,
                 struct gw_ps_work *work, uint64_t *request,
                 struct gw_error *why);
/* Sends SAVE (message.h) to one server, until it answers or the request is
 * detached. The answer is GW_PENDING or GW_OK; any other code is the request's
 * result. SAVE never goes to another server. */
GW_MUST_CHECK enum gw_err
gw__worker_save(struct gw__worker *worker, uint64_t now_ns, unsigned server,
                uint64_t mark, const char *directory, enum gw_err *answer,
                uint64_t *request, struct gw_error *why);
/* GW_PENDING while the request is under way; otherwise its result, and the
 * request is freed. */
enum gw_err gw__worker_result(struct gw__worker *worker, uint64_t request,
                              struct gw_error *why);
/* Returns the caller's memory without waiting. A push that has begun continues
 * with copies, since its sequence number must end; all else is dropped. The
 * request has no result. GW_ENOMEM: nothing has changed. */
GW_MUST_CHECK enum gw_err gw__worker_detach(struct gw__worker *worker,
                                            uint64_t request);
/* The number of requests with unacknowledged values. */
unsigned gw__worker_pushes(const struct gw__worker *worker);

/* Takes over the caller's reference. */
void gw__worker_message_in(struct gw__worker *worker, uint64_t now_ns,
                           struct gw__message_in *message);
void gw__worker_tick(struct gw__worker *worker, uint64_t now_ns);
/* UINT64_MAX: never */
uint64_t gw__worker_due(const struct gw__worker *worker);
/* The servers that the oldest request waits for, as text: "server 33 (slots
 * 0-20) for 1.2 s". */
void gw__worker_describe_wait(const struct gw__worker *worker, uint64_t now_ns,
                              char *out, size_t room);
void gw__worker_counts(const struct gw__worker *worker,
                       struct gw_ps_counts *counts);

#endif
