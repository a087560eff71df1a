/* SPDX-License-Identifier: MIT
 *
 * A few threads that help one other, the owner, with rows: the data thread of a
 * server. Two kinds of work:
 *
 *   run    fork and join: the owner cuts something into pieces, works itself
 *          too, and returns when all are done
 *   post   a job that is done some time later, several at a time; the owner is
 *          told, and takes it back
 *
 * Pieces go before jobs. Without work the threads sleep. All calls are the
 * owner's.
 */
#ifndef GW__PS_POOL_H
#define GW__PS_POOL_H

#include <gradwire/event.h>

enum { GW__THREAD_POOL_MAX = 64 };

struct gw__thread_pool;

/* Embedded in what `work` works on. */
struct gw__pool_job {
    struct gw__pool_job *next;
    void (*work)(struct gw__pool_job *job);
};

/* `threads` beside the owner: 1 to GW__THREAD_POOL_MAX, else GW_EINVAL. `told`,
 * from any of them, after a job is done; may be NULL. GW_ENOMEM, GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__thread_pool_new(unsigned threads,
                                              void (*told)(void *context),
                                              void *context,
                                              struct gw__thread_pool **pool,
                                              struct gw_error *why);
/* After gw__thread_pool_drain, and with no job left to take. NULL allowed. */
void gw__thread_pool_destroy(struct gw__thread_pool **pool);
/* Those that work on pieces: the owner is one. */
unsigned gw__thread_pool_hands(const struct gw__thread_pool *pool);

/* work(context, i) for i from 0 to pieces - 1, in any order, at once. */
void gw__thread_pool_run(struct gw__thread_pool *pool, unsigned pieces,
                         void (*work)(void *context, unsigned piece),
                         void *context);

void gw__thread_pool_post(struct gw__thread_pool *pool,
                          struct gw__pool_job *job);
/* A job that is done; NULL: none now. */
struct gw__pool_job *gw__thread_pool_take(struct gw__thread_pool *pool);
/* Until all jobs are done; they still wait to be taken. */
void gw__thread_pool_drain(struct gw__thread_pool *pool);

#endif
