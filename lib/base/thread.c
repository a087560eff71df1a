/* SPDX-License-Identifier: MIT
 *
 * See thread.h. pthread_create returns EAGAIN in two cases: no memory for the
 * stack, and too many threads.
 */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum gw_err gw__thread_start(pthread_t *thread, void *(*life)(void *),
                             void *context, const char *what,
                             struct gw_error *why)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, life, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == EAGAIN || failed == ENOMEM)
        return gw_fail(why, GW_ENOMEM,
                       "%s: cannot start a thread: out of memory or threads "
                       "(see ulimit -v, ulimit -u)",
                       what);
    return failed ? gw_fail(why, GW_ESYS, "%s: cannot start a thread: %s", what,
                            strerror(failed))
                  : GW_OK;
}

/* ---- the trial ---- */

struct rehearsal {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool over;
};

/* Waits for the others without allocating: glibc's malloc would reserve 64 MiB
 * of address space for a thread that allocates. */
static void *wait_until_over(void *context)
{
    struct rehearsal *r = context;
    pthread_mutex_lock(&r->lock);
    while (!r->over)
        pthread_cond_wait(&r->change, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void end_rehearsal(struct rehearsal *r, pthread_t *ids, unsigned started)
{
    pthread_mutex_lock(&r->lock);
    r->over = true;
    pthread_cond_broadcast(&r->change);
    pthread_mutex_unlock(&r->lock);
    while (started > 0)
        pthread_join(ids[--started], NULL);
}

enum gw_err gw__threads_try(unsigned threads, size_t bytes, const char *what,
                            struct gw_error *why)
{
    pthread_t ids[GW__THREADS_TRIED];
    struct rehearsal r = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                          false};
    enum gw_err err = GW_OK;
    unsigned started = 0;
    void *spare = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (!err && started < threads && started < GW__THREADS_TRIED) {
        err = gw__thread_start(&ids[started], wait_until_over, &r, what, why);
        started += !err;
    }
    end_rehearsal(&r, ids, started);
    if (spare != MAP_FAILED)
        munmap(spare, bytes);
    else if (!err)
        err = gw_fail(why, GW_ENOMEM, "%s: up to %zu MB are needed", what,
                      bytes >> 20);
    return err;
}
