/* SPDX-License-Identifier: MIT
 *
 * The worker's side of the data path, as a machine without clock, socket or
 * thread: it cuts a push or pull into slots, gathers what goes to one server,
 * sends, sends again, follows the routes, and puts the answers together. The
 * library (client.c) drives it over the post; tests/sim drives the same object
 * code.
 *
 * A request is done when all its slots are. A slot that was refused, or whose
 * server does not answer in time, is sent again, to whoever is its primary by
 * the newest routes; a push always under the same sequence number, so that it
 * counts once. At most GW__PUSHES_MAX pushes are under way, since a slot
 * remembers 64 numbers above the floor.
 *
 * Key lists. The cut of a key list (which place goes to which server and slot)
 * is kept under the list's signature, as long as the routes stay; a server that
 * has the list gets the signature alone.
 *
 * Values are gathered in the order of the slots into memory that peers can map,
 * and lent. Where the rows of a piece lie one behind the other in the caller's
 * memory anyway, nothing is gathered: a dense table, or rows so wide
 * (GW__LONE_ROW_BYTES) that each run of them is a piece of its own.
 *
 *   worker.c         requests: begun, queued, ended; sequence numbers
 *   worker_ask.c     those that push and pull nothing
 *   worker_cut.c     key lists to pieces; worker_cache.c keeps them
 *   worker_attempt.c  which letter of a piece goes to whom, and when again
 *   worker_message.c  a letter of it
 *   worker_reply.c   what comes back
 *   worker_rows.c    rows from one order into another; worker_pool.c memory
 *   worker_look.c    whom it waits for
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
    bool no_coalesce;   /* each slot of an access has a letter of its own */
    uint64_t resend_ns; /* 0: 100 ms, doubling up to 1 s */
    size_t piece_bytes; /* values of larger messages are cut; 0: 2 MB */
    void *context;
    /* Must call `back` itself, at once, when it cannot send what is lent. May
     * not call the worker. */
    void (*send)(void *context, const struct gw__message_out *letter);
};

struct gw__worker;

GW_MUST_CHECK enum gw_err gw__worker_new(const struct gw__worker_config *config,
                                         struct gw__worker **worker,
                                         struct gw_error *why);
/* Requests under way are forgotten. Everything that was lent is back before:
 * the post is closed first. */
void gw__worker_destroy(struct gw__worker **worker);

/* What the controllers, or a refusal, say. Older routes are ignored. */
void gw__worker_routes(struct gw__worker *worker, uint64_t now_ns,
                       const struct gw__routes *routes);
const struct gw__routes *gw__worker_get_routes(const struct gw__worker *worker);
/* These nodes, as bits, can be reached now: what waits for an answer of theirs
 * is sent again at once, for it may have been lost. */
void gw__worker_reached(struct gw__worker *worker, uint64_t now_ns,
                        uint64_t nodes);

/* One of these is a request; keys, values and out belong to it until it has
 * ended. `values` NULL: a pull only; `out` NULL: a push only. */
struct gw__access {
    unsigned table;
    const uint64_t *keys;
    size_t count;
    const float *values;
    float *out;
    bool lend;       /* values may be read where they lie until the end */
    uint64_t clock;  /* of the unit; GW__NO_CLOCK */
    uint64_t closed; /* what pulls must see */
};
/* GW_PENDING: too many are under way; GW_EINVAL: no such table or key;
 * GW_ENUMERIC: a value is not finite (or, with `half`, too large), which the
 * servers are told by `nans` of later requests. Nothing is sent then. */
GW_MUST_CHECK enum gw_err gw__worker_access(struct gw__worker *worker,
                                            uint64_t now_ns,
                                            const struct gw__access *access,
                                            uint64_t *request,
                                            struct gw_error *why);
/* A clock command to the group's clock; *work is written at the end of NEXT. */
GW_MUST_CHECK enum gw_err
gw__worker_clock(struct gw__worker *worker, uint64_t now_ns, unsigned group,
                 const struct gw__clock_command *command,
                 struct gw_ps_work *work, uint64_t *request,
                 struct gw_error *why);
/* SAVE to one server (message.h); *said is what it answered, GW_PENDING or
 * GW_OK. Anything else is the request's failure. It goes to that server and
 * nowhere else, until it answers or the request is detached. */
GW_MUST_CHECK enum gw_err gw__worker_save(struct gw__worker *worker,
                                          uint64_t now_ns, unsigned server,
                                          uint64_t mark, const char *directory,
                                          enum gw_err *said, uint64_t *request,
                                          struct gw_error *why);
/* GW_PENDING while it is under way; else how it ended, and it is forgotten. */
enum gw_err gw__worker_result(struct gw__worker *worker, uint64_t request,
                              struct gw_error *why);
/* The caller wants its memory back and waits no longer: what was begun of a
 * push goes on with copies (it must end, lest its number stay open), all else
 * is dropped. No result; GW_ENOMEM: it stays as it is. */
GW_MUST_CHECK enum gw_err gw__worker_detach(struct gw__worker *worker,
                                            uint64_t request);
/* Requests with values that are not acknowledged yet. */
unsigned gw__worker_pushes(const struct gw__worker *worker);

/* Takes over the caller's hold. */
void gw__worker_message_in(struct gw__worker *worker, uint64_t now_ns,
                           struct gw__message_in *parcel);
void gw__worker_tick(struct gw__worker *worker, uint64_t now_ns);
uint64_t gw__worker_due(const struct gw__worker *worker); /* UINT64_MAX */
/* Whom the oldest request waits for: "server 33 (slots 0-20) for 1.2 s". */
void gw__worker_waits_for(const struct gw__worker *worker, uint64_t now_ns,
                          char *out, size_t room);
void gw__worker_counts(const struct gw__worker *worker,
                       struct gw_ps_counts *counts);

#endif
