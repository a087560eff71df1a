/* SPDX-License-Identifier: MIT
 *
 * A few threads that help their owner, the data thread of a server, with rows.
 * There are two kinds of work:
 *
 *   run    fork and join: the owner divides its work into pieces, does some of
 *          them itself, and returns when all are done
 *   post   asynchronous jobs, several at a time: a callback reports the end of
 *          a job, and the owner takes it back
 *
 * Pieces have priority over jobs. Idle threads sleep. Only the owner calls
 * these functions.
 */
#ifndef GW__PS_THREAD_POOL_H
#define GW__PS_THREAD_POOL_H

#include <gradwire/event.h>

enum { GW__THREAD_POOL_MAX = 64 };

struct gw__thread_pool;

/* Embedded in the data of `work`. */
struct gw__thread_pool_job {
    struct gw__thread_pool_job *next;
    void (*work)(struct gw__thread_pool_job *job);
};

/* `threads` is their number without the owner: 1 to GW__THREAD_POOL_MAX, or
 * GW_EINVAL. The callback, which may be NULL, runs after each job. GW_ENOMEM,
 * GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__thread_pool_new(unsigned threads,
                                              void (*notified)(void *context),
                                              void *context,
                                              struct gw__thread_pool **pool,
                                              struct gw_error *why);
/* Call gw__thread_pool_drain first and take all jobs. NULL is allowed. */
void gw__thread_pool_destroy(struct gw__thread_pool **pool);
/* The number of threads for pieces, with the owner. */
unsigned gw__thread_pool_threads(const struct gw__thread_pool *pool);

/* Calls work(context, i) for i from 0 to pieces - 1, concurrently. */
void gw__thread_pool_run(struct gw__thread_pool *pool, unsigned chunks,
                         void (*work)(void *context, unsigned chunk),
                         void *context);

void gw__thread_pool_post(struct gw__thread_pool *pool,
                          struct gw__thread_pool_job *job);
/* A finished job; NULL: none. */
struct gw__thread_pool_job *
gw__thread_pool_pop_done(struct gw__thread_pool *pool);
/* Waits until all jobs are finished. They must still be taken. */
void gw__thread_pool_drain(struct gw__thread_pool *pool);

#endif
