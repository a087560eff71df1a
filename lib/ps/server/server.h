/* SPDX-License-Identifier: MIT
 *
 * The server of the parameter server, as a machine without clock, socket or
 * thread: it is given parcels, news and the time, and answers with letters. The
 * runtime (process.c) drives it over the post; tests/sim drives the same object
 * code over a hostile network.
 *
 * Every slot that it has is a replicated state machine with a log:
 *
 *     a primary appends a push, a closing or a clock command to the slot's log,
 *     sends it to the slot's replicas, and when all in sync have it, it is
 *     committed: applied, in the order of the log, and answered. A replica
 *     applies what it knows to be committed.
 *
 *   - So a committed entry is in the log of every replica in sync: whoever of
 *     them becomes primary has it. The new primary restamps what it has beyond
 *     its commit with its term and sends it; the others replace what they have
 *     beyond theirs.
 *   - The term fences: entries of an older one are refused, and so a primary
 *     that was replaced while it slept can commit nothing. It serves pulls only
 *     under a lease.
 *   - Exactly once: per slot and worker incarnation, the sequence numbers
 *     applied: all up to a floor, and 64 bits above. They are part of the
 *     state, so they are replicated, move and are saved with it.
 *   - A push of a unit is staged until a closing applies or drops it (clock.h).
 *   - A learner gets the slot's state as of one entry, then the entries behind.
 *     From before the primary asks for its promotion commits wait for it too.
 */
#ifndef GW__PS_SERVER_H
#define GW__PS_SERVER_H

#include "ps/clock/clock.h"
#include "ps/messages/message.h"
#include "ps/store/store.h"
#include "thread_pool.h"

#include <cluster/messages/protocol.h>

struct gw__server_out {
    void *context;
    /* The letter's parts that are lent must stay until `back`. A letter to a
     * node that is not reachable is lost. */
    void (*send)(void *context, const struct gw__message_out *letter);
    /* PROMOTE or HANDOVER, to the controllers; may be lost, and is repeated. */
    void (*propose)(void *context, const struct gw__command *command);
    /* A slot's state at marker `mark`, to be written; the bytes are only valid
     * during the call. May be NULL. */
    void (*saved)(void *context, uint64_t mark, unsigned slot, const void *data,
                  size_t bytes);
    void (*event)(void *context, const struct gw_event *event); /* or NULL */
};

struct gw__server_config {
    unsigned node;
    struct gw__id incarnation;
    bool ack_primary, no_dedupe, no_fencing;
    /* Nothing fences: replicas obey an older primary, be it one that was
     * convicted, and nobody hears that there is a newer term. Nothing but the
     * simulator sets this (cmd/world/servers), to show what the rules are for.
     */
    bool no_terms;
    struct gw__thread_pool
        *pool;    /* that helps with rows; not owned; NULL: alone */
    bool hogwild; /* with a pool: hogwild.h */
    void *callback_context;
    void (*callback)(void *context, float *row, const float *gradient,
                     unsigned width);
    unsigned callback_state;
    const struct gw_straggler *straggler; /* or NULL */
    uint64_t resend_ns;                   /* 0: 50 ms */
    uint64_t log_bytes; /* of entries kept for a slow replica; 0: 256 MB */
    struct gw__server_out out;
};

struct gw__server;

GW_MUST_CHECK enum gw_err gw__server_new(const struct gw__server_config *config,
                                         struct gw__server **server,
                                         struct gw_error *why);
void gw__server_destroy(struct gw__server **server);

/* Routes, tables and the crew, as the controllers say. Older ones are ignored.
 */
void gw__server_news(struct gw__server *server, uint64_t now_ns,
                     const struct gw__membership_update *news);
/* It may serve until then (0: not). */
void gw__server_lease(struct gw__server *server, uint64_t now_ns,
                      uint64_t until_ns);
/* Takes over the caller's hold on the parcel. */
void gw__server_message_in(struct gw__server *server, uint64_t now_ns,
                           struct gw__message_in *parcel);
void gw__server_tick(struct gw__server *server, uint64_t now_ns);
/* When it wants a tick at the latest; UINT64_MAX: never. */
uint64_t gw__server_due(const struct gw__server *server);
/* After a round of parcels: sends what was gathered on the way. */
void gw__server_flush(struct gw__server *server, uint64_t now_ns);

/* Before the first news: what slot `slot` is to begin with, as `saved` had it.
 * It is used only where the routes place the slot anew (term 1); tables are by
 * name. GW_EDATA. */
GW_MUST_CHECK enum gw_err gw__server_restore(struct gw__server *server,
                                             unsigned slot, const void *data,
                                             size_t bytes,
                                             struct gw_error *why);
void gw__server_get_status(const struct gw__server *server,
                           struct gw_ps_server_status *status);
/* For the simulator: does it serve the slot now? */
bool gw__server_serves(const struct gw__server *server, unsigned slot,
                       uint64_t now_ns);
/* For tests: equal on replicas that have applied the same. 0: not here. */
uint64_t gw__server_digest(const struct gw__server *server, unsigned slot);

#endif
