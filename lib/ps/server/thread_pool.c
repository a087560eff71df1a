/* SPDX-License-Identifier: MIT
 *
 * See thread_pool.h. One lock protects all fields: pieces and jobs are large,
 * so contention is low. Finished jobs are in a list of their own. `has_done` is
 * set while there may be finished jobs that the owner has not seen, so that a
 * check without any costs no lock.
 */
#include "thread_pool.h"

#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct list {
    struct gw__thread_pool_job *first, *last;
};

struct gw__thread_pool {
    unsigned threads;
    void (*notified)(void *context);
    void *context;
    _Atomic bool has_done;

    pthread_mutex_t lock; /* protects the following fields */
    pthread_cond_t work, rest;
    bool ends;
    unsigned chunks, next_chunk, open_chunks; /* of the current fork; 0: none */
    void (*chunk_work)(void *context, unsigned chunk);
    void *chunk_context;
    struct list jobs, done;
    unsigned open_jobs; /* not finished */

    pthread_t ids[GW__THREAD_POOL_MAX];
};

static void add_job(struct list *list, struct gw__thread_pool_job *job)
{
    job->next = NULL;
    *(list->first ? &list->last->next : &list->first) = job;
    list->last = job;
}

static struct gw__thread_pool_job *shift(struct list *list)
{
    struct gw__thread_pool_job *job = list->first;
    if (job)
        list->first = job->next;
    return job;
}

/* ---- with the lock held, except during the work itself ---- */

static void do_chunk(struct gw__thread_pool *pool)
{
    unsigned chunk = pool->next_chunk++;
    void (*work)(void *, unsigned) = pool->chunk_work;
    void *context = pool->chunk_context;
    pthread_mutex_unlock(&pool->lock);
    work(context, chunk);
    pthread_mutex_lock(&pool->lock);
    if (--pool->open_chunks == 0)
        pthread_cond_signal(&pool->rest);
}

static void do_job(struct gw__thread_pool *pool)
{
    struct gw__thread_pool_job *job = shift(&pool->jobs);
    pthread_mutex_unlock(&pool->lock);
    job->work(job);
    pthread_mutex_lock(&pool->lock);
    add_job(&pool->done, job);
    atomic_store_explicit(&pool->has_done, true, memory_order_release);
    /* Called before the owner can learn that this was the last job. */
    if (pool->notified)
        pool->notified(pool->context);
    if (--pool->open_jobs == 0)
        pthread_cond_signal(&pool->rest);
}

static void *run_thread(void *context)
{
    struct gw__thread_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ends) {
        if (pool->next_chunk < pool->chunks)
            do_chunk(pool);
        else if (pool->jobs.first)
            do_job(pool);
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- life ---- */

static enum gw_err start_threads(struct gw__thread_pool *pool, unsigned threads,
                                 struct gw_error *why)
{
    char what[32];
    snprintf(what, sizeof what, "thread %u of %u", pool->threads + 1, threads);
    enum gw_err err = gw__thread_start(&pool->ids[pool->threads], run_thread,
                                       pool, what, why);
    pool->threads += !err;
    return err;
}

enum gw_err gw__thread_pool_new(unsigned threads,
                                void (*notified)(void *context), void *context,
                                struct gw__thread_pool **pool,
                                struct gw_error *why)
{
    *pool = NULL;
    if (threads == 0 || threads > GW__THREAD_POOL_MAX)
        return gw_fail(why, GW_EINVAL, "%u threads; use 1 to %d", threads,
                       GW__THREAD_POOL_MAX);
    struct gw__thread_pool *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "no memory for %u threads", threads);
    made->notified = notified;
    made->context = context;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->rest, NULL);
    enum gw_err err = GW_OK;
    while (!err && made->threads < threads)
        err = start_threads(made, threads, why);
    if (err)
        gw__thread_pool_destroy(&made);
    *pool = made;
    return err;
}

void gw__thread_pool_destroy(struct gw__thread_pool **pool)
{
    struct gw__thread_pool *p = *pool;
    *pool = NULL;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads; i++)
        pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->rest);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

unsigned gw__thread_pool_threads(const struct gw__thread_pool *pool)
{
    return pool->threads + 1;
}

/* ---- functions of the owner ---- */

void gw__thread_pool_run(struct gw__thread_pool *pool, unsigned chunks,
                         void (*work)(void *context, unsigned chunk),
                         void *context)
{
    pthread_mutex_lock(&pool->lock);
    pool->chunk_work = work;
    pool->chunk_context = context;
    pool->next_chunk = 0;
    pool->chunks = pool->open_chunks = chunks;
    pthread_cond_broadcast(&pool->work);
    while (pool->next_chunk < pool->chunks)
        do_chunk(pool);
    while (pool->open_chunks > 0)
        pthread_cond_wait(&pool->rest, &pool->lock);
    pool->chunks = pool->next_chunk = 0;
    pthread_mutex_unlock(&pool->lock);
}

void gw__thread_pool_post(struct gw__thread_pool *pool,
                          struct gw__thread_pool_job *job)
{
    pthread_mutex_lock(&pool->lock);
    add_job(&pool->jobs, job);
    pool->open_jobs++;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

struct gw__thread_pool_job *
gw__thread_pool_pop_done(struct gw__thread_pool *pool)
{
    if (!atomic_load_explicit(&pool->has_done, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&pool->lock);
    struct gw__thread_pool_job *job = shift(&pool->done);
    if (!pool->done.first)
        atomic_store_explicit(&pool->has_done, false, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    return job;
}

void gw__thread_pool_drain(struct gw__thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->open_jobs > 0)
        pthread_cond_wait(&pool->rest, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
