/* SPDX-License-Identifier: MIT
 *
 * The clock of this process, which tests can make run fast or slow. Machines
 * are correct whatever the others' clocks do (machine.h), leases as long as no
 * clock is too slow (cluster/controller/service.h).
 */
#ifndef GW__CLOCK_H
#define GW__CLOCK_H

#include <gradwire/base.h>

#include <pthread.h>
#include <time.h>

#define GW__CLOCK_RATE_MIN 0.1
#define GW__CLOCK_RATE_MAX 10.0

/* From now on gw_now_ns runs at this rate, without a jump; 1: the real rate. */
void gw__clock_set_rate(double rate);
/* The time of the operating system at which gw_now_ns will be `ns`, for a wait
 * on CLOCK_MONOTONIC. */
struct timespec gw__clock_until(uint64_t ns);
/* Initialises a condition for such waits. */
void gw__clock_cond_init(pthread_cond_t *cond);

#endif
