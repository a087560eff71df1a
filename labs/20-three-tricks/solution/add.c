/* SPDX-License-Identifier: MIT
 *
 * The sum is written only if the float still has the value that was read. Otherwise
 * the value is added again, to the new float. Some thread always succeeds.
 */
#include "tricks.h"

#include <string.h>

void add(float *at, float value)
{
    uint32_t old, new;
    __atomic_load((uint32_t *)(void *)at, &old, __ATOMIC_RELAXED);
    do {
        float sum;
        memcpy(&sum, &old, sizeof sum);
        sum += value;
        memcpy(&new, &sum, sizeof new);
    } while (!__atomic_compare_exchange_n((uint32_t *)(void *)at, &old, new,
                                          false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}
