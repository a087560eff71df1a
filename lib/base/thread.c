/* SPDX-License-Identifier: MIT
 *
 * See thread.h. pthread_create says EAGAIN for two things: no memory for the
 * stack, and too many threads.
 */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

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
                       "%s: a thread could not start: out of memory or of "
                       "threads (ulimit -v, ulimit -u)",
                       what);
    return failed ? gw_fail(why, GW_ESYS, "%s: a thread could not start: %s",
                            what, strerror(failed))
                  : GW_OK;
}
