/* SPDX-License-Identifier: MIT
 *
 * In this version threads overwrite each other: an addition between the read and
 * the write of another thread is lost. Make it lose nothing, without a lock.
 */
#include "tricks.h"

void add(float *at, float value)
{
    float old, sum;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    sum = old + value;
    __atomic_store(at, &sum, __ATOMIC_RELAXED);
}
