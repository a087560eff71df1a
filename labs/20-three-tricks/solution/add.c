/* SPDX-License-Identifier: MIT
 *
 * The sum is written only if the float is still the one that was read; else it is
 * added again, to what is there now. Some thread always gets on.
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
