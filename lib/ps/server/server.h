/* SPDX-License-Identifier: MIT
 *
 * The server of the parameter server, as a state machine without clock, socket
 * or thread. Its inputs are messages, membership updates and the time; its
 * outputs are messages. The server process (process.c) runs it on the
 * messenger; tests/sim runs the same object code on a hostile network.
 *
 * Each slot is a replicated state machine with a log:
 *
 *     The primary appends a push, a round commit or a clock command to the
 *     slot's log and sends it to the slot's replicas. When all replicas in sync
 *     have it, it is committed: applied in the order of the log, and answered.
 *     A replica applies the entries that it knows to be committed.
 *
 *   - A committed entry is in the log of every replica in sync, so any of them
 *     can become primary. The new primary stamps its entries beyond its commit
 *     with its own term and sends them; the others replace theirs.
 *   - Fencing: entries of an older term are refused. So a primary that was
 *     replaced while it slept cannot commit. It serves pulls only under a
 *     lease.
 *   - Exactly once: for each slot and worker incarnation, the applied sequence
 *     numbers are recorded, as a low watermark and 64 bits above it. They are
 *     part of the state: replicated, moved and saved with it.
 *   - A push of an item is pending until a round commit applies or drops it
 *     (clock.h).
 *   - A learner gets the slot's state as of one entry, then the later entries.
 *     Before the primary requests the learner's promotion, commits begin to
 *     wait for the learner, too.
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
    /* Lent parts must stay unchanged until `back`. A message to an unreachable
     * node is lost. */
    void (*send)(void *context, const struct gw__message_out *message);
    /* Proposes PROMOTE or HANDOVER to the controllers. It may be lost, and is
     * repeated. */
    void (*propose)(void *context, const struct gw__command *command);
    /* A slot's state at marker `mark`, to be written to disk. The bytes are
     * only valid during the call. May be NULL. */
    void (*saved)(void *context, uint64_t mark, unsigned slot, const void *data,
                  size_t bytes);
    void (*event)(void *context, const struct gw_event *event); /* or NULL */
};

struct gw__server_config {
    unsigned node;
    struct gw__id incarnation;
    bool ack_primary, no_dedupe, no_fencing;
    /* Switches fencing off: replicas obey an older primary, even a dead
     * member's, and do not report newer terms. Only the simulator sets this
     * (cmd/simcluster/servers), to show the purpose of the rules. */
    bool no_terms;
    struct gw__thread_pool
        *thread_pool; /* for large updates, not owned; NULL: none */
    bool hogwild;     /* requires a pool: hogwild.h */
    void *callback_context;
    void (*callback)(void *context, float *row, const float *gradient,
                     unsigned width);
    unsigned callback_state;
    const struct gw_straggler *straggler; /* or NULL */
    uint64_t resend_ns;                   /* 0: 50 ms */
    uint64_t log_bytes; /* entries kept for a slow replica; 0: 256 MB */
    struct gw__server_out out;
};

struct gw__server;

GW_MUST_CHECK enum gw_err gw__server_new(const struct gw__server_config *config,
                                         struct gw__server **server,
                                         struct gw_error *why);
void gw__server_destroy(struct gw__server **server);

/* Routes, tables and members, from the controllers. Older updates are
 * ignored. */
void gw__server_update(struct gw__server *server, uint64_t now_ns,
                       const struct gw__membership_update *update);
/* The server may serve until this time (0: no lease). */
void gw__server_lease(struct gw__server *server, uint64_t now_ns,
                      uint64_t until_ns);
/* Takes over the caller's reference to the message. */
void gw__server_message_in(struct gw__server *server, uint64_t now_ns,
                           struct gw__message_in *message);
void gw__server_tick(struct gw__server *server, uint64_t now_ns);
/* The latest time of the next tick; UINT64_MAX: never. */
uint64_t gw__server_due(const struct gw__server *server);
/* Call this after a group of messages: sends the gathered messages. */
void gw__server_flush(struct gw__server *server, uint64_t now_ns);

/* The initial state of slot `slot`, as written by `saved`; call it before the
 * first membership update. It is used only if the routes place the slot for the
 * first time (term 1). Tables are matched by name. GW_EDATA. */
GW_MUST_CHECK enum gw_err gw__server_restore(struct gw__server *server,
                                             unsigned slot, const void *data,
                                             size_t bytes,
                                             struct gw_error *why);
void gw__server_get_status(const struct gw__server *server,
                           struct gw_ps_server_status *status);
/* For the simulator: is the slot served here now? */
bool gw__server_serves(const struct gw__server *server, unsigned slot,
                       uint64_t now_ns);
/* For tests: a digest, equal on replicas that have applied the same entries. 0:
 * the slot is not here. */
uint64_t gw__server_digest(const struct gw__server *server, unsigned slot);

#endif
