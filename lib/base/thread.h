/* SPDX-License-Identifier: MIT
 *
 * Threads of the library. They block all signals, which are for the
 * application's threads.
 */
#ifndef GW__BASE_THREAD_H
#define GW__BASE_THREAD_H

#include <gradwire/base.h>

#include <pthread.h>

/* Starts life(context) as a thread. Error messages begin with `what`.
 * GW_ENOMEM: memory or threads are used up. Else GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__thread_start(pthread_t *thread,
                                           void *(*life)(void *), void *context,
                                           const char *what,
                                           struct gw_error *why);

/* Some libraries end the process if they cannot start their threads (libzmq,
 * libuv). Call this first: it tries to start as many threads at once, together
 * with an allocation of `bytes`, and releases all of them. */
enum { GW__THREADS_TRIED = 16 };
GW_MUST_CHECK enum gw_err gw__threads_try(unsigned threads, size_t bytes,
                                          const char *what,
                                          struct gw_error *why);

#endif
