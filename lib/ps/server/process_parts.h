/* SPDX-License-Identifier: MIT
 *
 * Internals of a server process:
 *   process.c        starts, serves, ends: the data thread
 *   process_messages.c bundles and envelopes of messages
 *   process_save.c   the thread that writes snapshots
 *   process_status.c status and errors, for other threads
 */
#ifndef GW__PS_PROCESS_PARTS_H
#define GW__PS_PROCESS_PARTS_H

#include "ps/messages/bundle.h"
#include "ps/node/node.h"
#include "ps/slot/snapshot.h"
#include "server.h"
#include "thread_pool.h"

#include <pthread.h>

/* ---- process_save.c ---- */

/* The queue between the data thread and the thread that writes snapshots, which
 * may wait for a disk. */
struct gw__saver;

GW_MUST_CHECK enum gw_err gw__saver_new(struct gw__saver **saver,
                                        struct gw_error *why);
/* Finishes all queued writes first. NULL is allowed. */
void gw__saver_destroy(struct gw__saver **saver);
/* Sets the directory for the snapshots of this marker. */
GW_MUST_CHECK enum gw_err gw__saver_expect(struct gw__saver *saver,
                                           uint64_t mark, const char *directory,
                                           unsigned slot_count,
                                           struct gw_error *why);
/* Copies the data; an unknown marker is ignored. */
void gw__saver_slot(struct gw__saver *saver, uint64_t mark, unsigned slot,
                    const void *data, size_t bytes);
/* GW_OK: the snapshot is complete. GW_PENDING: not yet. Otherwise an error. */
GW_MUST_CHECK enum gw_err gw__saver_state(struct gw__saver *saver,
                                          uint64_t mark, struct gw_error *why);

/* ---- process.c ---- */

struct gw_ps_server {
    struct gw_ps_server_config config;
    struct gw__node *node;
    struct gw__server *core;
    struct gw__saver *saver;
    struct gw__bundles bundles;
    /* nodes whose last request came from an aggregator */
    struct gw_nodes behind;
    uint16_t via[GW__MESSENGER_NODES];   /* this aggregator */
    uint64_t refused;                    /* envelopes, and messages in them */
    struct gw__thread_pool *thread_pool; /* NULL: one thread is enough */
    pthread_t thread;
    _Atomic bool stop;
    _Atomic bool leaves;
    bool drained;       /* DRAIN has been sent to the controllers */
    uint64_t status_ns; /* time of the last status update */

    pthread_mutex_t lock; /* protects the following fields */
    pthread_cond_t changed;
    bool gone, left;
    bool stays; /* it was asked to leave, but is the last server */
    struct gw_error error;
    struct gw_ps_server_status status;
};

/* Gives a message to the state machine; takes over the reference. */
void gw__process_message_in(struct gw_ps_server *server,
                            struct gw__message_in *message);

/* ---- process_messages.c ---- */

/* Sends a message of the state machine; `context` is the server. */
void gw__process_send(void *context, const struct gw__message_out *message);
/* Sends a message by the messenger. */
void gw__process_send_now(void *context, const struct gw__message_out *message);
/* Opens a received message and calls gw__process_message_in for each one in
 * it. */
void gw__process_open(struct gw_ps_server *server,
                      struct gw__message_in *message);

/* ---- process_status.c ---- */

/* Updates the status if it is due or `now`; data thread only. */
void gw__process_update_status(struct gw_ps_server *server, uint64_t now_ns,
                               bool now);
/* Records the reason why the server has ended. */
void gw__process_gone(struct gw_ps_server *server, const struct gw_error *why);

#endif
