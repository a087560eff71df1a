/* SPDX-License-Identifier: MIT
 *
 * Threads of the library. Signals are for the application's threads, so these
 * take none.
 */
#ifndef GW__BASE_THREAD_H
#define GW__BASE_THREAD_H

#include <gradwire/base.h>

#include <pthread.h>

/* Starts life(context) as a thread; "WHAT: a thread could not start: ..." is
 * GW_ENOMEM where memory or threads are used up, else GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__thread_start(pthread_t *thread,
                                           void *(*life)(void *), void *context,
                                           const char *what,
                                           struct gw_error *why);

/* Libraries that start threads end the process when they cannot (libzmq,
 * libuv). Before they do: whether so many threads can be started at once,
 * beside an allocation of `bytes`. All is given back. */
enum { GW__CLOCK_SIM_MAX = 16 };
GW_MUST_CHECK enum gw_err gw__threads_rehearse(unsigned threads, size_t bytes,
                                               const char *what,
                                               struct gw_error *why);

#endif
