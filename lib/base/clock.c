/* SPDX-License-Identifier: MIT
 *
 * The one clock of everything that runs; simulations have their own.
 */
#include <gradwire/base.h>

#include <time.h>

uint64_t gw_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
