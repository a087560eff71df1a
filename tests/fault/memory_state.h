/* SPDX-License-Identifier: MIT
 *
 * What memory.c and the processes of a command share; see memory_preload.c.
 */
#ifndef MEMORY_STATE_H
#define MEMORY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

enum { MEMORY_PROCESSES = 64 };

struct memory_state {
    /* What is to fail; call 0: nothing, calls are counted only. */
    unsigned process;
    uint64_t call;
    /* What there was. */
    _Atomic unsigned processes;
    _Atomic uint64_t calls[MEMORY_PROCESSES];
    _Atomic uintptr_t caller; /* of the call that failed; 0: there was none */
};

#endif
