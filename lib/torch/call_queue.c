/* SPDX-License-Identifier: MIT
 *
 * See call_queue.h. `turn` is held by the thread that runs a call, and orders
 * the removal from the list and the run. `lock` protects the list and the
 * times, and is never held during a call.
 *
 * While callers run their calls themselves, the queue's first thread is not
 * woken for each call: it looks at the list now and then, and leaves a call to
 * a thread that has begun to run one. If it finds a call that no caller has
 * taken, it asks to be woken again.
 */
#include "call_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { POLL_NS = 200000, POLLING_NS = 50000000 };

struct entry {
    struct entry *next;
    struct queued_call call;
};

struct call_queue {
    struct gw_comm *comm;
    pthread_t thread, second;
    pthread_mutex_t turn, lock;
    pthread_cond_t filled, reporting_filled;
    struct entry *first, **end;
    uint64_t polls_until_ns; /* the thread looks by itself until then */
    bool polls, reporting, shutting_down;
};

static struct entry *remove_first(struct call_queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct entry *entry = q->first;
    if (entry) {
        q->first = entry->next;
        if (!q->first)
            q->end = &q->first;
    }
    pthread_mutex_unlock(&q->lock);
    return entry;
}

/* With the turn, which it gives back. The result must be reported. */
static struct entry *run_first(struct call_queue *q)
{
    struct entry *entry = remove_first(q);
    if (entry)
        entry->call.run(entry->call.context, q->comm);
    pthread_mutex_unlock(&q->turn);
    return entry;
}

static bool report(struct entry *entry)
{
    if (entry)
        entry->call.report(entry->call.context);
    free(entry);
    return entry != NULL;
}

bool call_queue_run_one(struct call_queue *q)
{
    pthread_mutex_lock(&q->turn);
    struct entry *entry = run_first(q);
    pthread_mutex_lock(&q->lock);
    q->polls_until_ns = gw_now_ns() + POLLING_NS;
    pthread_mutex_unlock(&q->lock);
    return report(entry);
}

/* ---- the first thread ---- */

static void wait_a_while(struct call_queue *q)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&q->filled, &q->lock, &until);
}

/* Waits for a call. False: the queue is closed. `busy`: another thread runs
 * one. */
static bool await_entry(struct call_queue *q, bool busy)
{
    bool polled = false;
    pthread_mutex_lock(&q->lock);
    q->reporting = false;
    while ((!q->first || busy) && !q->shutting_down) {
        polled = q->polls = busy || gw_now_ns() < q->polls_until_ns;
        if (q->polls)
            wait_a_while(q);
        else
            pthread_cond_wait(&q->filled, &q->lock);
        busy = false;
    }
    q->polls = false;
    if (polled)
        q->polls_until_ns = 0;
    bool open = !q->shutting_down;
    pthread_mutex_unlock(&q->lock);
    return open;
}

static void begin_reporting(struct call_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->reporting = true;
    if (q->first)
        pthread_cond_signal(&q->reporting_filled);
    pthread_mutex_unlock(&q->lock);
}

static void *run_calls(void *context)
{
    struct call_queue *q = context;
    bool busy = false;
    while (await_entry(q, busy)) {
        busy = pthread_mutex_trylock(&q->turn) != 0;
        if (busy)
            continue;
        struct entry *entry = run_first(q);
        begin_reporting(q);
        report(entry);
    }
    return NULL;
}

/* ---- the second thread ---- */

static bool await_reporting(struct call_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!(q->first && q->reporting) && !q->shutting_down)
        pthread_cond_wait(&q->reporting_filled, &q->lock);
    bool open = !q->shutting_down;
    pthread_mutex_unlock(&q->lock);
    return open;
}

static void *run_calls_during_reports(void *context)
{
    struct call_queue *q = context;
    while (await_reporting(q)) {
        pthread_mutex_lock(&q->turn);
        report(run_first(q));
    }
    return NULL;
}

/* ---- open, submit, close ---- */

static void init_locks(struct call_queue *q)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&q->turn, NULL);
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&q->filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&q->reporting_filled, NULL);
}

static void shut_down(struct call_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->shutting_down = true;
    pthread_cond_signal(&q->filled);
    pthread_cond_signal(&q->reporting_filled);
    pthread_mutex_unlock(&q->lock);
}

static bool start_threads(struct call_queue *q)
{
    if (pthread_create(&q->thread, NULL, run_calls, q) != 0)
        return false;
    if (pthread_create(&q->second, NULL, run_calls_during_reports, q) == 0)
        return true;
    shut_down(q);
    pthread_join(q->thread, NULL);
    return false;
}

enum gw_err call_queue_open(struct gw_comm *comm, struct call_queue **queue,
                            struct gw_error *why)
{
    struct call_queue *q = calloc(1, sizeof *q);
    *queue = NULL;
    if (!q) {
        gw_comm_destroy(&comm);
        return gw_fail(why, GW_ENOMEM, "a queue of calls");
    }
    q->comm = comm;
    q->end = &q->first;
    init_locks(q);
    if (!start_threads(q)) {
        gw_comm_destroy(&q->comm);
        free(q);
        return gw_fail(why, GW_ENOMEM, "the threads of a queue of calls");
    }
    *queue = q;
    return GW_OK;
}

enum gw_err call_queue_submit(struct call_queue *q,
                              const struct queued_call *call)
{
    struct entry *entry = malloc(sizeof *entry);
    if (!entry)
        return GW_ENOMEM;
    *entry = (struct entry){.call = *call};
    pthread_mutex_lock(&q->lock);
    *q->end = entry;
    q->end = &entry->next;
    if (q->reporting)
        pthread_cond_signal(&q->reporting_filled);
    else if (!q->polls)
        pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
    return GW_OK;
}

void call_queue_close(struct call_queue **queue)
{
    struct call_queue *q = *queue;
    struct entry *entry;
    if (!q)
        return;
    *queue = NULL;
    shut_down(q);
    pthread_join(q->thread, NULL);
    pthread_join(q->second, NULL);
    pthread_mutex_lock(&q->turn);
    while ((entry = remove_first(q)) != NULL) {
        entry->call.run(entry->call.context, NULL);
        report(entry);
    }
    pthread_mutex_unlock(&q->turn);
    gw_comm_destroy(&q->comm);
    free(q);
}
