/* SPDX-License-Identifier: MIT
 *
 * As it is, threads overwrite each other: what one has added between the other's
 * reading and writing is gone. Make it lose nothing, and use no lock.
 */
#include "tricks.h"

void add(float *at, float value)
{
    float old, sum;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    sum = old + value;
    __atomic_store(at, &sum, __ATOMIC_RELAXED);
}
