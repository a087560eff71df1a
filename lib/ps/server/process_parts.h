/* SPDX-License-Identifier: MIT
 *
 * Between the parts of a running server:
 *   process.c        starts, serves, ends: the data thread
 *   process_save.c   snapshots: the thread that writes them
 *   process_look.c   status and errors, for other threads
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

/* Slots that are to be written, and where: a queue between the data thread and
 * one that may wait for a disk. */
struct gw__saver;

GW_MUST_CHECK enum gw_err gw__saver_new(struct gw__saver **saver,
                                        struct gw_error *why);
/* After what is queued has been written. NULL allowed. */
void gw__saver_destroy(struct gw__saver **saver);
/* Snapshots of this marker go into that directory. */
GW_MUST_CHECK enum gw_err gw__saver_expect(struct gw__saver *saver,
                                           uint64_t mark, const char *directory,
                                           unsigned slot_count,
                                           struct gw_error *why);
/* Copies; a marker that was not expected is ignored. */
void gw__saver_slot(struct gw__saver *saver, uint64_t mark, unsigned slot,
                    const void *data, size_t bytes);
/* GW_PENDING; GW_OK: the snapshot is whole; else what went wrong. */
GW_MUST_CHECK enum gw_err gw__saver_state(struct gw__saver *saver,
                                          uint64_t mark, struct gw_error *why);

/* ---- process.c ---- */

struct gw_ps_server {
    struct gw_ps_server_config config;
    struct gw__node *node;
    struct gw__server *core;
    struct gw__saver *saver;
    struct gw__bundles bundles;
    struct gw__thread_pool *pool; /* NULL: one thread is enough */
    pthread_t thread;
    _Atomic bool stop;
    _Atomic bool leaves;
    bool drained;     /* the controllers were told so */
    uint64_t look_ns; /* when the status was written last */

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    bool gone, left;
    bool stays; /* it was to leave, and is the last */
    struct gw_error error;
    struct gw_ps_server_status status;
};

/* ---- process_look.c ---- */

/* Writes the status when it is time or `now`; data thread. */
void gw__process_look(struct gw_ps_server *server, uint64_t now_ns, bool now);
/* It serves no more, and why. */
void gw__process_gone(struct gw_ps_server *server, const struct gw_error *why);

#endif
